"""Mallows-weighted quantile regression: the pinball loss, named as future work in `ldp-sgd`."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import Value, normal_cdf, normal_density, where
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import cubic_moment, moment_matrix, moment_tensor
from dpexp.problems.population import Errors
from dpexp.problems.population_means import errors_in, tables_of


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

    def score_kinks(self, scale: float) -> tuple[float, ...]:
        return (0.0,)

    def own_errors(self) -> Errors:
        return Errors(law="normal", sd=self.sigma)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        a = u / spread
        return np.asarray(spread * (tables_of(errors_in(self)).over(a) + (1 - self.tau) * a))

    @property
    def risk_length(self) -> float:
        return self.sigma  # errors of the response make the risk smooth

    @property
    def constants(self) -> np.ndarray:
        return np.array([self.tau, self.sigma])

    @property
    def _quantile(self) -> float:
        from scipy.special import ndtri

        return float(ndtri(self.tau))

    def score_bounds(self) -> tuple[float, float]:
        return -self.tau, 1 - self.tau

    def optimum(self) -> np.ndarray:
        if self.population is not None:
            return self.population_optimum().theta
        # errors are independent of x, so that every quantile is as far from the mean
        theta = self.true_coefficients
        theta[0] += self.sigma * self._quantile
        return theta

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        r = y - np.sum(x * theta, axis=-1)
        return self.weight(x) * r * (self.tau - (r < 0))

    def _second_order(self) -> tuple[np.ndarray, np.ndarray]:
        density = float(normal_density(self._quantile)) / self.sigma
        spread = self.tau * (1 - self.tau)
        return density * moment_matrix(self.d, self.sigma_z), spread * moment_matrix(self.d, self.sigma_z, power=2)

    def third_derivative(self) -> np.ndarray | None:
        if self.population is not None:
            return None
        slope = -self._quantile * float(normal_density(self._quantile)) / self.sigma**2
        return slope * moment_tensor(self.d, self.sigma_z)

    def hessian_lipschitz(self) -> float | None:
        """The normal density changes fastest one standard deviation from its mean."""
        if self.population is not None:
            return None
        return float(normal_density(1.0)) / self.sigma**2 * cubic_moment(self.d, self.sigma_z)
