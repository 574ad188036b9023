"""Roots, minima, and thresholds with the side that the caller needs.

`narrow`, `first_whole` and `first_reached` search for where a condition begins to hold. A guarantee is taken from the
end where it was computed to hold, an attained value from the end where it failed; no value is interpolated.
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


class Least(NamedTuple):
    """A place and the value there, the least of those that were tried."""

    x: float
    value: float


def least(function: Callable[[float], float], low: float, high: float, xatol: float = 1e-5) -> Least:
    """A local minimum between two ends, to about xatol, by parabolas through the three lowest places.

    Where the parabola leads outside, or its steps do not shrink, the larger side is cut in the golden ratio (Brent).
    """
    x = low + GOLDEN * (high - low)
    best = second = third = Least(x, function(x))
    last = before = 0.0
    while True:
        close = xatol / 3 + math.sqrt(EPSILON) * abs(best.x)
        if max(best.x - low, high - best.x) <= 2 * close:
            return best
        # the vertex of the parabola; nan where there is none
        r = (best.x - second.x) * (best.value - third.value)
        q = (best.x - third.x) * (best.value - second.value)
        up, bend = (best.x - second.x) * r - (best.x - third.x) * q, 2 * (q - r)
        step = up / bend if math.isfinite(bend) and bend else math.nan
        if abs(step) < abs(before) / 2 and low < best.x + step < high:
            before = last
            if min(best.x + step - low, high - best.x - step) < 2 * close:
                step = math.copysign(close, low + high - 2 * best.x)
        else:
            before = (low if 2 * best.x > low + high else high) - best.x
            step = GOLDEN * before
        # at least what counts as found, so that the minimum is soon enclosed from both sides
        last = step if abs(step) >= close else math.copysign(close, step)
        tried = Least(best.x + last, function(best.x + last))
        if tried.value <= best.value:
            low, high = (best.x, high) if tried.x > best.x else (low, best.x)
            best, second, third = tried, best, second
            continue
        low, high = (low, tried.x) if tried.x > best.x else (tried.x, high)
        if tried.value <= second.value or second.x == best.x:
            second, third = tried, second
        elif tried.value <= third.value or third.x in (best.x, second.x):
            third = tried


class Narrowed(NamedTuple):
    """The two ends of an interval that holds a threshold: the last numbers at which the condition failed and held."""

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

    `holds` is taken to be false at `below` and true at `above`, which may be the smaller number of the two; it is asked
    at neither. Both tolerances may be 0: 200 halvings leave 1e-60 of any interval.
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


def first_reached(
    score: Callable[[int], float], below: int, above: int, guess: float | None = None, slope: float = 0.0
) -> int:
    """`first_whole` of score >= 0 for a score that is nearly straight: its last two values say where to ask.

    It begins at a guess, with a slope where one is known, and takes at most four times as many questions as halving.
    """
    low, high, last, crossing = below, above, (0, math.nan), guess
    width, since = high - low, 0
    while high - low > 1:
        # three questions that do not halve what is left are followed by the middle, whatever shape the score has
        if crossing is None or since == 3:
            crossing = (low + high) / 2
        # the crossing is cut first, because that of a flat line may be larger than any whole number
        k = min(max(math.ceil(min(max(crossing, low), high)), low + 1), high - 1)
        value = score(k)
        low, high = (low, k) if value >= 0 else (k, high)
        width, since = (high - low, 0) if 2 * (high - low) <= width else (width, since + 1)
        # the line through the last two scores; a slope that is not positive says nothing of where the score is 0
        if math.isfinite(value - last[1]):
            slope = (value - last[1]) / (k - last[0])
        crossing, last = k - value / slope if slope > 0 and math.isfinite(value) else None, (k, value)
    return high
