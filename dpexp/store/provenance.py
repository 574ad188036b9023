"""Where numbers come from: versions, commit, machine."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dpexp.core.text import columns

NUMERICAL = ("numpy", "numba", "llvmlite", "scipy")
"""libraries whose version can change the last bits of a result"""
LIBRARIES = ("dpexp", *NUMERICAL, "pandas", "pyarrow", "pydantic")


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of Python, dpexp and the libraries it computes with."""
    numbers = {"python": platform.python_version(), **dict.fromkeys(LIBRARIES, "not installed")}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            numbers[name] = version(name)
    return numbers


@lru_cache(maxsize=1)
def arithmetic() -> dict[str, str]:
    """What can change the last bits of a result: numerical libraries, the processor's kind, and the BLAS kernel.

    What is shipped gives the same bits on all processors that were tried. A plug-in's matrix products need not.
    """
    import llvmlite.binding
    import numpy  # noqa: F401  its BLAS must be loaded to be listed
    from threadpoolctl import threadpool_info

    # another library of the process may bring linear algebra of its own, by which nothing here is multiplied
    kernels = {
        f"{pool['internal_api']} {pool.get('version')} {pool.get('architecture', '')}".strip()
        for pool in threadpool_info()
        if pool["user_api"] == "blas" and "numpy" in pool["filepath"]
    }
    processor, algebra = str(llvmlite.binding.get_host_cpu_name()), ", ".join(sorted(kernels)) or "unknown"
    return {**{name: versions()[name] for name in NUMERICAL}, "processor": processor, "linear algebra": algebra}


def commit() -> dict[str, Any]:
    """Git commit of the checkout that holds this package, and whether it has uncommitted changes; nulls outside one."""
    here = Path(__file__).parent.parent

    def git(*arguments: str) -> str:
        with suppress(OSError, subprocess.TimeoutExpired):
            run = subprocess.run(["git", "-C", str(here), *arguments], capture_output=True, text=True, timeout=10)
            return run.stdout.strip() if run.returncode == 0 else ""
        return ""

    if not git("ls-files", "--error-unmatch", str(here / "__init__.py")):
        return {"commit": None, "dirty": None}
    changes = git("status", "--porcelain", "--untracked-files=no", "--", str(here))
    return {"commit": git("rev-parse", "HEAD"), "dirty": bool(changes)}


def machine() -> dict[str, Any]:
    """Processor, cores and system."""
    name = platform.processor()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return {"processor": name, "cores": os.cpu_count(), "system": platform.system(), "architecture": platform.machine()}


def environment() -> str:
    """What a report of a fault needs: versions, commit, machine, and the cache of compiled code."""
    from dpexp.engine.compiled import folder

    state = commit()
    at = f"{state['commit']}{', modified' * bool(state['dirty'])}" if state["commit"] else "not in a git checkout"
    cache = folder() or "none: every process compiles (DPEXP_CACHE is off, or others can write to its folder)"
    rows = [*versions().items(), ("commit", at), *machine().items(), ("compiled code", cache)]
    return columns([[name, str(value)] for name, value in sorted(rows, key=lambda row: row[0] != "dpexp")])
