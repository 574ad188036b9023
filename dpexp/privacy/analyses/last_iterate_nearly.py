"""The bound of the last iterate of convex losses as a smooth function of the order, nearly: where to look for an order.

A search over orders needs the bound at dozens of them, to a thousandth and no guarantee, while the number of steps
changes from question to question. What costs is the divergence of one step, which knows nothing of the number of steps:
it is computed once on a grid of orders and noise shares, and is a polynomial between its orders. The bound at the order
that is found comes from `last_iterate`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.core.elementary import exp, log
from dpexp.core.modelled import EACH_SIDE
from dpexp.privacy.accounting.conversions import ORDERS
from dpexp.privacy.accounting.sampled_gaussian import at_each
from dpexp.privacy.analyses.last_iterate import LOGITS, SHARES, STEP, last_iterate, over_steps, share_of, step_costs

_ORDERS: tuple[float, ...] = tuple(ORDERS.tolist())
_PLACES = log(ORDERS - 1)
"""evenly spaced, [A]"""
_SPACING = float(_PLACES[1] - _PLACES[0])
_AROUND = 7
"""orders through which the polynomial goes, .66 apart in log(order - 1)"""
_WELL_BELOW = 0.9
"""part of the steps below which the best R of an order next to one of the grid is below the steps too"""
_FINE = 33
"""places between the neighbours of a share of the grid"""
STATED = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""orders of a statement"""
_AGREED = 1e-5
"""relative difference of the polynomials' bound and the one with the divergence itself up to which they are believed"""
_MANY = 1000
"""steps from which on the nearest whole number changes the bound by less than (1 / 2000)^2 / 2 = 1e-7 of itself"""
_HERE = 1e-9
"""distance from an order of the grid, in spacings, that is rounding"""


class Promised(NamedTuple):
    """Where polynomials in the share have the least bound, by row; [A]."""

    values: np.ndarray
    """about the least bound"""
    logits: np.ndarray
    """of the share that gives it"""
    inside: np.ndarray
    """whether it lies between places at which the bound is larger"""


@dataclass(frozen=True)
class Nearly:
    """order -> about the least over R <= steps and shares f of R S(q, multiplier sqrt(1-f)) + order width^2 / (2 f R).

    R is any number between 1 and `steps` here, not a whole one, and the logarithm of S a polynomial between the shares
    of a grid.
    """

    q: float
    multiplier: float
    width: float
    steps: int
    step: str
    _bound: dict[float, float] = field(default_factory=dict, repr=False, compare=False)
    """by order"""

    def __call__(self, order: float) -> float:
        k, away = _nearest(order)
        if abs(away) < _HERE:
            return float(self.on_grid[k])
        return float(self._promised(self._costs_at(order)[None], np.array([order])).values[0])

    def bound(self, order: float) -> float:
        """The bound itself: at the share where the polynomials have their least, if the divergence there is theirs.

        A smooth model that is off by a part e has its least off by about e and the least value by about e^2. Few whole
        numbers of steps are not smooth, and left to `last_iterate`.
        """
        if order not in self._bound:
            # all the orders of a statement take about as long as one
            self.bounds(STATED if order in STATED else [order])
        return self._bound[order]

    def bounds(self, orders: Sequence[float]) -> None:
        """Compute the bounds at all of these orders at once: that takes little longer than at one of them."""
        new = [order for order in dict.fromkeys(orders) if order not in self._bound]
        if not new:
            return
        usual = _log_costs(self.q, self.multiplier, self.step, STATED)
        log_costs = [usual[STATED.index(order)] if order in STATED else self._costs_at(order) for order in new]
        promised = self._promised(np.array(log_costs), np.array(new))
        logits = dict(zip(new, promised.logits.tolist(), strict=True))
        tried = [order for order, inside in zip(new, promised.inside.tolist(), strict=True) if inside]
        places = [(order, self.multiplier * math.sqrt(1 - share_of(logits[order]))) for order in tried]
        costs = dict(zip(tried, at_each(STEP[self.step].__name__, self.q, places), strict=True))
        for order, value in zip(new, promised.values.tolist(), strict=True):
            self._bound[order] = self._checked(order, value, logits[order], costs.get(order, math.inf))

    def _checked(self, order: float, value: float, logit: float, cost: float) -> float:
        """The bound at the logit of a promise and with the cost there, if it is the value that was promised."""
        bound, steps = over_steps(cost, order * self.width * self.width / 2 / share_of(logit), self.steps, 1.0)
        if math.isfinite(bound) and steps >= min(self.steps, _MANY) and abs(bound - value) <= _AGREED * bound:
            return bound
        return last_iterate(order, self.q, self.multiplier, self.width, self.steps, self.step).rdp

    def _promised(self, log_costs: np.ndarray, orders: np.ndarray) -> Promised:
        """The least of the polynomials through the costs of a step at each share of the grid, [A, shares].

        Between the neighbours of the best share of the grid it is sought on `_FINE` places, and on the parabola through
        the best of these and its neighbours.
        """
        rows, spreads, fine = np.arange(len(orders)), (orders * (self.width * self.width / 2))[:, None], _fine()
        on_grid = self._over_steps(exp(log_costs), spreads / SHARES)
        at = np.minimum(np.maximum(on_grid.argmin(axis=1), 1), len(SHARES) - 2)
        with np.errstate(invalid="ignore"):  # an infinite cost times a weight
            near = log_costs[rows[:, None], fine.known[at]]
            costs = exp((fine.weights[at] * near[:, None, :]).sum(axis=2))
        values = self._over_steps(costs, spreads * fine.per_share[at])
        best = np.minimum(np.maximum(values.argmin(axis=1), 1), _FINE - 2)
        left, middle, right = values[rows, best - 1], values[rows, best], values[rows, best + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            offset = (left - right) / (2 * (left - 2 * middle + right))
            least = middle - (left - right) * offset / 4
            inside = (middle <= np.minimum(left, right)) & np.isfinite(least)
            logits = fine.logits[at, best] + np.where(inside, offset * fine.spacing, 0.0)
        # next to infinite costs there is no polynomial
        return Promised(np.where(inside, least, np.minimum(on_grid.min(axis=1), values.min(axis=1))), logits, inside)

    @property
    def free(self) -> bool:
        """Whether at all orders of the grid the best R is well below `steps`: more steps then have the same bound."""
        costs = exp(_log_costs(self.q, self.multiplier, self.step, _ORDERS))
        spreads = (ORDERS * (self.width * self.width / 2))[:, None] / SHARES
        rows, at = np.arange(len(_ORDERS)), self._over_steps(costs, spreads).argmin(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return bool(np.all(np.sqrt(spreads[rows, at] / costs[rows, at]) < _WELL_BELOW * self.steps))

    def _costs_at(self, order: float) -> np.ndarray:
        """log of the costs, [shares]: a polynomial in log(order - 1) between the orders of the grid."""
        k, away = _nearest(order)
        known = _log_costs(self.q, self.multiplier, self.step, _ORDERS)
        if abs(away) < _HERE:
            return np.asarray(known[k])
        first = min(max(k - _AROUND // 2, 0), len(ORDERS) - _AROUND)
        with np.errstate(invalid="ignore"):  # an infinite cost times a weight: no order to look at
            return np.asarray((_weights(k + away - first)[:, None] * known[first : first + _AROUND]).sum(axis=0))

    @cached_property
    def on_grid(self) -> np.ndarray:
        """At the orders of `conversions.ORDERS`."""
        return self._promised(_log_costs(self.q, self.multiplier, self.step, _ORDERS), ORDERS).values

    def _over_steps(self, costs: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        """The least over R of R cost + spread / R, any shape; inf where the cost is no number."""
        costs = np.fmin(costs, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):  # no cost: all steps; no cost and no spread: any number
            steps = np.fmin(np.maximum(np.sqrt(spreads / costs), 1.0), float(self.steps))
            return np.asarray(costs * steps + spreads / steps)


def enough_steps(q: float, multiplier: float, width: float, steps: int, step: str) -> int:
    """`steps`, or the largest power of two below from which on more steps have the same bound; it holds for all more.

    With R <= T only a larger T has more to choose from, so that a bound after fewer steps is one after more.
    """
    fewer = 1 << (steps.bit_length() - 1)
    return fewer if _free(q, multiplier, width, fewer, step) else steps


@lru_cache(maxsize=256)
def _free(q: float, multiplier: float, width: float, steps: int, step: str) -> bool:
    return Nearly(q, multiplier, width, steps, step).free


def _nearest(order: float) -> tuple[int, float]:
    """The nearest order of the grid, and how far the order is from it in spacings."""
    place = (math.log(order - 1) - float(_PLACES[0])) / _SPACING
    k = min(max(round(place), 0), len(ORDERS) - 1)
    return k, place - k


def _weights(place: float) -> np.ndarray:
    """Of Lagrange's polynomial through 0, 1, .., `_AROUND` - 1."""
    nodes = range(_AROUND)
    return np.array([math.prod((place - j) / (k - j) for j in nodes if j != k) for k in nodes])


class _Fine(NamedTuple):
    """Places between the neighbours of each share of the grid, and polynomials through the shares around it."""

    logits: np.ndarray
    """[shares, `_FINE`]"""
    spacing: float
    per_share: np.ndarray
    """1 / f = 1 + e^-logit, [shares, `_FINE`]"""
    known: np.ndarray
    """shares of the grid that a polynomial goes through, [shares, `_AROUND`]"""
    weights: np.ndarray
    """of the known ones at each place, [shares, `_FINE`, `_AROUND`]"""


@lru_cache(maxsize=1)
def _fine() -> _Fine:
    at = np.arange(len(SHARES))
    first = np.clip(at - EACH_SIDE, 0, len(SHARES) - _AROUND)
    away = np.linspace(-1, 1, _FINE)
    between = np.array([[_weights(k + x) for x in away.tolist()] for k in range(_AROUND)])
    logits = np.array(LOGITS)[:, None] + (LOGITS[1] - LOGITS[0]) * away
    return _Fine(
        logits,
        float(logits[0, 1] - logits[0, 0]),
        1 + exp(-logits),
        first[:, None] + np.arange(_AROUND),
        between[at - first],
    )


@lru_cache(maxsize=64)
def _log_costs(q: float, multiplier: float, step: str, orders: tuple[float, ...]) -> np.ndarray:
    """log of the cost of a step, [orders, shares]."""
    with np.errstate(divide="ignore"):
        return log(np.array([step_costs(order, q, multiplier, step) for order in orders]))
