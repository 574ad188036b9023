"""Lower bounds: what no analysis can get below, because one pair of neighbouring data sets attains it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpexp.privacy.analysis import ALL, LAST, Released, eps_of_delta
from dpexp.privacy.gdp import eps_of
from dpexp.privacy.loss_distributions import Scheme, step_loss

WIDEST = 120.0
"""set in noise units up to which the exact law is computed within a second"""


@dataclass(frozen=True)
class LowerBound:
    """The exact privacy loss of one pair of neighbours."""

    name: str
    released: Released
    pair: str
    eps: Callable[[float], float]
    """delta -> epsilon"""

    def statement(self, deltas: tuple[float, ...] | list[float]) -> dict[str, Any]:
        """The bound as one dict of `dpexp privacy --json`."""
        return {
            "analysis": self.name,
            "released": self.released,
            "pair": self.pair,
            "eps": [[delta, self.eps(delta)] for delta in deltas],
        }


def exact_walk(
    q: float, slope: float, width: float, contraction: float, steps: int, replaced: bool, pair: str
) -> list[LowerBound]:
    """The last iterate of a walk on a set `width` noise units wide whose record moves it by `slope` with probability q.

    `replaced`: the other data set has the opposite record, else none. Empty where the set is too wide or unbounded.
    """
    if not (0 < width <= WIDEST and steps > 0 and slope > 0):
        return []

    @cache
    def curve() -> Callable[[float], float]:
        from dpexp.privacy.exact_walk import HockeyStick, Law, shifting

        def law(sign: float) -> Law:
            moves = [(1 - q, 0.0), (q, sign * slope)] if q < 1 else [(1.0, sign * slope)]
            return Law(shifting(width / 2, moves, contraction), steps)

        one, other = law(1.0), law(-1.0) if replaced else law(0.0)
        there, back = HockeyStick(one, other), HockeyStick(other, one)
        return there if replaced else lambda eps: max(there(eps), back(eps))

    @cache
    def eps(delta: float) -> float:
        return eps_of_delta(curve(), delta, tolerance=1e-7)

    return [LowerBound("exact-walk", LAST, pair, eps)]


def attained(q: float, multiplier: float, steps: int, scheme: Scheme) -> LowerBound:
    """All noisy sums released, constant gradients: the composition itself, rounded down."""
    loss, distance = step_loss(q, multiplier, scheme), 2.0 if scheme == "replace-one" else 1.0
    pair = "constant gradients: the record's against no record" + (
        "'s" if scheme == "add-remove" else ", or the opposite one"
    )

    @cache
    def eps(delta: float) -> float:
        if q == 1:
            return eps_of(math.sqrt(steps) * distance / multiplier, delta)
        return loss.attained(steps, delta)

    return LowerBound("exact-composition", ALL, pair, eps)
