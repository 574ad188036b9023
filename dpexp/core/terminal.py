"""Progress and text for the terminal.

Column names, categories, paths and arguments are those of users, or of files of others. An escape sequence in them
would rewrite the terminal, so everything that dpexp prints goes through `say` and `warn`, which write these out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO, TypeVar

T = TypeVar("T")


_LISTENERS: list[Callable[[str | None], None]] = []


def tell(step: str | None) -> None:
    """Report the step that begins, such as "figure 3 of 28: sweep_mu"; an empty one shows nothing until the next, and
    None says that something else is printed."""
    for listener in tuple(_LISTENERS):
        listener(step)


@contextmanager
def listening(listener: Callable[[str | None], None]) -> Iterator[None]:
    """Call the listener with every step inside the `with` block."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def each(things: Sequence[T], noun: str, name: Callable[[T], str]) -> Iterator[T]:
    """The things, one after the other; a step begins with each."""
    for number, thing in enumerate(things, 1):
        tell(f"{noun} {number} of {len(things)}: {name(thing)}")
        yield thing


# control characters but line feed and tab; separators and marks that turn the direction of a line; lone surrogates,
# which stand for bytes of a path that are no text and cannot be printed
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text with control characters as escapes, such as \\x1b."""
    return _CONTROL.sub(lambda match: ascii(match.group())[1:-1], text)


def say(text: object) -> None:
    """Print to stdout; what its encoding lacks is written as escapes too. Raises BrokenPipeError."""
    _write(text, sys.stdout)


def warn(text: object) -> None:
    """Print to stderr, where anybody reads it."""
    with suppress(OSError, ValueError):
        _write(text, sys.stderr)


def _write(text: object, stream: TextIO) -> None:
    # progress gives way to what is printed
    tell(None)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # flushed: what waits for the end of the process has no exit code
    print(plain(str(text)).encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)


def note(message: str, quiet: bool = False) -> None:
    """One line on stderr, unless quiet."""
    if not quiet:
        warn(message)
