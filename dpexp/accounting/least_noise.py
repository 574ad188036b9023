"""The least noise for which a curve keeps a target; it knows no mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import scipy

from dpexp.accounting.curve import Curve


class Unreachable(ValueError):
    """No noise meets the target."""


def calibrate(curve: Callable[[float], Curve], eps: float, delta: float, tolerance: float = 1e-6) -> float:
    """The least noise, rounded up, with which the curve of a noise is (eps, delta). Raises Unreachable."""
    return least_noise(lambda noise: curve(noise).eps(delta), eps, tolerance)


def least_noise(eps_of_noise: Callable[[float], float], eps: float, tolerance: float = 1e-6) -> float:
    """The smallest noise, rounded up, with eps_of_noise(noise) <= eps. Raises Unreachable where there is none."""
    x = solve(cache(lambda v: eps_of_noise(math.exp(v))), eps, tolerance)
    if math.isinf(x):
        raise Unreachable(f"no noise brings epsilon down to {eps:g}")
    return math.exp(x)


def rounded_up(noise: float) -> float:
    """The noise with seven digits, a relative 1e-6 larger at most: its last digits, which differ by machine, would be
    those of every iterate."""
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
    # (b)
    x, step = scipy.optimize.brentq(excess, low, high, xtol=tolerance / 40), tolerance / 40
    # (c), by steps that double, as f can be flatter than its rounding
    while f(x) > level and x < high:
        x, step = x + step, 2 * step
    return float(min(x, high))
