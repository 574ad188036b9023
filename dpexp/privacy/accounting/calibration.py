"""The inverse problem: the least noise (or largest budget) with which an analysis spends no more than a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from dpexp.core.roots import root
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism

TOLERANCE = {"pld-composition": 1e-6, "hybrid": 1e-4}
"""relative tolerance of the noise, for analyses whose epsilon is rounded up on a grid"""


class Unreachable(ValueError):
    """No valid analysis meets the target with any noise."""


class Calibrated(NamedTuple):
    """The parameter, the analysis that allows it, what that spends, and what every analysis would need."""

    value: float
    analysis: str
    spent: float
    tried: list[tuple[str, float]]


def calibrate(
    build: Callable[[float], Mechanism],
    kind: type[Mechanism],
    spends: Callable[[Analysis], float],
    target: float,
    released: str,
    analysis: str | None = None,
    force: bool = False,
    analyses: Callable[[Mechanism], list[Analysis]] = lambda mechanism: mechanism.analyses(),
) -> Calibrated:
    """The best value of `kind.noise_field` over the valid analyses of what is released, never overspending.

    `build` makes the mechanism from a value; `spends` is what an analysis states, epsilon at a delta or mu, and inf
    where it states no such thing; `force` accepts analyses that are no guarantee; `analyses` gives those of a
    mechanism, its own where they are left out. Raises Unreachable where no valid analysis can meet the target.
    """
    # the search is one in log noise, in which epsilon falls
    sign = 1.0 if kind.more_noise_is_larger else -1.0

    def applicable(a: Analysis) -> bool:
        return (a.valid or force) and (released == "last-iterate" or a.released == "all-iterates")

    def at(name: str, x: float) -> float:
        """What one analysis spends where the value is e^x, or e^-x if less of it is more noise: it falls with x."""
        found = [a for a in analyses(build(math.exp(sign * x))) if a.name == name and applicable(a)]
        return spends(found[0]) if found else math.inf

    probe = analyses(build(1.0))
    names = [a.name for a in probe if applicable(a) and analysis in (None, a.name)]
    if not names:
        known = ", ".join(a.name for a in probe)
        raise Unreachable(
            f"no valid analysis of {released} named {analysis!r}: there are {known}"
            if analysis
            else (f"no valid analysis covers the {released} of this mechanism")
        )
    tried: list[tuple[str, float]] = []
    for name in names:
        x = _solve(cache(lambda v, name=name: at(name, v)), target, TOLERANCE.get(name, 1e-8))
        tried.append((name, math.exp(sign * x) if math.isfinite(x) else math.inf))
    reachable = [(value, name) for name, value in tried if math.isfinite(value)]
    if not reachable:
        raise Unreachable(f"no noise brings a valid analysis down to {target:g}")
    value, name = min(reachable) if kind.more_noise_is_larger else max(reachable)
    return Calibrated(value, name, at(name, sign * math.log(value)), tried)


def least_noise(eps_of_noise: Callable[[float], float], eps: float, tolerance: float = 1e-6) -> float:
    """The smallest noise, rounded up, with eps_of_noise(noise) <= eps. Raises Unreachable where there is none."""
    x = _solve(cache(lambda v: eps_of_noise(math.exp(v))), eps, tolerance)
    if math.isinf(x):
        raise Unreachable(f"no noise brings epsilon down to {eps:g}")
    return math.exp(x)


def rounded_up(noise: float) -> float:
    """The noise with seven digits, a relative 1e-6 larger at most, which is what a search leaves open too.

    The last digits of a search are not the same on every machine, and would be those of every iterate.
    """
    scale = 10.0 ** (6 - math.floor(math.log10(noise)))
    return math.ceil(noise * scale) / scale


def _solve(f: Callable[[float], float], level: float, tolerance: float) -> float:
    """The smallest x with f(x) <= level, from above and to a relative tolerance in e^x; inf if there is none.

    (a) `f` decreases; its logarithm has a slope of about -1 or steeper, since epsilon falls with the noise or faster: a
    step of log(f / level) mostly goes just beyond the place, and two such places are a bracket.
    (b) Between the ends of a bracket log f is close to a line, so a root finder needs few evaluations.
    (c) What it finds is moved up until f is seen to be at most the level.
    """
    # (a), up to noise of e^46 = 1e20 and down to 1e-20
    low = high = 0.0
    least = 0.25  # doubled with every step, so that no flat part is walked through in small ones
    while f(high) > level:
        low, high = high, high + _ahead(f(high), level, least)
        least *= 2
        if high > 46:
            return math.inf
    while low == high or f(low) <= level:
        low, high = low - _ahead(level, f(low), least), low
        least *= 2
        if low < -46:
            return high

    def excess(x: float) -> float:
        return math.log(min(max(f(x), 1e-12), 1e12) / level)

    if level <= 0 or excess(high) >= 0:
        return high
    # (b)
    x, step = root(excess, low, high, xtol=tolerance / 4), tolerance / 4
    # (c), by steps that double, as f can be flatter than its rounding
    while f(x) > level and x < high:
        x, step = x + step, 2 * step
    return min(x, high)


def _ahead(larger: float, smaller: float, least: float) -> float:
    """How far to go with the logarithm of the noise, from where f is the one number towards where it is the other."""
    if not (smaller > 0 and larger < math.inf):
        return 2.0
    return min(max(math.log(larger / smaller), least), 2.0)
