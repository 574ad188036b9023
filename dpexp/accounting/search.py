"""Minima, and thresholds with the side that the caller needs.

`narrow` and `first_whole` search for where a condition begins to hold. A guarantee is taken from the end where it was
computed to hold, an attained value from the end where it failed; no value is interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import scipy


def minimum(function: Callable[[float], float], low: float, high: float, xatol: float = 1e-5) -> float:
    """The least value found between two ends, of a valley to about xatol."""
    valley = scipy.optimize.minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": xatol})
    return float(valley.fun)


class Narrowed(NamedTuple):
    """The last numbers at which a condition failed and held, on either side of its threshold."""

    below: float
    above: float


def narrow(
    holds: Callable[[float], bool],
    below: float,
    above: float,
    *,
    relative: float = 0.0,
    absolute: float = 0.0,
    halvings: int = 200,
) -> Narrowed:
    """Halve [below, above] until it is at most `absolute` + `relative` |above| wide, or so many times.

    `holds` is taken to be false at `below` and true at `above`, which may be the smaller number of the two. Both
    tolerances may be 0: 200 halvings leave 1e-60 of any interval.
    """
    for _ in range(halvings):
        middle = (below + above) / 2
        if abs(above - below) <= absolute + relative * abs(above) or middle in (below, above):
            break
        below, above = (below, middle) if holds(middle) else (middle, above)
    return Narrowed(below, above)


def first_whole(holds: Callable[[int], bool], below: int, above: int) -> int:
    """The smallest whole number above `below` at which `holds` is true; `above` where it is not found before.

    `holds` is false up to some number and true from there on.
    """
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above
