"""Plain text and JSON output."""

from __future__ import annotations

import difflib
import html
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from typing import Any


class Printed:
    """What is printed as text, which a notebook shows as such."""

    @property
    def exit_code(self) -> int:
        """That of a command that prints it."""
        return 0

    @property
    def remarks(self) -> Sequence[str]:
        """Lines for stderr."""
        return ()

    def text(self) -> str:
        """What the command prints."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text())}</pre>"


def columns(rows: Sequence[Sequence[str]], head: Sequence[str] | None = None) -> str:
    """Rows in aligned columns, two spaces apart, numbers to the right; a header is underlined."""
    everything = [*([head] if head else []), *rows]
    widths = [max(map(len, column)) for column in zip(*everything, strict=True)]
    right = [all(map(_is_number, column)) for column in zip(*rows, strict=True)] or [True] * len(widths)
    lines = [*everything[:1], ["-" * width for width in widths], *rows] if head else rows
    cells = [[c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)] for row in lines]
    return "\n".join("  ".join(row).rstrip() for row in cells)


def _is_number(text: str) -> bool:
    try:
        float(text.rstrip("%").replace(",", "") or "0")
    except ValueError:
        return "/" in text and text.replace("/", "").isdigit()
    return True


def counted(number: int, thing: str) -> str:
    """`1 claim`, `2 claims`, `1,000 cells`: the number of a thing whose plural ends in s."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def few(names: Sequence[str], limit: int = 3) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def guess(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? ` where a known name is close to the word, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean '{close[0]}'? " if close else ""


def exponent(value: float | None) -> str:
    """An exponent in short, or a dash where there is none."""
    return "-" if value is None else fraction(value)


def fraction(value: float) -> str:
    """1/3 for 0.333..., 0.5 as 1/2, other numbers in short, inf among them."""
    if not math.isfinite(value):
        return f"{value:g}"
    close = Fraction(value).limit_denominator(12)
    return str(close) if abs(float(close) - value) < 1e-12 else f"{value:g}"


def up(value: float, digits: int = 5) -> str:
    """A number of so many digits that is not below the value: upper bounds are rounded up, never to a false claim."""
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float, digits: int = 5) -> str:
    """A number of so many digits that is not above the value: lower bounds are rounded down."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> str:
    """From the shortest decimal that is the value, so that 0.1 stays 0.1."""
    if not math.isfinite(value):
        return f"{value:g}"
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal(repr(float(value)))):.{digits}g}"


def duration(seconds: float) -> str:
    """A time in words: 0.4 s, 12 s, 3 min 20 s, 2 h 05 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_over = divmod(minutes, 60)
    return f"{hours} h {minutes_over:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def csv_cell(value: Any, raw: bool = False) -> Any:
    """A cell of a CSV file: a text that a spreadsheet would run as a formula gets a quote before it, unless `raw`."""
    if raw or not isinstance(value, str) or len(value) < 2 or value[0] not in "=+-@\t\r":
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
