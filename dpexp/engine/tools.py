"""The tools that compile: their versions, their settings, the processor, and which functions a version stands for.

A function of numpy or of Python is the same wherever the version of its package is the same, so it counts by its name.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core import config

PACKAGES = ("numba", "llvmlite", "numpy", "scipy")
"""packages whose functions are known by the version of the package"""
VERSIONED = frozenset({"builtins", *PACKAGES, *sys.stdlib_module_names})
"""these, and what is known by the version of Python"""
STANDARD = sysconfig.get_paths()["stdlib"]
EXCLUDED = ("CACHE", "NUM_THREADS", "THREADING", "CUDA", "COLOR", "SHOW_HELP", "FUNCTION_CACHE", "CHROME_TRACE", "GDB")
"""parts of the names of numba's settings that do not reach the machine code of one thread; some differ from worker to
worker, or hold the paths of a machine"""


@lru_cache(maxsize=1024)
def is_known(module: object) -> bool:
    """Whether a module is one of Python's own or of a package that counts with its version."""
    root = module.partition(".")[0] if isinstance(module, str) else ""
    if root not in VERSIONED:
        return False
    # by place too: a file of the user may be called like one of Python's
    origin = getattr(getattr(sys.modules.get(root), "__spec__", None), "origin", None)
    if origin in ("built-in", "frozen") or root in PACKAGES:
        return True
    return isinstance(origin, str) and "site-packages" not in origin and Path(origin).is_relative_to(STANDARD)


def is_versioned(value: Any) -> bool:
    """Whether a function or class is what a package of a known version, or Python, has under its name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", None))
    if not isinstance(name, str) or not is_known(module):
        return False
    # a name that was given to something else since then would not be what it says
    found: Any = sys.modules.get(str(module))
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


@lru_cache(maxsize=1)
def tools() -> str:
    """Versions, and the processor as LLVM sees it."""
    versions = [sys.version, *(f"{name} {version(name)}" for name in PACKAGES)]
    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return repr((versions, machine))


def settings() -> str:
    """numba's settings, from wherever they were set: variables, a file in the working folder, or a program."""
    found = {name: repr(value) for name, value in vars(config).items() if name.isupper()}
    left = sorted(item for item in found.items() if not any(word in item[0] for word in EXCLUDED))
    flags = sorted(v for v in os.environ if v.startswith("NUMBA_") and not any(word in v for word in EXCLUDED))
    return repr((left, [(name, os.environ[name]) for name in flags]))
