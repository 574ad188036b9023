"""What is remembered between calls, where threads work side by side.

(a) What the settings of one replicate share is remembered by the thread that computes them: with one memory for all
threads, each would throw out what the other is about to use.
(b) What all chunks need is computed by one thread, for which the others wait. With `functools.lru_cache` alone all of
them would compute it at once: on sixteen cores a run began sixteen times as late.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def kept_once(size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """(b): `functools.lru_cache(maxsize=size)` for functions that take long."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        memory, lock = cast("Callable[P, R]", lru_cache(maxsize=size)(function)), threading.RLock()

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            # a function that calls itself has the lock already
            with lock:
                return memory(*args, **named)

        return call

    return decorate


def kept_per_thread(size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """(a): `functools.lru_cache(maxsize=size)`, one for each thread."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        threads = threading.local()

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            memory: Callable[P, R] | None = vars(threads).get("memory")
            if memory is None:
                memory = threads.memory = cast("Callable[P, R]", lru_cache(maxsize=size)(function))
            return memory(*args, **named)

        return call

    return decorate
