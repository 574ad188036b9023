"""The bound of the last iterate of convex losses as a smooth function of the order, nearly: where to look for an order.

A search over orders needs the bound at dozens of them, to a thousandth and no guarantee, while the number of steps
changes from question to question. What costs is the divergence of one step, which knows nothing of the number of steps:
it is computed once on a grid of orders and noise shares, and is a polynomial between its orders. The bound at the order
that is found comes from `last_iterate`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

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

        A smooth model that is off by a part e has its least off by about e and the least value by about e^2. Few whole
        numbers of steps are not smooth, and left to `last_iterate`.
        """
        return self._usual[order] if order in STATED else self._bounds([order], self._costs_at(order)[None])[0]

    @cached_property
    def _usual(self) -> dict[float, float]:
        """The bounds at the orders of a statement, which take about as long as one."""
        known = _log_costs(self.q, self.multiplier, self.step, STATED)
        return dict(zip(STATED, self._bounds(STATED, known), strict=True))

    def _bounds(self, orders: Sequence[float], log_costs: np.ndarray) -> list[float]:
        """From the costs of a step at each share of the grid, [A, shares]."""
        promised = self._promised(log_costs, np.array(orders))
        sigmas = [self.multiplier * math.sqrt(1 - share_of(logit)) for logit, _ in promised.values()]
        places = [(orders[k], sigma) for k, sigma in zip(promised, sigmas, strict=True)]
        costs = dict(zip(promised, at_each(STEP[self.step].__name__, self.q, places), strict=True))
        return [self._checked(order, promised.get(k), costs.get(k, math.inf)) for k, order in enumerate(orders)]

    def _checked(self, order: float, promised: tuple[float, float] | None, cost: float) -> float:
        """The bound at the logit of a promise and with the cost there, if it is what was promised."""
        if promised is not None:
            logit, value = promised
            bound, steps = over_steps(cost, order * self.width * self.width / 2 / share_of(logit), self.steps, 1.0)
            if steps >= min(self.steps, _MANY) and abs(bound - value) <= _AGREED * bound:
                return bound
        return last_iterate(order, self.q, self.multiplier, self.width, self.steps, self.step).rdp

    def _promised(self, log_costs: np.ndarray, orders: np.ndarray) -> dict[int, tuple[float, float]]:
        """Where the polynomials in the share have their least, as a logit, and that least: by row, where they have one.

        Between the neighbours of the best share of the grid it is sought on `_FINE` places, and on the parabola through
        the best of these and its neighbours.
        """
        rows = np.arange(len(orders))
        at = np.clip(self._logs(log_costs, orders).argmin(axis=1), 1, len(SHARES) - 2)
        first = np.clip(at - EACH_SIDE, 0, len(SHARES) - _AROUND)
        near = log_costs[rows[:, None], first[:, None] + np.arange(_AROUND)]
        away = np.linspace(-1, 1, _FINE)
        with np.errstate(invalid="ignore"):  # an infinite cost times a weight
            fine = (_between()[at - first] * near[:, None, :]).sum(axis=2)
        logits = np.array(LOGITS)[at][:, None] + (LOGITS[1] - LOGITS[0]) * away
        values = self._least_steps(fine, (orders * (self.width * self.width / 2))[:, None] * (1 + exp(-logits)))
        best = np.clip(values.argmin(axis=1), 1, _FINE - 2)
        left, middle, right = (values[rows, best + k] for k in (-1, 0, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            offset = (left - right) / (2 * (left - 2 * middle + right))
            least = exp(middle - (left - right) * offset / 4)
            where = logits[rows, best] + offset * (logits[0, 1] - logits[0, 0])
        inside = (middle <= np.minimum(left, right)) & np.isfinite(least)
        return {k: (float(where[k]), float(least[k])) for k in np.flatnonzero(inside).tolist()}

    @property
    def free(self) -> bool:
        """Whether at all orders of the grid the best R is well below `steps`: more steps then have the same bound."""
        rows = np.arange(len(_ORDERS))
        log_costs = _log_costs(self.q, self.multiplier, self.step, _ORDERS)
        at = self._logs(log_costs, ORDERS).argmin(axis=1)
        spreads = ORDERS * (self.width * self.width / 2) / SHARES[at]
        with np.errstate(divide="ignore", invalid="ignore"):
            return bool(np.all(np.sqrt(spreads / exp(log_costs[rows, at])) < _WELL_BELOW * self.steps))

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
    def _on_grid(self) -> list[float]:
        return self._least(_log_costs(self.q, self.multiplier, self.step, _ORDERS), ORDERS)

    def _logs(self, log_costs: np.ndarray, orders: np.ndarray) -> np.ndarray:
        """log of the bound at each share of the grid, [A, shares], for costs of the same shape."""
        return self._least_steps(log_costs, (orders * (self.width * self.width / 2))[:, None] / SHARES)

    def _least_steps(self, log_costs: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        """log of the least over R of R cost + spread / R, any shape."""
        costs = exp(np.nan_to_num(log_costs, nan=np.inf))
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


@lru_cache(maxsize=1)
def _between() -> np.ndarray:
    """The weights at `_FINE` places between the neighbours of each place, [`_AROUND`, `_FINE`, `_AROUND`]."""
    return np.array([[_weights(k + x) for x in np.linspace(-1, 1, _FINE).tolist()] for k in range(_AROUND)])


@lru_cache(maxsize=64)
def _log_costs(q: float, multiplier: float, step: str, orders: tuple[float, ...]) -> np.ndarray:
    """log of the cost of a step, [orders, shares]."""
    with np.errstate(divide="ignore"):
        return log(np.array([step_costs(order, q, multiplier, step) for order in orders]))
