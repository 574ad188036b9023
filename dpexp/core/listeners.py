"""Who is told of something: functions that are called while they listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, ParamSpec

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
