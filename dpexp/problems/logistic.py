"""Mallows-weighted logistic regression (`ldp-sgd`, 5.2)."""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.lanes.elementwise import Value, logistic, softplus, where
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import cubic_moment, moment_row, moment_tensor
from dpexp.problems.regression_models import LogisticRegression, variance


def response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = 1 with probability 1 / (1 + exp(-x'beta*)), else 0."""
    return where(e <= logistic(t), 1.0, 0.0)


def conditional_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """The part log(1 + exp(t)) of the loss; the part -y t is linear in beta."""
    return softplus(t)


class MallowsLogistic(LogisticRegression, LinearPredictorProblem):
    """`LogisticRegression` as a problem, whose model is right."""

    response_noise = "uniform"
    response = staticmethod(response)
    conditional_risk = staticmethod(conditional_risk)
    populations = True
    labels = True

    def optimum(self) -> np.ndarray:
        return super().optimum() if self.population is None else self.population_optimum().theta

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.asarray(np.logaddexp(0.0, u) - spread * u)

    def risk_origin(self) -> np.ndarray:
        return np.zeros(self.d + 1)

    def risk_slope(self) -> np.ndarray:
        """-E[w y x], whose part along z lies along beta*."""
        return -moment_row(self.d, self.sigma_z, logistic(self.predictors))

    def third_derivative(self) -> np.ndarray | None:
        if self.population is not None:
            return None
        t = self.predictors
        return moment_tensor(self.d, self.sigma_z, variance(t) * (1 - 2 * logistic(t)))

    def hessian_lipschitz(self) -> float | None:
        """The second derivative of the logistic function is at most 1 / (6 sqrt 3)."""
        if self.population is not None:
            return None
        return cubic_moment(self.d, self.sigma_z) / (6 * math.sqrt(3))
