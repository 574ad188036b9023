"""From the masses of disjoint events under two laws to what the pair attains, rounded down.

(a) delta(eps) = sup over events S of P(S) - e^eps Q(S) is at least delta exactly when eps <= log((P(S) - delta) / Q(S))
for an event, so eps(delta) is the largest such value. Every event gives a lower bound; the best are the unions of cells
by decreasing ratio.

(b) A Renyi divergence of cells is at most that of the laws (data processing), and dropping cells lowers it further,
because every term q (r^a - 1 - a (r - 1)) is at least 0.

(c) Errors of the masses are charged against what is stated: P is taken smaller and Q larger, and a divergence is less
what relative errors can do to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_TINY = 1e-290
"""below this a mass may have underflowed"""


def largest_eps(p: np.ndarray, log_q: np.ndarray, delta: float) -> float:
    """The largest epsilon that one of the events [E] attains, by (a): P rounded down, log Q rounded up; 0 if none."""
    room = p - delta
    seen = room > 0
    return max(0.0, float(np.max(np.log(room[seen]) - log_q[seen]))) if seen.any() else 0.0


def renyi_of_masses(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """D_order(P || Q) of masses [C] above 0, at least 0; relative error about 1e-12, or 1e-9 where it is below 1e-9."""
    log_ratio = np.log(p) - np.log(q)
    u = np.expm1(log_ratio)
    # exp((a - 1) D) - 1 = sum of q ((p / q)^a - 1 - a u), because both sum to 1: every term is positive, and tiny
    # divergences keep their digits; of the series for small u, (a - 2)(a - 3) / 12 u^2 and the rest is left out
    with np.errstate(over="ignore", invalid="ignore"):
        small = order * (order - 1) / 2 * u * u * (1 + (order - 2) / 3 * u)
        terms = np.where(np.abs(u) * order < 1e-4, small, np.expm1(order * log_ratio) - order * u)
    if np.all(np.isfinite(terms)):
        return math.log1p(max(float(np.vecdot(q, terms)), 0.0)) / (order - 1)
    # where a power overflows, the plain sum of p^a q^(1-a) in logarithms, beside which the other terms are nothing
    exponents = np.log(q) + order * log_ratio
    top = float(exponents.max())
    return (top + math.log(float(np.exp(exponents - top).sum()))) / (order - 1)


@dataclass(frozen=True)
class Cells:
    """Masses of disjoint events under P and Q, [C] each, with their errors."""

    p: np.ndarray
    q: np.ndarray
    relative: float = 1e-12
    """every mass is known to this relative error"""

    @property
    def swapped(self) -> Cells:
        """The pair in the other order."""
        return Cells(self.q, self.p, self.relative)

    def eps(self, delta: float) -> float:
        """A lower bound of the smallest epsilon >= 0 with P <= e^eps Q + delta on all events."""
        order = np.argsort(-self.p / np.maximum(self.q, _TINY), kind="stable")
        p, q = np.cumsum(self.p[order]) * (1 - self.relative), np.cumsum(self.q[order]) * (1 + self.relative)
        return largest_eps(p, np.log(np.maximum(q, _TINY)), delta)

    def delta(self, eps: float) -> float:
        """A lower bound of sup over events of P - e^eps Q."""
        # (a): the best event is the union of the cells whose ratio is above e^eps
        above = self.p > math.exp(eps) * self.q
        p, q = float(self.p[above].sum()), float(self.q[above].sum())
        # (c)
        low = p * (1 - self.relative) - math.exp(eps) * (q * (1 + self.relative))
        return max(0.0, low)

    def renyi(self, order: float) -> float:
        """A lower bound of D_order(P || Q)."""
        # (b): what may have underflowed is dropped
        seen = (self.p > _TINY) & (self.q > _TINY)
        value = renyi_of_masses(self.p[seen], self.q[seen], order)
        return max(0.0, value - _renyi_error(value, order, self.relative))


@dataclass(frozen=True)
class EitherOrder:
    """What two neighbours' laws attain in the order that tells them apart better."""

    cells: Cells

    def eps(self, delta: float) -> float:
        """A lower bound of epsilon at delta."""
        return max(self.cells.eps(delta), self.cells.swapped.eps(delta))

    def renyi(self, order: float) -> float:
        """A lower bound of the larger divergence."""
        return max(self.cells.renyi(order), self.cells.swapped.renyi(order))

    @property
    def variation(self) -> float:
        """Total variation distance, from below; it is the same in either order."""
        return self.cells.delta(0.0)


def _renyi_error(value: float, order: float, relative: float) -> float:
    """What relative errors of the masses can do to a Renyi divergence."""
    # (c): the sum of p^a q^(1-a) is off by the factor (1 + e)^(2a - 1) at most
    general = relative * (2 * order - 1) / (order - 1)
    if value > 0.1:
        return general
    # a small divergence is about a/2 E[l^2], so that moving every log ratio l by 2 e moves it by a (2 e sqrt(2 D / a) +
    # 2 e^2); four times that is taken
    return min(general, 4 * order * (2 * relative * math.sqrt(2 * value / order) + 2 * relative**2))
