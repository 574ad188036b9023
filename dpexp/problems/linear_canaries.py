"""Records of an audit of finite sums: linear losses, of which the canary's slope is G or -G and all others' are 0.

Linear losses are smooth with any constant and their gradients are as long as G allows, so every statement of privacy
for G and L covers them. No config names this problem; `dpexp.reporting.audit` makes it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpexp.problems.finite_sum import FiniteSum, Records

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.losses import Pair


@cache
def _linear() -> Pair:
    """f = y u and its slope y in u = x.w, compiled."""
    from numba import njit

    from dpexp.engine.finite_sum.losses import of_predictor

    value = njit(_value, nogil=True)
    slope = njit(_slope, nogil=True)
    return of_predictor(value, slope)


def _value(u: float, y: float, c: np.ndarray) -> float:
    return y * u


def _slope(u: float, y: float, c: np.ndarray) -> float:
    return y


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
        return _linear()

    def build(self) -> Records:
        x, y = np.zeros((self.count, self.width)), np.zeros(self.count)
        x[self.canary, 0], y[self.canary] = abs(self.slope), np.sign(self.slope)
        return Records(x, y)
