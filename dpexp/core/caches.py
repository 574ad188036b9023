"""What is remembered between calls, where threads work side by side.

(a) What the settings of one replicate share is remembered by the thread that computes them. Worker threads take
different chunks: with one memory for all, each would throw out what the other is about to use.
(b) What all chunks need is computed by one thread, for which the others wait. `functools.lru_cache` alone would let all
of them begin it at once, and Python's lock lets one work at a time: on sixteen cores a run began sixteen times as late.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def kept_once(size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`functools.lru_cache(maxsize=most)` for functions that take long: threads never compute the same side by side."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        memory, lock = cast("Callable[P, R]", lru_cache(maxsize=size)(function)), threading.RLock()

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            # (b); one that calls itself has the lock already
            with lock:
                return memory(*args, **named)

        return call

    return decorate


def kept_per_thread(size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`functools.lru_cache(maxsize=most)`, one for each thread; it goes when the thread ends."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        memory = threading.local()

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            # (a)
            own: Callable[P, R] | None = vars(memory).get("kept")
            if own is None:
                own = memory.kept = cast("Callable[P, R]", lru_cache(maxsize=size)(function))
            return own(*args, **named)

        return call

    return decorate
