"""The least value of a function one part of which is smooth and costs much: a polynomial through what is known of that
part says where to ask next.

The function is value(x, y(x)); y is the part that costs, value is cheap.

(a) Where y is known at a few places, its interpolating polynomial stands for it, the least value of value(x,
polynomial(x)) is found for next to nothing, and y is asked there. A new place next to the least one makes the
polynomial far better just where it matters, so two or three questions find what a search by values alone finds with a
dozen.
(b) The search ends where what was found agrees with what the polynomial promised, or where the polynomial leads to a
place again that it knows of.
(c) What is returned was asked for: the polynomial only chooses places. Where it is of no use, values alone decide.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dpexp.accounting.search import Least, least

EACH_SIDE = 3
"""known places on either side of the best one through which the polynomial goes: with spacing h its error is about
h^7 y^(7) / 7!, and more places let rounding in"""
_ROUNDS = 5
_AGREED = 1e-9
"""relative difference between what the polynomial promised and what was found, from which on it is believed"""


class Found(NamedTuple):
    """A place, what was asked there, and the value of both."""

    x: float
    y: float
    value: float


def least_modelled(
    known: Sequence[tuple[float, float]],
    value: Callable[[float, float], float],
    costly: Callable[[float], float],
    xatol: float,
) -> Found:
    """A local minimum of value(x, costly(x)) next to the best of the known places (x, y), which increase.

    It lies between the neighbours of that place. Where y is infinite, or the polynomial is not believed after a few
    questions or leads to what is known, the search goes on by values alone, to about `xatol`.
    """
    found, places = [Found(x, y, value(x, y)) for x, y in known], {x for x, _ in known}
    best = min(found, key=lambda f: f.value)
    if not math.isfinite(best.value):
        return best
    k = found.index(best)
    low, high = found[max(0, k - 1)].x, found[min(len(found) - 1, k + 1)].x
    for _ in range(_ROUNDS):
        k = found.index(best)
        near = found[max(0, k - EACH_SIDE) : k + EACH_SIDE + 1]
        if not all(math.isfinite(f.y) for f in near):
            break
        left, right = found[max(0, k - 1)].x, found[min(len(found) - 1, k + 1)].x
        # (a)
        promised = promised_least([(f.x, f.y) for f in near], value, left, right, xatol / 10)
        x = promised.x
        # (b); only a place that was asked for counts, since those of the grid were not chosen by a polynomial
        if abs(x - best.x) < xatol / 10 and best.x not in places:
            return best
        if min(abs(x - f.x) for f in near) < xatol / 10:
            break
        asked = Found(x, y := costly(x), value(x, y))
        found.insert(bisect_left(found, x, key=lambda f: f.x), asked)
        best = min(best, asked, key=lambda f: f.value)
        if abs(asked.value - promised.value) <= _AGREED * abs(asked.value):
            return best
    # (c)
    asked_at: dict[float, float] = {}

    def at(x: float) -> float:
        asked_at[x] = costly(x)
        return value(x, asked_at[x])

    last = least(at, low, high, xatol)
    return min(best, Found(last.x, asked_at[last.x], last.value), key=lambda f: f.value)


def promised_least(
    near: Sequence[tuple[float, float]], value: Callable[[float, float], float], low: float, high: float, xatol: float
) -> Least:
    """The least value(x, y) between two ends where y is the polynomial through these places (x, y)."""
    model = _through(near)
    return least(lambda x: value(x, model(x)), low, high, xatol)


def _through(places: Sequence[tuple[float, float]]) -> Callable[[float], float]:
    """Newton's polynomial through (x, y)."""
    x = [at for at, _ in places]
    slopes = [y for _, y in places]
    for order in range(1, len(x)):
        for k in range(len(x) - 1, order - 1, -1):
            slopes[k] = (slopes[k] - slopes[k - 1]) / (x[k] - x[k - order])

    def polynomial(at: float) -> float:
        total = slopes[-1]
        for k in range(len(x) - 2, -1, -1):
            total = total * (at - x[k]) + slopes[k]
        return total

    return polynomial
