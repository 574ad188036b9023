"""The inverse problem: the least noise (or largest budget) with which an analysis spends no more than a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from dpexp.accounting.search import Unreachable, solve
from dpexp.privacy.analyses.analysis import Analysis

if TYPE_CHECKING:
    from dpexp.privacy.mechanisms.mechanism import Mechanism

TOLERANCE = {"pld-composition": 1e-6, "hybrid": 1e-4}
"""relative tolerance of the noise, for analyses whose epsilon is rounded up on a grid"""
M = TypeVar("M", bound="Mechanism")


class Calibrated(NamedTuple):
    """The parameter, the analysis that allows it, what that spends, and what every analysis would need."""

    value: float
    analysis: str
    spent: float
    tried: list[tuple[str, float]]


def calibrate(
    build: Callable[[float], M],
    kind: type[M],
    spends: Callable[[Analysis], float],
    target: float,
    released: str,
    analysis: str | None = None,
    analyses: Callable[[M], list[Analysis]] = lambda mechanism: mechanism.upper_bounds(),
) -> Calibrated:
    """The best value of `kind.noise_field` over the valid analyses of what is released, never overspending.

    `build` makes the mechanism from a value; `spends` is what an analysis states, epsilon at a delta or mu, and inf
    where it states no such thing; `analyses` gives those of a mechanism, its own where they are left out. Raises
    Unreachable where no valid analysis can meet the target.
    """
    # the search is one in log noise, in which epsilon falls
    sign = 1.0 if kind.more_noise_is_larger else -1.0

    def applicable(a: Analysis) -> bool:
        return a.valid and (released == "last-iterate" or a.released == "all-iterates")

    def at(name: str, x: float) -> float:
        """What one analysis spends where the value is e^x, or e^-x if less of it is more noise: it falls with x."""
        named = [a for a in analyses(build(math.exp(sign * x))) if a.name == name and applicable(a)]
        return spends(named[0]) if named else math.inf

    probe = analyses(build(1.0))
    names = [a.name for a in probe if applicable(a) and analysis in (None, a.name)]
    if not names:
        known = ", ".join(a.name for a in probe)
        named = f"no valid analysis of {released} named {analysis!r}: there are {known}"
        raise Unreachable(named if analysis else f"no valid analysis covers the {released} of this mechanism")
    tried: list[tuple[str, float]] = []
    for name in names:
        x = solve(cache(lambda v, name=name: at(name, v)), target, TOLERANCE.get(name, 1e-8))
        tried.append((name, math.exp(sign * x) if math.isfinite(x) else math.inf))
    reachable = [(value, name) for name, value in tried if math.isfinite(value)]
    if not reachable:
        raise Unreachable(f"no noise brings a valid analysis down to {target:g}")
    value, name = min(reachable) if kind.more_noise_is_larger else max(reachable)
    return Calibrated(value, name, at(name, sign * math.log(value)), tried)
