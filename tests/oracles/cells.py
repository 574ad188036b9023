"""Masses of disjoint events under two laws, with their errors: what a pair attains in either order, rounded down.

Every union of cells is an event, and the best ones go by decreasing ratio. Errors of the masses are charged against what
is stated: P is taken smaller and Q larger, and a divergence is less what relative errors can do to it.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpexp.accounting.curve import largest_eps
from dpexp.privacy.exact.walk import renyi_of_masses

TINY = 1e-290
"""below this a mass may have underflowed"""


@dataclass(frozen=True)
class Cells:
    """Masses of disjoint events under P and Q, [C] each."""

    p: np.ndarray
    q: np.ndarray
    relative: float = 1e-12
    """every mass is known to this relative error"""

    @property
    def swapped(self):
        return Cells(self.q, self.p, self.relative)

    def eps(self, delta):
        order = np.argsort(-self.p / np.maximum(self.q, TINY), kind="stable")
        p, q = np.cumsum(self.p[order]) * (1 - self.relative), np.cumsum(self.q[order]) * (1 + self.relative)
        return largest_eps(p, np.log(np.maximum(q, TINY)), delta)

    def delta(self, eps):
        above = self.p > math.exp(eps) * self.q
        p, q = float(self.p[above].sum()), float(self.q[above].sum())
        return max(0.0, p * (1 - self.relative) - math.exp(eps) * (q * (1 + self.relative)))

    def renyi(self, order):
        used = (self.p > TINY) & (self.q > TINY)
        value = renyi_of_masses(self.p[used], self.q[used], order)
        # the sum of p^a q^(1-a) is off by the factor (1 + e)^(2 a - 1) at most
        return max(0.0, value - self.relative * (2 * order - 1) / (order - 1))


@dataclass(frozen=True)
class EitherOrder:
    """What two neighbours' laws attain in the order that tells them apart better."""

    cells: Cells

    def eps(self, delta):
        return max(self.cells.eps(delta), self.cells.swapped.eps(delta))

    def renyi(self, order):
        return max(self.cells.renyi(order), self.cells.swapped.renyi(order))

    @property
    def variation(self):
        return self.cells.delta(0.0)
