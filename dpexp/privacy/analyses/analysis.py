"""One analysis of one mechanism: a guarantee, where it comes from, what it is for, and whether it applies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

from dpexp.core.bisection import narrow
from dpexp.privacy.accounting.conversions import eps_near, eps_of_curve
from dpexp.privacy.accounting.gdp import eps_of, rdp_of
from dpexp.privacy.accounting.tradeoff import Profile

if TYPE_CHECKING:
    from dpexp.privacy.accounting.loss_distributions import Steps

Relation = Literal["replace-one", "add-remove"]
"""which data sets are neighbours"""
Released = Literal["all-iterates", "last-iterate"]
ALL: Released = "all-iterates"
LAST: Released = "last-iterate"
ORDERS = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


@dataclass(frozen=True)
class Analysis:
    """An upper bound on the privacy loss, as a function of delta and, where it has them, of Renyi orders or mu."""

    name: str
    source: str
    released: Released
    eps: Callable[[float], float]
    """delta -> epsilon"""
    assumptions: Sequence[str]
    rdp: Callable[[float], float] | None = None
    """order -> Renyi divergence"""
    mu: float | None = None
    """Gaussian-DP parameter"""
    refused: str = ""
    """why it is no guarantee here; empty where it is one"""
    per_user: dict[str, float] | None = None
    """quantiles of what the users are promised, where each has a guarantee of their own"""
    remark: str = ""
    """what must be known of a valid analysis"""
    steps: Steps = ()
    """the kinds of steps that it composes, and how many of each, where it composes loss distributions"""
    secret: str = ""
    """what a run computes beside `released` and must not leave for this analysis, in a word or two"""

    @property
    def zcdp(self) -> float | None:
        """rho of zero-concentrated DP, for Gaussian analyses: rdp(order) = rho order with rho = mu^2 / 2."""
        return None if self.mu is None else self.mu**2 / 2

    @property
    def valid(self) -> bool:
        return not self.refused

    @property
    def profile(self) -> Profile:
        """Error rates of an attacker; delta at epsilon without a search where a loss distribution knows it."""
        direct = None
        if len(self.steps) == 1:
            ((loss, count),) = self.steps
            direct = partial(loss.delta, count)
        return Profile(self.eps, mu=self.mu, direct=direct)

    def at(self, deltas: Sequence[float]) -> list[float]:
        """Epsilon at each of the deltas; what is promised at a smaller one holds at a larger one, where it is less."""
        eps = {delta: self.eps(delta) for delta in deltas}
        return [min(eps[smaller] for smaller in deltas if smaller <= delta) for delta in deltas]

    def statement(self, deltas: Sequence[float], orders: Sequence[float] = ORDERS) -> dict[str, Any]:
        """The analysis as one dict, with the keys of `dpexp privacy --json`."""
        return {
            "analysis": self.name,
            "source": self.source,
            "released": self.released,
            "secret": self.secret or None,
            "per_user": self.per_user,
            "valid": self.valid,
            "reason": self.refused or self.remark,
            "assumptions": list(self.assumptions),
            "mu": self.mu,
            "zcdp": self.zcdp,
            "rdp": [] if self.rdp is None else [[order, self.rdp(order)] for order in orders],
            "eps": [[delta, eps] for delta, eps in zip(deltas, self.at(deltas), strict=True)],
        }


MISLED = 1e-4
"""relative difference of what was promised of an order and what the curve has there, from which on another search is
tried: a smooth difference of this size moves the order by about as much, and epsilon by its square"""


def renyi_analysis(
    name: str,
    source: str,
    released: Released,
    curve: Callable[[float], float],
    assumptions: Sequence[str],
    refused: str = "",
    nearly: Callable[[float], float] | None = None,
) -> Analysis:
    """From a Renyi curve, converted at its best real order (Canonne, Kamath and Steinke).

    `nearly` is about the curve, for less and no bound: it finds the order, from which the curve itself is followed
    where it was misled.
    """
    # whatever delta is, a search begins at the same orders
    every = cache(curve)
    about = cache(nearly) if nearly else every

    @cache
    def eps(delta: float) -> float:
        stated, order = eps_of_curve(about, delta, sharp=every)  # the curve's own at some order
        if not math.isfinite(stated) or math.isclose(about(order), every(order), rel_tol=MISLED):
            return stated
        return min(stated, eps_near(every, order, delta))

    return Analysis(name, source, released, eps, tuple(assumptions), curve, None, refused)


def gaussian_analysis(
    name: str,
    source: str,
    released: Released,
    mu: float,
    assumptions: Sequence[str],
    refused: str = "",
    secret: str = "",
) -> Analysis:
    """From a Gaussian-DP parameter, converted exactly."""

    def eps(delta: float) -> float:
        return eps_of(mu, delta)

    curve = partial(rdp_of, mu)
    return Analysis(name, source, released, eps, tuple(assumptions), curve, mu, refused, secret=secret)


def hockey_stick_analysis(
    name: str,
    source: str,
    released: Released,
    delta: Callable[[float], float],
    assumptions: Sequence[str],
    refused: str = "",
) -> Analysis:
    """From a bound on delta as a decreasing function of epsilon."""

    @cache
    def eps(at: float) -> float:
        return eps_of_delta(delta, at)

    return Analysis(name, source, released, eps, tuple(assumptions), refused=refused)


def eps_of_delta(delta_at: Callable[[float], float], delta: float, tolerance: float = 1e-12) -> float:
    """The smallest epsilon, rounded up, at which a decreasing delta(epsilon) is at most `delta`; inf if none is."""
    if delta_at(0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_at(high) > delta:
        high *= 2
        if high > 1e6:
            return math.inf
    return narrow(lambda eps: delta_at(eps) <= delta, 0.0, high, relative=tolerance).above
