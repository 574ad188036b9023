"""What the work is at: whoever takes long tells it, and whoever shows progress listens.

It stands in the lowest room, so that a computation can say where it is without knowing who reads that, if anybody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, ParamSpec, TypeVar

What = ParamSpec("What")


class Listeners(Generic[What]):
    """Those that listen now. Whoever tells does not know them, and there may be none."""

    def __init__(self) -> None:
        self._called: list[Callable[What, None]] = []

    @contextmanager
    def listening(self, listener: Callable[What, None]) -> Iterator[None]:
        """Call the listener with everything that is told inside the `with` block."""
        self._called.append(listener)
        try:
            yield
        finally:
            self._called.remove(listener)

    def tell(self, *what: What.args, **named: What.kwargs) -> None:
        """Call everybody who listens."""
        for listener in tuple(self._called):
            listener(*what, **named)


T = TypeVar("T")
_LISTENERS: Listeners[[str | None, float | None]] = Listeners()
"""are given the step that begins, and the share of its series that is done, where steps of a series take alike; None
and None where something else is printed now"""
listening = _LISTENERS.listening


def tell(step: str, done: float | None = None) -> None:
    """A step begins, such as "figure 3 of 28: sweep_mu". An empty one: nothing is to be shown until the next.

    `done`, from 0 to 1, is only for a series whose steps take about the same time: time left is shown from it. A series
    begins with 0.
    """
    _LISTENERS.tell(step, done)


def each(things: Sequence[T], what: str, name: Callable[[T], str]) -> Iterator[T]:
    """The things, one after the other; each is told as a step before it is handed over."""
    for number, thing in enumerate(things, 1):
        tell(f"{what} {number} of {len(things)}: {name(thing)}")
        yield thing


def finished(results: Iterable[T], of: int, doing: str, alike: bool = False) -> Iterator[T]:
    """Results as they come from several workers; how many there are is told, since nobody knows which is next."""
    tell(f"{doing}: 0 of {of} done", 0.0 if alike else None)
    for number, result in enumerate(results, 1):
        yield result
        tell(f"{doing}: {number} of {of} done", number / of if alike else None)


def hush() -> None:
    """Something else is printed now."""
    _LISTENERS.tell(None, None)
