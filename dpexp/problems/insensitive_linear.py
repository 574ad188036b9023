"""Mallows-weighted regression with the epsilon-insensitive loss: a convex risk that is flat at its minimum.

Errors are bounded by `support` and residuals up to `width` cost nothing. With width = support the risk grows like the
fifth power of the error, so its Hessian vanishes at the optimum; with more it is zero on a whole neighbourhood, and the
optimum is not unique. `ldp-sgd`, Theorems 5 and 6, speak of such risks; the paper's own examples are not among them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import Value, maximum, sqrt, where
from dpexp.problems.laws import tables_of
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import cubic_moment
from dpexp.problems.population import Errors
from dpexp.problems.row_rules import rows_along


def response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = x'beta* + support V, where P(V < -v) = (1 - v)^4 / 2 for 0 <= v <= 1, and V is symmetric."""
    u = 2.0 * e - 1.0
    size = 1.0 - sqrt(sqrt(maximum(1.0 - maximum(u, -u), 0.0)))
    return t + k[1] * where(u < 0.0, -size, size)


def score(t: Value, y: Value, scale: Value, k: np.ndarray) -> tuple[Value, Value]:
    """Derivative of max(0, |y - t| - width) in t."""
    return where(y - t > k[0], -1.0, where(t - y > k[0], 1.0, 0.0)), 0.0


def conditional_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """E over the error of max(0, |support V - t| - width), for the error t of the linear predictor."""
    # E (V - a)_+ is the integral of (1 - v)^4 / 2 from a on, (1 - a)^5 / 10 for 0 <= a <= 1; for a < 0 -a is added, and
    # a has the other sign
    rest = maximum(1.0 - maximum((t - k[0]) / k[1], (k[0] - t) / k[1]), 0.0)
    other = maximum(1.0 - maximum((t + k[0]) / k[1], (-t - k[0]) / k[1]), 0.0)
    tails = 0.1 * (rest * rest * rest * rest * rest + other * other * other * other * other)
    return maximum(t - k[0], 0.0) + maximum(-t - k[0], 0.0) + k[1] * tails


class InsensitiveLinear(LinearPredictorProblem):
    """y = x'beta* + bounded symmetric errors; theta = beta minimises E w max(0, |y - x'beta| - width)."""

    name: Literal["insensitive-linear"] = "insensitive-linear"
    width: Positive = 1.0
    """residuals up to this cost nothing"""
    support: Positive = 1.0
    """largest absolute error; the risk is flat at beta* where width >= support"""

    response_noise = "uniform"
    response = staticmethod(response)
    score = staticmethod(score)
    conditional_risk = staticmethod(conditional_risk)
    populations = True

    def own_errors(self) -> Errors:
        return Errors(law="bounded", support=self.support)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        moments = tables_of(self.law.errors or self.own_errors())
        return np.asarray(spread * (moments.over((u + self.width) / spread) + moments.under((u - self.width) / spread)))

    risk_parts = 8
    """A fifth power begins at two places, of which no panel knows: risks have relative errors of 1e-9."""

    @property
    def constants(self) -> np.ndarray:
        return np.array([self.width, self.support])

    def score_bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        r = np.abs(y - np.sum(x * theta, axis=-1))
        return self.weight(x) * np.maximum(0.0, r - self.width)

    def smoothness(self) -> float:
        """At most two densities of the errors, 2 / support each: valid everywhere, since at theta* it may be 0."""
        if self.population is not None:
            return super().smoothness()
        return 4 / self.support * float(np.linalg.eigvalsh(rows_along(self.law).moments(1))[-1])

    def hessian_lipschitz(self) -> float | None:
        """The third derivative of a user's risk at t is f'(t - width) + f'(t + width), f the density of the errors."""
        if self.population is not None:
            return None
        # |f'(x)| = 6 / support^2 (1 - |x| / support)^2. Beyond t = width both have one sign and fall in size, so that
        # the sum is largest at t = width; within, they differ in sign
        overlap = max(0.0, 1 - 2 * self.width / self.support)
        return 6 / self.support**2 * (1 + overlap**2) * cubic_moment(self.d, self.sigma_z)
