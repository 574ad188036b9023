"""One analysis of one mechanism: a curve from above or from below, where it comes from, and whether it applies.

No guarantee is below what a pair of neighbours attains. Where one is, one of the two is an error of dpexp. Which one is
unknown, so the guarantee is withdrawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import eps_of, rdp_of
from dpexp.accounting.loss_steps import NONE, Steps
from dpexp.accounting.renyi import delta_of_curve, eps_of_curve
from dpexp.core.text import down, up

Released = Literal["all-iterates", "last-iterate"]
ALL: Released = "all-iterates"
LAST: Released = "last-iterate"
ORDERS = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
ROUNDING = 1e-9
"""of an epsilon: guarantees are rounded up and what is attained down, but for the last digits of a few closed forms"""


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
    name: str, source: str, released: Released, eps: Callable[[float], float], assumptions: Sequence[str], **more: Any
) -> Analysis:
    """From epsilon at every delta, and more fields."""
    return Analysis(eps, name=name, source=source, released=released, assumptions=tuple(assumptions), **more)


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
    known = {"mu": mu, "rdp": partial(rdp_of, mu), "refused": refused, "secret": secret}
    return guarantee(name, source, released, partial(eps_of, mu), assumptions, **known)


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
    direct = cache(partial(delta_of_curve, every))
    return guarantee(name, source, released, eps, assumptions, rdp=curve, refused=refused, direct=direct)


def attained(name: str, released: Released, pair: str, eps: Callable[[float], float]) -> Analysis:
    """The exact privacy loss of one pair of neighbours, described by `pair`."""
    return Analysis(eps, "below", name=name, source=pair, released=released)


def with_last_iterate(bounds: Sequence[Analysis]) -> list[Analysis]:
    """Who sees all iterates sees the last one: of them is attained at least what the last one attains."""
    cached = [replace(bound, eps=cache(bound.eps)) for bound in bounds]
    last = [bound for bound in cached if bound.released == LAST]
    more = f"; or the pair of {' or '.join(bound.name for bound in last)}, where that attains more"

    def largest(bound: Analysis, delta: float) -> float:
        return max(one.eps(delta) for one in (bound, *last))

    return [
        replace(bound, source=bound.source + more, eps=cache(partial(largest, bound)))
        if last and bound.released == ALL
        else bound
        for bound in cached
    ]


def covers(analysis: Analysis, bound: Analysis) -> bool:
    """Whether what the pair shows is covered: who sees all iterates sees the last one, and not the other way round."""
    return bound.released == LAST or (analysis.released == bound.released and not analysis.secret)


def refuted(analyses: Iterable[Analysis], bounds: Sequence[Analysis], deltas: Sequence[float]) -> dict[str, str]:
    """The valid analyses that some pair refutes at one of the deltas, by name, with both lines in words."""
    complaints: dict[str, str] = {}
    lines = [(bound, bound.at(deltas)) for bound in bounds]
    for analysis in analyses:
        promised = analysis.at(deltas) if analysis.valid else []
        for bound, lower in lines if promised else []:
            for delta, eps, low in zip(deltas, promised, lower, strict=True):
                # an absolute 1e-12 too, for guarantees of epsilon 0
                if covers(analysis, bound) and low > eps * (1 + ROUNDING) + 1e-12:
                    sides = f"{analysis.name} promises {up(eps)}, and {bound.name} attains {down(low)}"
                    fault = f"an error of dpexp or of a plug-in: at delta = {delta:g} {sides}"
                    complaints.setdefault(analysis.name, fault)
    return complaints
