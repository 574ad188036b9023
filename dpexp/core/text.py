"""What is printed and read: plain text, values as words, and documents as standard JSON.

JSON has no infinite and no undefined number: {"mu": null, "mu_is": "infinity"}, and for lists words in the same shape,
{"eps": [[1e-05, null]], "eps_is": [[null, "infinity"]]}.
"""

from __future__ import annotations

import difflib
import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from typing import Any

_INTEGER = re.compile(r"[+-]?\d[\d_]*")
_FLOAT = re.compile(r"[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FRACTION = re.compile(r"([+-]?\d[\d_]*)\s*/\s*(\d[\d_]*)")
_INFINITE = re.compile(r"([+-]?)\.?inf(inity)?", re.IGNORECASE)
_PLAIN = re.compile(r"[\w./~]([\w./~@+ -]*[\w./~@+-])?")
"""text in which YAML finds no mark"""


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
    formula = isinstance(value, str) and len(value) > 1 and value[0] in "=+-@\t\r" and not _is_number(value)
    return f"'{value}" if formula and not raw else value


def standard_json(document: Any) -> str:
    """The document as text. Numbers of numpy are numbers, tuples are lists, and names of keys are text."""
    return json.dumps(standard(document), indent=2, allow_nan=False)


def standard(value: Any) -> Any:
    """The document of JSON's own values."""
    return _with_words(value)[0]


def _with_words(value: Any) -> tuple[Any, Any]:
    """A value of JSON's own, and words for the numbers that it lost: a word, or a list of the same shape, or None."""
    import numpy as np

    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(value, dict):
        document: dict[str, Any] = {}
        for key, inner in value.items():
            document[str(key)], words = _with_words(inner)
            document |= {} if words is None else {f"{key}_is": words}
        return document, None
    if isinstance(value, list | tuple):
        pairs = [_with_words(inner) for inner in value]
        words = [words for _, words in pairs]
        return [inner for inner, _ in pairs], None if set(map(type, words)) <= {type(None)} else words
    if isinstance(value, float) and not math.isfinite(value):
        return None, "undefined" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    return value, None


def scalar(text: str) -> Any:
    """The value of a plain scalar: None, bool, int, float (also 1/3, 1e-5, inf) or str."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if len(text) > 40:
        return text
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        value = float(text.replace("_", ""))
        return value if math.isfinite(value) else text
    if match := _FRACTION.fullmatch(text):
        numerator, denominator = (int(part.replace("_", "")) for part in match.groups())
        return numerator / denominator if denominator else text
    if match := _INFINITE.fullmatch(text):
        return -math.inf if match.group(1) == "-" else math.inf
    return text


def yaml_in_line(value: Any) -> str:
    """YAML in one line that reads back to this value; numbers keep all their digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml_in_line(k)}: {yaml_in_line(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(yaml_in_line, value)) + "]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return "inf" if math.isinf(value) else repr(int(value)) if value.is_integer() and value < 1e15 else repr(value)
    if isinstance(value, int):
        return repr(value)
    # between quotes a text is a text, whatever it looks like
    return value if _PLAIN.fullmatch(value) and scalar(value) == value else json.dumps(value, ensure_ascii=False)
