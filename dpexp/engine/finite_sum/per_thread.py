"""What the settings of one replicate share is remembered by the thread that computes them.

Worker threads take different chunks. With one memory for all, each would throw out what the other is about to use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def kept_per_thread(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`functools.lru_cache(maxsize=most)`, one for each thread; it goes when the thread ends."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        memory = threading.local()

        @wraps(function)
        def kept(*args: P.args, **named: P.kwargs) -> R:
            if not hasattr(memory, "kept"):
                memory.kept = lru_cache(maxsize=most)(function)
            found: R = memory.kept(*args, **named)
            return found

        return kept

    return decorate
