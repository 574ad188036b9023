"""Roots and minima of a function of one number, and the threshold at which a condition begins to hold.

`root` and `least` are the methods of Brent (Algorithms for minimization without derivatives, 1973). They give what
`scipy.optimize.brentq` and `minimize_scalar(method="bounded")` give, bit for bit, and importing them takes no time:
scipy's take a quarter of a second of a command that is done in half of one.

(a) A step is first tried by interpolation: a line or a parabola through the best two or three places.
(b) It is taken where it stays inside and shrinks. Otherwise the interval is halved, or cut in the golden ratio.

The others halve an interval between where something fails and where it holds. Whoever asks decides which end to keep,
and with it the direction of rounding: a number that is stated as a guarantee is taken from the end where the condition
was seen to hold, one that is stated as attained from the end where it was seen to be exceeded. Nothing that they return
is interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

EPSILON = 2.0**-52
GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
"""of a golden section, the smaller part"""
ROOT_EPSILON = math.sqrt(2.2e-16)
"""how closely a minimum can be located, relatively"""


def root(
    function: Callable[[float], float],
    a: float,
    b: float,
    xtol: float = 2e-12,
    rtol: float = 4 * EPSILON,
    most: int = 100,
) -> float:
    """Where the function is 0 between a and b, to xtol + rtol |x|; its signs there differ, or ValueError is raised."""
    last, at = a, b
    f_last, f_at = function(last), function(at)
    if f_last == 0:
        return last
    if f_at == 0:
        return at
    if (f_last < 0) == (f_at < 0):
        raise ValueError("f(a) and f(b) must have different signs")
    # `other` is on the far side of the root
    other, f_other, step, before = 0.0, 0.0, 0.0, 0.0
    for _ in range(most):
        if f_last != 0 and f_at != 0 and (f_last < 0) != (f_at < 0):
            other, f_other = last, f_last
            before = step = at - last
        # `at` is the better of the two places that enclose the root
        if abs(f_other) < abs(f_at):
            last, at, other = at, other, at
            f_last, f_at, f_other = f_at, f_other, f_at
        enough = (xtol + rtol * abs(at)) / 2
        half = (other - at) / 2
        if f_at == 0 or abs(half) < enough:
            return at
        # (a)
        tried = math.inf
        if abs(before) > enough and abs(f_at) < abs(f_last):
            # a line through two points, else a parabola in y through three
            if last == other:
                tried = -f_at * (at - last) / (f_at - f_last)
            else:
                near = (f_last - f_at) / (last - at)
                far = (f_other - f_at) / (other - at)
                below = far * near * (f_other - f_last)
                tried = -f_at * (f_other * far - f_last * near) / below if below else math.inf
        # (b): less than half the step before the last one, since steps that do not shrink are no use
        if 2 * abs(tried) < min(abs(before), 3 * abs(half) - enough):
            before, step = step, tried
        else:
            before = step = half
        # at least what counts as found, so that the root is soon enclosed from both sides
        last, f_last = at, f_at
        at += step if abs(step) > enough else math.copysign(enough, half)
        f_at = function(at)
    raise ArithmeticError(f"no root after {most} steps, at {at!r}")


class Least(NamedTuple):
    """A place and the value there, the least of those tried."""

    x: float
    value: float


def least(function: Callable[[float], float], low: float, high: float, xatol: float = 1e-5) -> Least:
    """A local minimum between two ends, to about xatol: parabolas through the three best places, or golden sections."""
    best = second = third = low + GOLDEN * (high - low)
    value = value_2 = value_3 = function(best)
    ahead, step = 0.0, 0.0
    for _ in range(499):
        middle = 0.5 * (low + high)
        close = ROOT_EPSILON * abs(best) + xatol / 3.0
        if abs(best - middle) <= 2.0 * close - 0.5 * (high - low):
            break
        golden = True
        # (a): the parabola's lowest place is best + p / q
        if abs(ahead) > close:
            r = (best - second) * (value - value_3)
            q = (best - third) * (value - value_2)
            p = (best - third) * q - (best - second) * r
            q = 2.0 * (q - r)
            if q > 0.0:
                p = -p
            q, r, ahead = abs(q), ahead, step
            # (b)
            if abs(p) < abs(0.5 * q * r) and q * (low - best) < p < q * (high - best):
                golden, step = False, p / q
                x = best + step
                if x - low < 2.0 * close or high - x < 2.0 * close:
                    step = close if middle >= best else -close
        if golden:
            ahead = (low if best >= middle else high) - best
            step = GOLDEN * ahead
        # at least what counts as found, so that the minimum is soon enclosed from both sides
        size = max(abs(step), close)
        x = best + (size if step >= 0 else -size)
        found = function(x)
        if found <= value:
            low, high = (best, high) if x >= best else (low, best)
            third, value_3, second, value_2, best, value = second, value_2, best, value, x, found
            continue
        # no better: the interval ends there, and it may be the second or third best place
        low, high = (x, high) if x < best else (low, x)
        if found <= value_2 or second == best:
            third, value_3, second, value_2 = second, value_2, x, found
        elif found <= value_3 or third in (best, second):
            third, value_3 = x, found
    return Least(best, value)


class Narrowed(NamedTuple):
    """The two ends of an interval that holds a threshold."""

    below: float
    """the number next to the threshold at which the condition was found not to hold"""
    above: float
    """the number next to it at which the condition was found to hold"""


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
    at neither. Both tolerances may be 0.
    """
    # 200 halvings leave 1e-60 of any interval: more than the digits of a number, and an end to the search for a
    # threshold that is next to 0, where a relative tolerance is never met
    for _ in range(halvings):
        if abs(above - below) <= absolute + relative * abs(above):
            break
        middle = (below + above) / 2
        # no number lies between the ends
        if middle in (below, above):
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
    left, since = high - low, 0
    while high - low > 1:
        # three questions that do not halve what is left are followed by the middle, whatever shape the score has
        if crossing is None or since == 3:
            crossing = (low + high) / 2
        # between the ends, so that every question leaves less; the crossing is cut first, because that of a flat line
        # may be larger than any whole number
        k = min(max(math.ceil(min(max(crossing, low), high)), low + 1), high - 1)
        found = score(k)
        low, high = (low, k) if found >= 0 else (k, high)
        left, since = (high - low, 0) if 2 * (high - low) <= left else (left, since + 1)
        # the line through the last two scores; a slope that is not positive says nothing of where the score is 0
        if math.isfinite(found - last[1]):
            slope = (found - last[1]) / (k - last[0])
        crossing, last = k - found / slope if slope > 0 and math.isfinite(found) else None, (k, found)
    return high
