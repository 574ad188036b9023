"""Whether this process compiles just now: the compiler tells it, and whoever shows progress listens.

It stands by itself so that showing progress does not import the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[bool], None]
_LISTENERS: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener(True)` when a compilation begins and `listener(False)` when it has ended."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def tell(busy: bool) -> None:
    """A compilation begins or has ended; called by the thread that compiles."""
    for listener in tuple(_LISTENERS):
        listener(busy)
