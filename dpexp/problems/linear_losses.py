"""Mallows-weighted regression with the logistic, the pinball and the epsilon-insensitive loss.

Logistic regression is that of `ldp-sgd`, 5.2; quantile regression is named there as future work. The insensitive loss
is flat at its minimum: with width = support its risk grows like the fifth power of the error, so that the Hessian
vanishes at the optimum; with more it is zero on a whole neighbourhood. Theorems 5 and 6 speak of such risks.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import (
    Value,
    logistic,
    maximum,
    normal_cdf,
    normal_density,
    softplus,
    sqrt,
    where,
)
from dpexp.problems.laws import tables_of
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import cubic_moment
from dpexp.problems.population import ErrorLaw
from dpexp.problems.row_rules import rows_along


class MallowsLogistic(LinearPredictorProblem):
    """y ~ Bernoulli(1 / (1 + exp(-x'beta*))); theta = beta, and the optimum is beta* where the model is right."""

    name: Literal["mallows-logistic"] = "mallows-logistic"

    response_noise = "uniform"
    populations = True
    labels = True
    response = staticmethod(lambda t, e, k: where(e <= logistic(t), 1.0, 0.0))
    score = staticmethod(lambda t, y, scale, k: (logistic(t) - y, 0.0))
    second_derivatives = staticmethod(lambda t, y, scale, k: (logistic(t) * (1.0 - logistic(t)), 0.0, 0.0))
    # the part of the loss without the label; -y t is linear in beta
    conditional_risk = staticmethod(lambda t, scale, k: softplus(t))

    def slope_bounds(self) -> tuple[float, float]:
        return 0.0, 0.25

    def score_bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        t = np.sum(x * theta, axis=-1)
        return self.weight(x) * (np.logaddexp(0, t) - y * t)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, u)


def pinball_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """E over eps of rho_tau(sigma eps - t), rho_tau(r) = r (tau - 1{r < 0}), for the error t of a linear predictor."""
    tau, sigma = k[0], k[1]
    u = t / sigma
    return t * (normal_cdf(u) - tau) + sigma * normal_density(u)


class PinballLinear(LinearPredictorProblem):
    """y = x'beta* + N(0, sigma^2); the optimum is beta* with the intercept moved to the tau quantile of the errors."""

    name: Literal["pinball-linear"] = "pinball-linear"
    tau: Annotated[float, Field(ge=1e-6, le=0.999999)] = 0.5
    """the quantile that is estimated"""
    sigma: Positive = 2.0
    """standard deviation of the errors"""

    response_noise = "normal"
    populations = True
    response = staticmethod(lambda t, e, k: t + k[1] * e)
    score = staticmethod(lambda t, y, scale, k: (where(y < t, 1.0 - k[0], -k[0]), 0.0))
    conditional_risk = staticmethod(pinball_risk)

    @property
    def constants(self) -> np.ndarray:
        return np.array([self.tau, self.sigma])

    def score_bounds(self) -> tuple[float, float]:
        return -self.tau, 1 - self.tau

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        r = y - np.sum(x * theta, axis=-1)
        return self.weight(x) * r * (self.tau - (r < 0))

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        a = u / spread
        return np.asarray(spread * (tables_of(self.error_law).over(a) + (1 - self.tau) * a))


def bounded_response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = x'beta* + support V, where P(V < -v) = (1 - v)^4 / 2 for 0 <= v <= 1, and V is symmetric."""
    u = 2.0 * e - 1.0
    size = 1.0 - sqrt(sqrt(maximum(1.0 - maximum(u, -u), 0.0)))
    return t + k[1] * where(u < 0.0, -size, size)


def insensitive_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
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
    populations = True
    response = staticmethod(bounded_response)
    score = staticmethod(lambda t, y, scale, k: (where(y - t > k[0], -1.0, where(t - y > k[0], 1.0, 0.0)), 0.0))
    conditional_risk = staticmethod(insensitive_risk)
    risk_parts = 8
    """A fifth power begins at two places, where no panel ends: risks have relative errors of 1e-9."""

    @property
    def constants(self) -> np.ndarray:
        return np.array([self.width, self.support])

    def own_errors(self) -> ErrorLaw:
        return ErrorLaw(law="bounded", support=self.support)

    def score_bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        r = np.abs(y - np.sum(x * theta, axis=-1))
        return self.weight(x) * np.maximum(0.0, r - self.width)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        over, a, b = tables_of(self.error_law).over, (u + self.width) / spread, (u - self.width) / spread
        return np.asarray(spread * (over(a) + over(b) + b))

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
