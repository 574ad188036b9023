"""Mallows-weighted logistic regression (`ldp-sgd`, 5.2)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dpexp.engine.lanes.elementwise import Value, logistic, softplus, where
from dpexp.problems.linear_predictor import LinearPredictorProblem


def response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = 1 with probability 1 / (1 + exp(-x'beta*)), else 0."""
    return where(e <= logistic(t), 1.0, 0.0)


def logistic_score(t: Value, y: Value, scale: Value, k: np.ndarray) -> tuple[Value, Value]:
    """Derivatives of log(1 + exp(t)) - y t."""
    return logistic(t) - y, 0.0


def conditional_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """The part log(1 + exp(t)) of the loss; the part -y t is linear in beta."""
    return softplus(t)


class MallowsLogistic(LinearPredictorProblem):
    """y ~ Bernoulli(1 / (1 + exp(-x'beta*))); theta = beta, and the optimum is beta* where the model is right."""

    name: Literal["mallows-logistic"] = "mallows-logistic"

    response_noise = "uniform"
    response = staticmethod(response)
    score = staticmethod(logistic_score)
    conditional_risk = staticmethod(conditional_risk)
    populations = True
    labels = True

    def score_bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        t = np.sum(x * theta, axis=-1)
        return self.weight(x) * (np.logaddexp(0, t) - y * t)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, u)
