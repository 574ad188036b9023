"""Mallows-weighted logistic regression (`ldp-sgd`, 5.2)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpexp.engine.lanes.elementwise import Value, logistic, softplus, where
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import cubic_moment, moment_matrix, moment_row, moment_tensor, rule


def response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = 1 with probability 1 / (1 + exp(-x'beta*)), else 0."""
    return where(e <= logistic(t), 1.0, 0.0)


def score(t: Value, y: Value, scale: Value, k: np.ndarray) -> tuple[Value, Value]:
    """Derivatives of log(1 + exp(t)) - y t."""
    return logistic(t) - y, 0.0


def conditional_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """The part log(1 + exp(t)) of the loss; the part -y t is linear in beta."""
    return softplus(t)


class MallowsLogistic(LinearPredictorProblem):
    """y ~ Bernoulli(1 / (1 + exp(-x'beta*))); theta = beta, and the optimum is beta* since the model is right."""

    name: Literal["mallows-logistic"] = "mallows-logistic"

    response_noise = "uniform"
    response = staticmethod(response)
    score = staticmethod(score)
    conditional_risk = staticmethod(conditional_risk)

    def score_bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def optimum(self) -> np.ndarray:
        return self.true_coefficients

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        t = np.sum(x * theta, axis=-1)
        return self.weight(x) * (np.logaddexp(0, t) - y * t)

    def risk_origin(self) -> np.ndarray:
        return np.zeros(self.d + 1)

    def risk_slope(self) -> np.ndarray:
        """-E[w y x], whose part along z lies along beta*."""
        return -moment_matrix_times_response(self)

    def _second_order(self) -> tuple[np.ndarray, np.ndarray]:
        v = _variance(true_predictor(self))
        return moment_matrix(self.d, self.sigma_z, v), moment_matrix(self.d, self.sigma_z, v, power=2)

    def third_derivative(self) -> np.ndarray:
        t = true_predictor(self)
        return moment_tensor(self.d, self.sigma_z, _variance(t) * (1 - 2 * logistic(t)))

    def hessian_lipschitz(self) -> float:
        """The second derivative of the logistic function is at most 1 / (6 sqrt 3)."""
        return cubic_moment(self.d, self.sigma_z) / (6 * math.sqrt(3))


def true_predictor(problem: LinearPredictorProblem, points: int = 24) -> np.ndarray:
    """x'beta* at the nodes of the rule along (1, ..., 1) / sqrt d, [K]."""
    nodes = rule(problem.d, problem.sigma_z, points).nodes
    return problem.beta * (1 + math.sqrt(problem.d) * problem.sigma_z * nodes)


def moment_matrix_times_response(problem: LinearPredictorProblem) -> np.ndarray:
    """E[w s(x'beta*) x], [d + 1]."""
    return moment_row(problem.d, problem.sigma_z, logistic(true_predictor(problem)))


def _variance(t: np.ndarray) -> np.ndarray:
    return logistic(t) * logistic(-t)
