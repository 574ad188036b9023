"""What a bound can say: epsilon, a Renyi divergence, delta, a trade-off curve, or one mu for all of it.

Every kind from above is held against exact laws as an upper limit of something that a pair attains. A trade-off curve
beta(alpha) is an upper limit of the power 1 - beta of a test, and mu one of epsilon at every delta above its floor.

A bound from below, such as eps_attained, says that some run with these assumptions leaks so much. It is held against
the least analysis of all such runs. What a bound would have to beat is the tightest analysis of dpexp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from dpexp.accounting.curve import Curve
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.composition import composition
from dpexp.privacy.judge.setting import Assumes, Setting
from dpexp.privacy.mechanisms import MECHANISMS

LEAST_DELTA, MOST_DELTA = 1e-14, 0.3


class Law(Protocol):
    """What a pair attains, rounded down."""

    def eps(self, delta: float) -> float: ...
    def renyi(self, order: float) -> float: ...


class Attained(Law, Protocol):
    """The same, with about the largest delta at which it attains anything."""

    @property
    def variation(self) -> float: ...


class Kind(NamedTuple):
    """One way to state a bound."""

    function: str
    """its name in the file; `mu` takes no first argument, and is asked at every delta"""
    argument: str
    measured: str
    """what a pair attains more of, in words"""
    most: float
    """largest value that the function may return; inf says nothing"""
    lower: bool = False
    """whether it says what is attained at least; 0 says nothing, and so does a beta of 1"""

    @property
    def quantity(self) -> str:
        return self.function.removesuffix("_attained")


KINDS = {
    kind.function: kind
    for kind in (
        Kind("eps", "delta", "epsilon", float("inf")),
        Kind("rdp", "order", "Renyi divergence", float("inf")),
        Kind("delta", "eps", "delta", 1.0),
        Kind("beta", "alpha", "power of a test, 1 - beta,", 1.0),
        Kind("mu", "delta", "epsilon", float("inf")),
        Kind("eps_attained", "delta", "epsilon", float("inf"), lower=True),
        Kind("delta_attained", "eps", "delta", 1.0, lower=True),
        Kind("beta_attained", "alpha", "power of a test, 1 - beta,", 1.0, lower=True),
    )
}


def level(kind: Kind, x: float, variation: float) -> float:
    """An order between 1.03 and 200, or a delta or rate between 1e-14 and .9 of the least at which epsilon is 0, or .3.

    The exponent of delta falls with the square of 1 - x, so that large deltas, where little is proved, are half of all.
    """
    if kind.quantity == "rdp":
        return float(1 + 10 ** (-1.5 + 3.8 * x))
    # above the variation epsilon is 0, and there is nothing to compare
    top = min(MOST_DELTA, 0.9 * variation)
    if not top > LEAST_DELTA:
        return LEAST_DELTA
    return float(top * (LEAST_DELTA / top) ** ((1 - x) ** 2))


def placed(kind: Kind, level: float, exact: Attained) -> tuple[float, float]:
    """The argument at which a bound is asked, and what the pair attains there, without a search."""
    # a delta that is attained at a given epsilon would have to be searched for; the other way round it is the level
    if kind.quantity == "delta":
        return exact.eps(level), level
    return level, value(exact, kind, level)


def value(exact: Law, kind: Kind, at: float) -> float:
    """What the pair attains at that argument, rounded down."""
    return _quantity(kind, at, Curve(exact.eps, side="below"), exact.renyi)


def stated(analysis: Analysis, kind: Kind, at: float) -> float:
    """What an analysis states there, rounded up; inf where it states nothing of that kind."""
    return _quantity(kind, at, Curve(analysis.eps), analysis.rdp)


def _quantity(kind: Kind, at: float, profile: Curve, renyi: Callable[[float], float] | None) -> float:
    if kind.quantity == "rdp":
        return renyi(at) if renyi is not None else math.inf
    if kind.quantity == "beta":
        return 1 - profile.beta(at)
    return profile.delta(at) if kind.quantity == "delta" else profile.eps(at)


def analyses(s: Setting, assumes: Assumes) -> list[Analysis]:
    """Every analysis of a run with these assumptions, refused ones included."""
    if assumes.released == "all-iterates" or not (assumes.bounded or assumes.strongly_convex):
        return composition(s.q, s.multiplier, s.steps, assumes.sampling, assumes.relation)  # type: ignore[arg-type]
    # the last iterate on a bounded set, or of losses that contract: by the mechanism whose analyses assume as much
    shared: dict[str, Any] = {
        "n": s.n,
        "batch_size": s.batch_size,
        "step_size": s.step_size,
        "steps": s.steps,
        "sampling": assumes.sampling,
        "neighboring_relation": assumes.relation,
        "diameter": s.diameter,
    }
    if assumes.convex and assumes.smooth:
        shared |= {"noise_std": s.noise_std, "lipschitz": s.lipschitz, "smoothness": s.smoothness}
        shared["strong_convexity"] = s.strong_convexity if assumes.strongly_convex else 0.0
        return MECHANISMS["noisy-sgd"](**shared).upper_bounds()
    shared |= {"clip": s.lipschitz, "noise_std": s.parameter_noise_std}
    return MECHANISMS["clipped-noisy-sgd"](**shared).upper_bounds()


@lru_cache(64)
def tightest(s: Setting, assumes: Assumes, kind: Kind, at: float) -> dict[str, Any] | None:
    """The smallest value of a valid analysis of the same release (or of all iterates), with its name."""
    found: list[tuple[float, Analysis]] = []
    for a in analyses(s, assumes):
        # who sees all iterates sees the last one and the average, and not the other way round
        if not a.valid or (a.released == "last-iterate" and assumes.released != "last-iterate"):
            continue
        value = stated(a, kind, at)
        if math.isfinite(value):
            found.append((value, a))
    if not found:
        return None
    value, best = min(found, key=lambda pair: pair[0])
    return {"analysis": best.name, "source": best.source, "value": value}
