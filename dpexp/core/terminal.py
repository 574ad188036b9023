"""What reaches the terminal: text with its control characters written out.

Column names, categories, paths and arguments are the user's, or of whoever gave them the file. Printed as they are, an
escape sequence in them recolours, retitles or rewrites the terminal. Everything that dpexp prints goes through `say`.
"""

from __future__ import annotations

import re
import sys
from typing import TextIO

from dpexp.core.steps import hush

# control characters but line feed and tab; separators and marks that turn the direction of a line; lone surrogates,
# which stand for bytes of a path that are no text and cannot be printed
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text with control characters as escapes, such as \\x1b."""
    return _CONTROL.sub(lambda match: ascii(match.group())[1:-1], text)


def say(text: object, end: str = "\n", file: TextIO | None = None) -> None:
    """Print to stdout or `file`; what its encoding lacks is written as escapes too."""
    hush()
    stream = sys.stdout if file is None else file
    words = plain(str(text))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(words.encode(encoding, "backslashreplace").decode(encoding), end=end, file=stream)


def warn(text: object) -> None:
    """Print to stderr."""
    say(text, file=sys.stderr)


def note(message: str, quiet: bool = False) -> None:
    """One line on stderr, unless quiet."""
    if not quiet:
        warn(message)
