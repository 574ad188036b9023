"""Minima, and thresholds with the side that the caller needs.

`narrow` searches for where a condition begins to hold. A guarantee is taken from the end where it was computed to hold,
an attained value from the end where it failed; no value is interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple


def root(function: Callable[[float], float], a: float, b: float, xtol: float = 2e-12, rtol: float = 8.9e-16) -> float:
    """Where the function is 0 between a and b, to xtol + rtol |x|. Raises ValueError unless its signs there differ."""
    from scipy.optimize import brentq

    return float(brentq(function, a, b, xtol=xtol, rtol=rtol, maxiter=1000))  # a jump takes more than 100 halvings


def minimum(function: Callable[[float], float], low: float, high: float, xatol: float = 1e-5) -> float:
    """The least value found between two ends, of a valley to about xatol."""
    from scipy.optimize import minimize_scalar

    valley = minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": xatol})
    return float(valley.fun)


class Narrowed(NamedTuple):
    """The last numbers at which a condition failed and held, on either side of its threshold."""

    below: float
    above: float


def narrow(
    holds: Callable[[float], bool], below: float, above: float, *, relative: float = 0.0, absolute: float = 0.0
) -> Narrowed:
    """Halve [below, above] until it is at most `absolute` + `relative` |above| wide.

    `holds` is taken to be false at `below` and true at `above`, which may be the smaller number of the two. Both
    tolerances may be 0: 200 halvings leave 1e-60 of any interval.
    """
    for _ in range(200):
        middle = (below + above) / 2
        if abs(above - below) <= absolute + relative * abs(above) or middle in (below, above):
            break
        below, above = (below, middle) if holds(middle) else (middle, above)
    return Narrowed(below, above)


def eps_of_delta(delta_at: Callable[[float], float], delta: float, most: float = 1e6) -> float:
    """The smallest epsilon >= 0, rounded up, at which a decreasing delta(epsilon) is at most `delta`.

    inf if there is none up to `most`.
    """
    delta_at, low, high = cache(delta_at), 1.0, 1.0
    if delta_at(0.0) <= delta:
        return 0.0
    while delta_at(high) > delta:
        if high >= most:
            return math.inf
        low, high = high, min(2 * high, most)
    while delta_at(low) <= delta:
        low, high = low / 2, low
    return raised(log_root(delta_at, delta, low, high), delta_at, delta)


def log_root(f: Callable[[float], float], level: float, a: float, b: float) -> float:
    """Where f is at a level above 0, between two numbers on either side of it, by log f, which is nearly straight."""
    return root(lambda x: math.log(max(f(x), 5e-324)) - math.log(level), a, b, xtol=1e-300)


def raised(value: float, statement: Callable[[float], float], target: float, step: float = 0.0) -> float:
    """A value, raised by as many of its last digits as it takes for `statement(value)` to be at most the target.

    By steps that double from `step` or the last digit, as a statement can be flatter than its rounding. Raises
    ValueError where no finite value helps.
    """
    step = step or math.ulp(value)
    while not statement(value) <= target:
        value, step = value + step, 2 * step
        if not math.isfinite(value):
            raise ValueError(f"nothing finite brings the statement down to {target:g}")
    return value


class Unreachable(ValueError):
    """No noise meets the target."""


def rounded_up(noise: float) -> float:
    """The noise with seven digits, at most 1e-6 larger: its last ones differ by machine, and are in all iterates."""
    scale = 10.0 ** (6 - math.floor(math.log10(noise)))
    return math.ceil(noise * scale) / scale


def solve(f: Callable[[float], float], level: float, tolerance: float) -> float:
    """The smallest x with f(x) <= level, from above and to a relative tolerance in e^x; inf if there is none.

    (a) `f` decreases; its logarithm has a slope of about -1 or steeper, since epsilon falls with the noise or faster: a
    step of log(f / level) mostly goes just beyond the place, and two such places are a bracket.
    (b) Between the ends of a bracket log f is close to a line, so a root finder needs few evaluations.
    (c) Its result is moved up until f is at most the level.
    """
    low = high = 0.0
    least = 0.25  # doubled with every step, so that no flat part is walked through in small ones

    def ahead(larger: float, smaller: float) -> float:
        return min(max(math.log(larger / smaller), least), 2.0) if smaller > 0 and larger < math.inf else 2.0

    # (a), up to noise of e^46 = 1e20 and down to 1e-20
    while f(high) > level:
        low, high, least = high, high + ahead(f(high), level), 2 * least
        if high > 46:
            return math.inf
    while low == high or f(low) <= level:
        low, high, least = low - ahead(level, f(low)), low, 2 * least
        if low < -46:
            return high

    def excess(x: float) -> float:
        return math.log(min(max(f(x), 1e-12), 1e12) / level)

    if level <= 0 or excess(high) >= 0:
        return high
    # (b), (c)
    return min(raised(root(excess, low, high, xtol=tolerance / 40), f, level, tolerance / 40), high)
