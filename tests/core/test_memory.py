"""Memory that was freed is there for the next array, and other systems are left alone."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from dpexp.core.memory import keep_freed_memory

FAULTS = """
import resource, sys
import numpy as np
from dpexp.core.memory import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()

def chunk():
    return [np.ones(1 << 18) for _ in range(8)]  # 8 arrays of 2 MB, all freed when the next chunk begins

chunk()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    chunk()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(way: str) -> int:
    """Pages that the system had to clear for ten chunks, in a process of its own."""
    return int(subprocess.run([sys.executable, "-c", FAULTS, way], check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="nothing is done without glibc")
def test_a_chunk_finds_the_pages_of_the_one_before() -> None:
    assert faults("kept") < 0.2 * faults("as it is")


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_another_system_is_left_alone(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: object) -> object:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", absent)
    keep_freed_memory.__wrapped__()
