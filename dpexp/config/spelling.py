"""How the value of a setting is written: the same in lists, labels, comparisons, figures and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dpexp.core.text import short

NON_PRIVATE = "non-private"


def spelled(name: str, value: Any, among: Iterable[Any] = ()) -> str:
    """A value in short: 0.2, 1/3, true, non-private for an infinite mu, a dash where a cell has no such parameter.

    A decimal of at most six digits is written as such, another number as the fraction that it is.

    Short words may be those of two numbers. Where `among`, the other values of this name, has such a twin, the number
    is written with as many digits as it takes to tell them apart.
    """
    return written(name, value, digits_of([*among, value]))


def digits_of(values: Iterable[Any]) -> int:
    """The significant digits that tell all these numbers apart: 0 where their short words do, 17 where all count."""
    numbers = {value for value in values if isinstance(value, float)}
    if len({_short(number) for number in numbers}) == len(numbers):
        return 0
    return next((n for n in range(7, 17) if len({f"{number:.{n}g}" for number in numbers}) == len(numbers)), 17)


def written(name: str, value: Any, digits: int) -> str:
    """`spelled`, with the digits that were found for all values of the name."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float):
        return str(value)
    if name == "mu" and math.isinf(value):
        return NON_PRIVATE
    return _short(value) if digits == 0 else repr(value) if digits == 17 else f"{value:.{digits}g}"


def pair(name: str, value: Any, among: Iterable[Any] = ()) -> str:
    """`name=value`, as a setting is written everywhere."""
    return f"{name}={spelled(name, value, among)}"


def _short(value: float) -> str:
    decimal = f"{value:g}"
    return decimal if float(decimal) == value else short(value)
