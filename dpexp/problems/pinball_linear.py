"""Mallows-weighted quantile regression: the pinball loss, named as future work in `ldp-sgd`."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import Value, normal_cdf, normal_density, where
from dpexp.problems.laws import tables_of
from dpexp.problems.linear_predictor import LinearPredictorProblem


def response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = x'beta* + sigma eps."""
    return t + k[1] * e


def score(t: Value, y: Value, scale: Value, k: np.ndarray) -> tuple[Value, Value]:
    """Derivative of rho_tau(y - t), rho_tau(r) = r (tau - 1{r < 0})."""
    return where(y < t, 1.0 - k[0], -k[0]), 0.0


def conditional_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """E over eps of rho_tau(sigma eps - t), for the error t of the linear predictor."""
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
    response = staticmethod(response)
    score = staticmethod(score)
    conditional_risk = staticmethod(conditional_risk)
    populations = True

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
        return np.asarray(spread * (tables_of(self.law.errors or self.own_errors()).over(a) + (1 - self.tau) * a))
