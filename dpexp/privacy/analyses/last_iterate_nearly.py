"""The bound of the last iterate of convex losses as a smooth function of the order, nearly: where to look for an order.

A search over orders needs the bound at dozens of them, to a thousandth and no guarantee, while the number of steps
changes from question to question. What costs is the divergence of one step, which knows nothing of the number of steps:
it is computed once on a grid of orders and noise shares, and is a polynomial between its orders. The bound at the order
that is found comes from `last_iterate`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpexp.core.elementary import exp, log
from dpexp.core.modelled import EACH_SIDE, promised_least
from dpexp.privacy.accounting.conversions import ORDERS
from dpexp.privacy.analyses.last_iterate import LOGITS, SHARES, STEP, last_iterate, over_steps, share_of, step_costs

_PLACES = log(ORDERS - 1)
"""evenly spaced, [A]"""
_SPACING = float(_PLACES[1] - _PLACES[0])
_AROUND = 7
"""orders through which the polynomial goes, .66 apart in log(order - 1)"""
_AGREED = 1e-5
"""relative difference of the polynomials' bound and the one with the divergence itself up to which they are believed"""
_HERE = 1e-9
"""distance from an order of the grid, in spacings, that is rounding"""


@dataclass(frozen=True)
class Nearly:
    """order -> about the least over R <= steps and shares f of R S(q, multiplier sqrt(1-f)) + order width^2 / (2 f R).

    R is any number between 1 and `steps` here, not a whole one; between the shares of the grid the logarithm of the
    sum is a parabola through the best one and its neighbours.
    """

    q: float
    multiplier: float
    width: float
    steps: int
    step: str

    def __call__(self, order: float) -> float:
        k, away = _nearest(order)
        return self._on_grid[k] if abs(away) < _HERE else self._least(self._costs_at(order)[None], np.array([order]))[0]

    def bound(self, order: float) -> float:
        """The bound itself: at the share where the polynomials have their least, if the divergence there is theirs.

        A smooth model that is off by a part e has its least off by about e and the least value by about e^2. Whole
        numbers of steps are not smooth: where they are few, it can be e.
        """
        log_costs = self._costs_at(order)
        spread = order * self.width * self.width / 2

        def rdp(logit: float, log_cost: float) -> float:
            return over_steps(math.exp(min(log_cost, 700.0)), spread * (1 + math.exp(-logit)), self.steps, 1.0)[0]

        known = list(zip(LOGITS, log_costs.tolist(), strict=True))
        at = int(np.argmin(self._logs(log_costs[None], np.array([order]))[0]))
        near = known[max(0, at - EACH_SIDE) : at + EACH_SIDE + 1]
        if 0 < at < len(LOGITS) - 1 and all(math.isfinite(y) for _, y in near):
            promised = promised_least(near, rdp, LOGITS[at - 1], LOGITS[at + 1], 1e-6)
            share = share_of(promised.x)
            cost = STEP[self.step](order, self.q, self.multiplier * math.sqrt(1 - share))
            found, _ = over_steps(cost, spread / share, self.steps, 1.0)
            if abs(found - promised.value) <= _AGREED * found:
                return found
        return last_iterate(order, self.q, self.multiplier, self.width, self.steps, self.step).rdp

    def _costs_at(self, order: float) -> np.ndarray:
        """log of the costs, [shares]: a polynomial in log(order - 1) between the orders of the grid."""
        k, away = _nearest(order)
        known = _log_costs(self.q, self.multiplier, self.step)
        if abs(away) < _HERE:
            return np.asarray(known[k])
        first = min(max(k - _AROUND // 2, 0), len(ORDERS) - _AROUND)
        with np.errstate(invalid="ignore"):  # an infinite cost times a weight: no order to look at
            return np.asarray((_weights(k + away - first)[:, None] * known[first : first + _AROUND]).sum(axis=0))

    @cached_property
    def _on_grid(self) -> list[float]:
        return self._least(_log_costs(self.q, self.multiplier, self.step), ORDERS)

    def _logs(self, log_costs: np.ndarray, orders: np.ndarray) -> np.ndarray:
        """log of the bound at each share of the grid, [A, shares], for costs of the same shape."""
        costs = exp(np.nan_to_num(log_costs, nan=np.inf))
        spreads = (orders * (self.width * self.width / 2))[:, None] / SHARES
        with np.errstate(divide="ignore", invalid="ignore"):  # no cost: all steps; no cost and no spread: any number
            steps = np.clip(np.nan_to_num(np.sqrt(spreads / costs), nan=1.0), 1.0, self.steps)
            return log(costs * steps + spreads / steps)

    def _least(self, log_costs: np.ndarray, orders: np.ndarray) -> list[float]:
        """The least between the shares of the grid, [A]."""
        logs = self._logs(log_costs, orders)
        rows, at = np.arange(len(orders)), np.clip(logs.argmin(axis=1), 1, len(SHARES) - 2)
        before, best, after = logs[rows, at - 1], logs[rows, at], logs[rows, at + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            below = (after - before) ** 2 / (8 * (after - 2 * best + before))
        inside = np.isfinite(below) & (best <= np.minimum(before, after))
        least: list[float] = exp(np.where(inside, best - below, logs.min(axis=1))).tolist()
        return least


def _nearest(order: float) -> tuple[int, float]:
    """The nearest order of the grid, and how far the order is from it in spacings."""
    place = (math.log(order - 1) - float(_PLACES[0])) / _SPACING
    k = min(max(round(place), 0), len(ORDERS) - 1)
    return k, place - k


def _weights(place: float) -> np.ndarray:
    """Of Lagrange's polynomial through 0, 1, .., at a place that is none of them."""
    product = math.prod(place - k for k in range(_AROUND))
    signs = ((-1) ** (_AROUND - 1 - k) * math.comb(_AROUND - 1, k) for k in range(_AROUND))
    factorial = math.factorial(_AROUND - 1)
    return np.array([sign * product / (factorial * (place - k)) for k, sign in enumerate(signs)])


@lru_cache(maxsize=64)
def _log_costs(q: float, multiplier: float, step: str) -> np.ndarray:
    """log of the cost of a step, [orders, shares]."""
    with np.errstate(divide="ignore"):
        return log(np.array([step_costs(order, q, multiplier, step) for order in ORDERS.tolist()]))
