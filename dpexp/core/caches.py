"""What is remembered between calls, where threads work side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def kept_once(size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`functools.lru_cache(maxsize=size)`, for which all threads wait while one computes; else each would compute."""

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
    """`functools.lru_cache(maxsize=size)`, one for each thread: no thread throws out what another is about to use."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        threads = threading.local()

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            memory: Callable[P, R] = vars(threads).setdefault("memory", lru_cache(maxsize=size)(function))
            return memory(*args, **named)

        return call

    return decorate
