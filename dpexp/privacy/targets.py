"""Privacy targets (epsilon, delta) of a whole run, for algorithms that calibrate their noise to what is released."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from dpexp.privacy.budgets import Budget
from dpexp.privacy.gdp import mu_of


class Target(Budget):
    """(eps, delta)-DP for everything that is released; eps = inf is no privacy."""

    kind: ClassVar[str] = "target"
    eps: Annotated[float, Field(gt=0)]
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5

    @property
    def label(self) -> str:
        return "non-private" if math.isinf(self.eps) else f"eps = {self.eps:g}"

    @property
    def constant(self) -> float:
        """The mu of the Gaussian mechanism that just meets the target (exact conversion)."""
        return _mu(self.eps, self.delta)

    @property
    def largest(self) -> float:
        return self.constant

    @property
    def smallest(self) -> float:
        return self.constant

    @property
    def mean_inverse_square(self) -> float:
        return 0.0 if math.isinf(self.eps) else self.constant**-2

    def draw(self, u: np.ndarray, first: int) -> np.ndarray:
        return np.full(u.shape, self.constant)


@lru_cache(maxsize=256)
def _mu(eps: float, delta: float) -> float:
    """`mu_of`, found once: every replicate asks for it."""
    return mu_of(eps, delta)
