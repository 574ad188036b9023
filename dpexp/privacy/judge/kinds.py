"""What a bound can say: epsilon, a Renyi divergence, delta, or a trade-off curve, which limits the power 1 - beta."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from dpexp.accounting.curve import Curve

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
    """its name in the file"""
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
    if kind.function == "rdp":
        return exact.renyi(at)
    curve = Curve(exact.eps, "below")
    if kind.function == "beta":
        return 1 - curve.beta(at)
    return curve.delta(at) if kind.function == "delta" else curve.eps(at)
