"""One analysis of one mechanism: a curve from above or from below, where it comes from, and whether it applies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import eps_of, rdp_of
from dpexp.accounting.loss_steps import NONE, Steps
from dpexp.accounting.renyi import delta_of_curve, eps_of_curve

Released = Literal["all-iterates", "last-iterate"]
ALL: Released = "all-iterates"
LAST: Released = "last-iterate"
ORDERS = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


@dataclass(frozen=True, kw_only=True)
class Analysis(Curve):
    """A guarantee, whose side is above, or what one pair of neighbours attains, whose side is below."""

    name: str
    source: str
    """a theorem with its conversion; from below the pair, in words"""
    released: Released
    assumptions: Sequence[str] = ()
    refused: str = ""
    """why it is no guarantee here; empty where it is one"""
    per_user: dict[str, float] | None = None
    """quantiles of what the users are promised, where each has a guarantee of their own"""
    remark: str = ""
    """what must be known of a valid analysis"""
    steps: Steps = NONE
    """the kinds of steps that it composes, and how many of each, where it composes loss distributions"""
    secret: str = ""
    """what a run computes in addition to `released` and must not leave for this analysis, in a word or two"""

    @property
    def valid(self) -> bool:
        return not self.refused

    def at(self, deltas: Sequence[float]) -> list[float]:
        """Epsilon at each of the deltas, where a smaller one promises, and a larger one attains, as much or more."""
        eps = {delta: self.eps(delta) for delta in deltas}
        if self.side == "below":
            return [max(eps[larger] for larger in deltas if larger >= delta) for delta in deltas]
        return [min(eps[smaller] for smaller in deltas if smaller <= delta) for delta in deltas]

    def statement(self, deltas: Sequence[float], orders: Sequence[float] = ORDERS) -> dict[str, Any]:
        """The analysis as one dict, with the keys of `dpexp privacy --json`."""
        eps = [[delta, eps] for delta, eps in zip(deltas, self.at(deltas), strict=True)]
        mu = self.unsampled if self.mu is None else self.mu
        if self.side == "below":
            return {"analysis": self.name, "released": self.released, "pair": self.source, "eps": eps}
        return {
            "analysis": self.name,
            "source": self.source,
            "released": self.released,
            "secret": self.secret or None,
            "per_user": self.per_user,
            "valid": self.valid,
            "reason": self.refused or self.remark,
            "assumptions": list(self.assumptions),
            "mu": mu if math.isfinite(mu) or self.mu is not None else None,
            "zcdp": mu**2 / 2 if math.isfinite(mu) or self.mu is not None else None,
            "rdp": [] if self.rdp is None else [[order, self.rdp(order)] for order in orders],
            "eps": eps,
        }


def guarantee(
    name: str,
    source: str,
    released: Released,
    eps: Callable[[float], float],
    assumptions: Sequence[str],
    rdp: Callable[[float], float] | None = None,
    refused: str = "",
) -> Analysis:
    """From epsilon at every delta."""
    return Analysis(
        eps, rdp=rdp, name=name, source=source, released=released, assumptions=tuple(assumptions), refused=refused
    )


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
    analysis = guarantee(name, source, released, partial(eps_of, mu), assumptions, partial(rdp_of, mu), refused)
    return replace(analysis, mu=mu, secret=secret)


def renyi_analysis(
    name: str,
    source: str,
    released: Released,
    curve: Callable[[float], float],
    assumptions: Sequence[str],
    refused: str = "",
) -> Analysis:
    """From a Renyi curve, converted at its best real order (Canonne, Kamath and Steinke)."""
    every = cache(curve)  # whatever delta is, a search begins at the same orders
    eps = cache(lambda delta: eps_of_curve(every, delta))
    analysis = guarantee(name, source, released, eps, assumptions, curve, refused)
    return replace(analysis, direct=cache(partial(delta_of_curve, every)))


def attained(name: str, released: Released, pair: str, eps: Callable[[float], float]) -> Analysis:
    """The exact privacy loss of one pair of neighbours, described by `pair`."""
    return Analysis(eps, "below", name=name, source=pair, released=released)
