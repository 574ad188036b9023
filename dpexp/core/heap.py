"""Memory that was freed stays with the process."""

from __future__ import annotations

import ctypes
from functools import lru_cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""`M_TRIM_THRESHOLD` and `M_MMAP_THRESHOLD` of glibc's malloc.h: the free bytes at the end of the heap from which on
they are given back, and the size from which on an array is a mapping of its own, given back when it is freed"""
_FREE, _ARRAY = 128 << 20, 32 << 20
"""bytes; the second is the largest that glibc takes, and what it comes to by itself when such arrays were freed"""


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Let glibc give the next array the pages of the last one, and not pages that the system has to clear first.

    A chunk needs arrays of some megabytes, and so does the next. Asking for them anew takes 3 % of the time of a run.
    Without glibc nothing is done.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another library for C, or another system
        return
    mallopt(_MMAP_THRESHOLD, _ARRAY)
    mallopt(_TRIM_THRESHOLD, _FREE)
