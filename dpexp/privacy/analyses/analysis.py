"""One analysis of one mechanism: a guarantee, where it comes from, what it is for, and whether it applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import eps_of, rdp_of
from dpexp.accounting.steps import NONE, Steps

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
    steps: Steps = NONE
    """the kinds of steps that it composes, and how many of each, where it composes loss distributions"""
    secret: str = ""
    """what a run computes beside `released` and must not leave for this analysis, in a word or two"""

    @property
    def zcdp(self) -> float | None:
        """rho of zero-concentrated DP, for Gaussian analyses: rdp(order) = rho order with rho = mu^2 / 2."""
        return None if self.mu is None else self.mu**2 / 2

    @cached_property
    def curve(self) -> Curve:
        """The same, asked as delta, error rates and advantage."""
        return replace(self.steps.curve, eps=self.eps) if self.steps else Curve(self.eps, mu=self.mu, rdp=self.rdp)

    @property
    def valid(self) -> bool:
        return not self.refused

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
