"""Records of an audit of finite sums: linear losses, of which the canary's slope is G or -G and all others' are 0.

Linear losses are smooth with any constant and their gradients are as long as G allows, so every statement of privacy
for G and L covers them. No config names this problem; `dpexp.reporting.audit` makes it.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import njit

from dpexp.engine.finite_sum.losses import Pair, dot
from dpexp.problems.finite_sum import FiniteSum, Records


@njit(nogil=True)
def _loss(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray) -> float:
    return y * dot(w, x)


@njit(nogil=True)
def _gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> None:
    for j in range(len(w)):
        out[j] = y * x[j]


LINEAR = Pair(_loss, _gradient)


class LinearCanaries(FiniteSum):
    """f(w; x, y) = y x.w; the canary's gradient is `slope` times the first unit vector, all others are 0."""

    name: str = "linear-canaries"
    coercive: ClassVar[bool] = False
    records_count: int
    width: int
    slope: float
    """G or -G"""
    canary: int
    """which record it is"""
    stated_smoothness: float
    """L: any, for linear losses"""

    @property
    def count(self) -> int:
        return self.records_count

    @property
    def dimension(self) -> int:
        return self.width

    @property
    def lipschitz(self) -> float:
        return abs(self.slope)

    @property
    def smoothness(self) -> float:
        return self.stated_smoothness

    @property
    def pair(self) -> Pair:
        return LINEAR

    def build(self) -> Records:
        x, y = np.zeros((self.count, self.width)), np.zeros(self.count)
        x[self.canary, 0], y[self.canary] = abs(self.slope), np.sign(self.slope)
        return Records(x, y)
