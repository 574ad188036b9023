"""The same work as a plain C++ loop (`benchmarks/twins`), compiled where there is a compiler: a measure beyond Python.

A twin is code as one would write it, of one replicate or setting, or of eight replicates side by side. It is compiled
with -O3, -march=native and -ffast-math. That may reorder sums; dpexp may not.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

TWINS = Path(__file__).parent / "twins"
FLAGS = ("-O3", "-march=native", "-ffast-math", "-std=c++17")


@cache
def program(name: str) -> Path | None:
    """The compiled twin; None where no C++ compiler is installed. Raises CalledProcessError if it does not compile."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    target = Path(tempfile.mkdtemp(prefix="dpexp-twin-")) / name
    subprocess.run([compiler, *FLAGS, str(TWINS / f"{name}.cpp"), "-o", str(target)], check=True)
    return target


def measured(name: str, *arguments: int) -> list[float]:
    """What the twin prints: the time of a step of each of its variants, in the unit that its file names."""
    ran = subprocess.run(
        [str(program(name)), *map(str, arguments)], check=True, capture_output=True, text=True
    )  # the other stream keeps the compiler from leaving work out
    return [float(number) for number in ran.stdout.split()]
