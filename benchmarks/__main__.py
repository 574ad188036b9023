"""All benchmarks, one after the other, into benchmarks/results.md with the machine and the versions: `make bench`."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

PARTS = ("engine", "command", "softmax", "momentum", "statements", "clusters")
TARGET = Path(__file__).parent / "results.md"


def machine() -> Iterator[str]:
    """What the numbers depend on."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        found = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = found[0] if found else name
    yield f"- processor: {name}, {os.cpu_count()} cores"
    yield f"- load when it began: {os.getloadavg()[0]:.1f}"
    yield f"- Python {platform.python_version()}, " + ", ".join(
        f"{package} {version(package)}" for package in ("numpy", "scipy", "numba", "llvmlite")
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)}")
    parts = parser.parse_args().parts
    page = [
        "# Benchmarks",
        "",
        "`make bench` writes this page. Ratios are of programs that take turns.",
        "",
        *machine(),
    ]
    for part in parts:
        print(f"== {part}", flush=True)
        ran = subprocess.run([sys.executable, "-m", f"benchmarks.{part}"], stdout=subprocess.PIPE, text=True)
        print(ran.stdout, flush=True)
        if ran.returncode:
            return ran.returncode
        page += ["", f"## {part}", "", "```", ran.stdout.rstrip(), "```"]
    TARGET.write_text("\n".join(page) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
