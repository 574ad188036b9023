"""Roots, minima, and thresholds with the side that the caller needs.

`narrow` and `first_whole` search for where a condition begins to hold. A guarantee is taken from the end where it was
computed to hold, an attained value from the end where it failed; no value is interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

GOLDEN = (3.0 - math.sqrt(5.0)) / 2  # the smaller part of a golden section
EPSILON = 2.0**-52


def root(
    function: Callable[[float], float],
    a: float,
    b: float,
    xtol: float = 2e-12,
    rtol: float = 4 * EPSILON,
    steps: int = 200,
) -> float:
    """Where the function is 0 between a and b, to xtol + rtol |x|; its signs there differ, or ValueError is raised.

    Chandrupatla (Advances in Engineering Software 28, 1997): inverse quadratic interpolation where the last three
    points lie on a curve that allows it, and halving elsewhere.
    """
    f_a, f_b = function(a), function(b)
    if f_a == 0 or f_b == 0:
        return a if f_a == 0 else b
    if (f_a < 0) == (f_b < 0):
        raise ValueError("f(a) and f(b) must have different signs")
    # the root lies between a and b, and c is the point before a
    t, c, f_c = 0.5, a, f_a
    for _ in range(steps):
        x = a + t * (b - a)
        f_x = function(x)
        if (f_x < 0) == (f_a < 0):
            c, f_c = a, f_a
        else:
            c, f_c, b, f_b = b, f_b, a, f_a
        a, f_a = x, f_x
        best, f_best = (a, f_a) if abs(f_a) < abs(f_b) else (b, f_b)
        close = (xtol + rtol * abs(best)) / 2 / abs(b - a) if a != b else 1.0
        if f_best == 0 or close > 0.5:
            return best
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        t = 0.5
        if phi * phi < xi and (1 - phi) ** 2 < 1 - xi:
            t = f_a / (f_b - f_a) * f_c / (f_b - f_c) + (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        t = min(max(t, close), 1 - close)
    raise ArithmeticError(f"no root after {steps} steps, at {a!r}")


def minimum(function: Callable[[float], float], low: float, high: float, xatol: float = 1e-5) -> float:
    """The least value found between two ends, of a valley to about xatol: by parabolas through the lowest place and the
    ends around it, or a golden section of the larger part where two of these have not halved what is left."""
    x = low + GOLDEN * (high - low)
    best, at_low, at_high = function(x), math.inf, math.inf
    widths = [math.inf, math.inf]
    while high - low > (near := 2 * xatol + math.sqrt(EPSILON) * abs(x)):
        vertex = math.nan
        if 2 * (high - low) <= widths[-2] and max(at_low, at_high) < math.inf:
            rise, fall = (x - low) * (at_high - best), (high - x) * (at_low - best)
            vertex = x + ((high - x) * fall - (x - low) * rise) / (2 * (rise + fall)) if rise + fall > 0 else x
        widths.append(high - low)
        larger = 1 if 2 * x < low + high else -1
        if not low < vertex < high:
            vertex = x + GOLDEN * (high - x if larger > 0 else low - x)
        # at least what counts as found, so that the minimum is soon enclosed from both sides
        place = vertex if abs(vertex - x) >= near / 3 else x + larger * near / 3
        value = function(place)
        if value <= best:
            low, at_low, high, at_high = (x, best, high, at_high) if place > x else (low, at_low, x, best)
            x, best = place, value
        elif place > x:
            high, at_high = place, value
        else:
            low, at_low = place, value
    return best


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
