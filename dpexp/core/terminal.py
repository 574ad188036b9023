"""What a person at the terminal sees of the work: what it is at, and text with its control characters written out.

(a) Whoever takes long tells what it is at, and whoever shows progress listens. This stands in the lowest room, so that
a computation can say where it is without knowing who reads that, if anybody does.
(b) Column names, categories, paths and arguments are the user's, or of whoever gave them the file. Printed as they are,
an escape sequence in them recolours, retitles or rewrites the terminal. Everything that dpexp prints goes through
`say`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Generic, ParamSpec, TextIO, TypeVar

What = ParamSpec("What")
T = TypeVar("T")


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

    def tell(self, *arguments: What.args, **named: What.kwargs) -> None:
        """Call everybody who listens."""
        for listener in tuple(self._called):
            listener(*arguments, **named)


_LISTENERS: Listeners[[str | None, float | None]] = Listeners()
"""are given the step that begins, and the share of its series that is done, where steps of a series take alike; None
and None where something else is printed now"""
listening = _LISTENERS.listening
compiling: Listeners[[bool]] = Listeners()
"""are told True when a compilation begins, and False when it has ended, by the thread that compiles"""


def tell(step: str, done: float | None = None) -> None:
    """A step begins, such as "figure 3 of 28: sweep_mu". An empty one: nothing is to be shown until the next.

    `done`, from 0 to 1, is only for a series whose steps take about the same time: time left is shown from it. A series
    begins with 0.
    """
    _LISTENERS.tell(step, done)


def each(things: Sequence[T], noun: str, name: Callable[[T], str]) -> Iterator[T]:
    """The things, one after the other; each is told as a step before it is handed over."""
    for number, thing in enumerate(things, 1):
        tell(f"{noun} {number} of {len(things)}: {name(thing)}")
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


# control characters but line feed and tab; separators and marks that turn the direction of a line; lone surrogates,
# which stand for bytes of a path that are no text and cannot be printed
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text with control characters as escapes, such as \\x1b."""
    return _CONTROL.sub(lambda match: ascii(match.group())[1:-1], text)


def say(text: object, end: str = "\n") -> None:
    """Print to stdout; what its encoding lacks is written as escapes too. Raises BrokenPipeError."""
    hush()
    _write(text, end, sys.stdout)


def warn(text: object) -> None:
    """Print to stderr, where anybody reads it."""
    hush()
    with suppress(OSError, ValueError):
        _write(text, "\n", sys.stderr)


def _write(text: object, end: str, stream: TextIO) -> None:
    words = plain(str(text))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # written at once: what waits for the end of the process has no exit code
    print(words.encode(encoding, "backslashreplace").decode(encoding), end=end, file=stream, flush=True)


def note(message: str, quiet: bool = False) -> None:
    """One line on stderr, unless quiet."""
    if not quiet:
        warn(message)
