"""Privacy targets (epsilon, delta) of a whole run, for algorithms that calibrate their noise to what is released."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from dpexp.core.stages import received
from dpexp.privacy.budgets import Budget


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
    def target(self) -> tuple[float, float]:
        return self.eps, self.delta

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


@received
@lru_cache(maxsize=256)
def _mu(eps: float, delta: float) -> float:
    """`mu_of`, lowered by its last digits where it would state more than eps; found once, every replicate asks."""
    from dpexp.privacy.accounting.gdp import eps_of, mu_of

    mu = mu_of(eps, delta)
    return mu if math.isinf(mu) else 1 / raised(1 / mu, lambda inverse: eps_of(1 / inverse, delta), eps)


def raised(noise: float, stated: Callable[[float], float], target: float) -> float:
    """The noise, raised by as many of its last digits as it takes for `stated(noise)` to be at most the target.

    A calibrated noise is converted and rounded on its way to the statement, which can then exceed the target by its
    last digits. Raises ValueError where no finite noise helps.
    """
    step = math.ulp(noise)
    while not stated(noise) <= target:
        noise, step = noise + step, 2 * step
        if not math.isfinite(noise):
            raise ValueError(f"no noise brings the statement down to {target:g}")
    return noise
