"""The same work as a C++ loop (`benchmarks/twins`), compiled where there is a compiler: a measure beyond Python.

Those of `momentum` and of softmax regression are code as one would write it, of one replicate or setting, compiled with
-ffast-math. That may reorder sums; dpexp may not. That of `ldp-sgd` is written to be fast, of eight replicates side by
side, in IEEE arithmetic: like dpexp's sources, the compiler may fuse a product with a sum, and nothing else.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

TWINS = Path(__file__).parent / "twins"
FLAGS = ("-O3", "-march=native", "-std=c++17", "-Wno-psabi")
ARITHMETIC = {"ldp_sgd": ("-ffp-contract=fast", "-fno-math-errno")}
"""of a twin that is not compiled with -ffast-math"""


@cache
def program(name: str) -> Path | None:
    """The compiled twin; None where no C++ compiler is installed. Raises CalledProcessError if it does not compile."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    target = Path(tempfile.mkdtemp(prefix="dpexp-twin-")) / name
    subprocess.run(
        [compiler, *FLAGS, *ARITHMETIC.get(name, ("-ffast-math",)), str(TWINS / f"{name}.cpp"), "-o", str(target)],
        check=True,
    )
    return target


def measured(name: str, *arguments: float) -> list[float]:
    """What the twin prints: the times and other numbers that its file names."""
    ran = subprocess.run(
        [str(program(name)), *map(str, arguments)], check=True, capture_output=True, text=True
    )  # the other stream keeps the compiler from leaving work out
    return [float(number) for number in ran.stdout.split()]
