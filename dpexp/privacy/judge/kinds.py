"""What a bound can say: epsilon, a Renyi divergence, delta, a trade-off curve, or one mu for all of it.

It limits what a pair attains: beta(alpha) the power 1 - beta of a test, mu epsilon at every delta above its floor.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from dpexp.accounting.curve import Curve
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.composition import composition
from dpexp.privacy.judge.setting import Assumes, Setting
from dpexp.privacy.mechanisms import MECHANISMS

LEAST_DELTA, MOST_DELTA = 1e-14, 0.3


class Law(Protocol):
    """What a pair attains, rounded down, with about the largest delta at which it attains anything."""

    def eps(self, delta: float) -> float: ...
    def renyi(self, order: float) -> float: ...
    @property
    def variation(self) -> float: ...


class Kind(NamedTuple):
    """One way to state a bound."""

    function: str
    """its name in the file; `mu` takes no first argument, and is asked at every delta"""
    argument: str
    measured: str
    """what a pair attains more of, in words"""
    most: float = math.inf
    """largest value that the function may return; inf says nothing"""


KINDS = {
    kind.function: kind
    for kind in (
        Kind("eps", "delta", "epsilon"),
        Kind("rdp", "order", "Renyi divergence"),
        Kind("delta", "eps", "delta", 1.0),
        Kind("beta", "alpha", "power of a test, 1 - beta,", 1.0),
        Kind("mu", "delta", "epsilon"),
    )
}


def level(kind: Kind, x: float, variation: float) -> float:
    """An order between 1.03 and 200, or a delta or rate between 1e-14 and .9 of the least at which epsilon is 0, or .3.

    The exponent of delta falls with the square of 1 - x, so that large deltas, where little is proved, are half of all.
    """
    if kind.function == "rdp":
        return float(1 + 10 ** (-1.5 + 3.8 * x))
    top = min(MOST_DELTA, 0.9 * variation)
    return float(top * (LEAST_DELTA / top) ** ((1 - x) ** 2)) if top > LEAST_DELTA else LEAST_DELTA


def attained(exact: Law, kind: Kind, at: float) -> float:
    """What the pair attains at that argument, rounded down."""
    return _value(Curve(exact.eps, "below", rdp=exact.renyi), kind, at)


def _value(curve: Curve, kind: Kind, at: float) -> float:
    if kind.function == "rdp":
        return math.inf if curve.rdp is None else curve.rdp(at)
    if kind.function == "beta":
        return 1 - curve.beta(at)
    return curve.delta(at) if kind.function == "delta" else curve.eps(at)


def analyses(s: Setting, assumes: Assumes) -> list[Analysis]:
    """Every analysis of a run with these assumptions, refused ones included."""
    if assumes.released == "all-iterates" or not (assumes.bounded or assumes.strongly_convex):
        return composition([(s.multiplier, s.q, s.steps)], assumes.sampling, assumes.relation)  # type: ignore[arg-type]
    # the last iterate on a bounded set, or of losses that contract: by the mechanism whose analyses assume as much
    shared: dict[str, Any] = {key: getattr(s, key) for key in ("n", "batch_size", "step_size", "steps", "diameter")}
    shared |= {"sampling": assumes.sampling, "neighboring_relation": assumes.relation}
    if not (assumes.convex and assumes.smooth):
        shared |= {"clip": s.lipschitz, "noise_std": s.parameter_noise_std}
        return MECHANISMS["clipped-noisy-sgd"](**shared).upper_bounds()
    shared |= {"noise_std": s.noise_std, "lipschitz": s.lipschitz, "smoothness": s.smoothness}
    shared["strong_convexity"] = s.strong_convexity if assumes.strongly_convex else 0.0
    return MECHANISMS["noisy-sgd"](**shared).upper_bounds()


def tightest(s: Setting, assumes: Assumes, kind: Kind, at: float) -> tuple[float, Analysis | None]:
    """The least upper bound of all such runs, by an analysis of the same release or of all iterates; inf if none is."""
    # who sees all iterates sees the last one and the average, and not the other way round
    last = assumes.released == "last-iterate"
    covering = [a for a in analyses(s, assumes) if a.valid and (last or a.released != "last-iterate")]
    values = [(_value(a, kind, at), a) for a in covering]
    return min((pair for pair in values if pair[0] < math.inf), key=lambda pair: pair[0], default=(math.inf, None))
