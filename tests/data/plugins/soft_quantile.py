"""A smooth quantile loss for `dpexp fit --model soft-quantile`: rho(r) = tau r + h log(1 + exp(-r / h)), r = y - t."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import logistic, softplus
from dpexp.plugins import Plugin
from dpexp.problems.linear_predictor import LinearPredictorProblem


def response(t, e, k):
    """The law that is guessed: normal errors."""
    return t + k[2] * e


def score(t, y, scale, k):
    return logistic((t - y) / k[1]) - k[0], 0.0


def second_derivatives(t, y, scale, k):
    p = logistic((t - y) / k[1])
    return p * (1.0 - p) / k[1], 0.0, 0.0


class SoftQuantile(LinearPredictorProblem):
    """tau and h are in units of the stated errors: `error_scale`, or a quarter of the target's range."""

    name: Literal["soft-quantile"] = "soft-quantile"
    tau: Annotated[float, Field(ge=0.05, le=0.95)] = 0.75
    h: Positive = 0.3
    sigma: Positive = 1.0

    response_noise = "normal"
    response = staticmethod(response)
    score = staticmethod(score)
    second_derivatives = staticmethod(second_derivatives)

    @property
    def constants(self):
        return np.array([self.tau, self.h, self.sigma])

    def score_bounds(self):
        return -self.tau, 1.0 - self.tau

    def slope_bounds(self):
        return 0.0, 0.25 / self.h

    def loss(self, theta, x, y):
        r = y - np.sum(x * theta, axis=-1)
        return self.weight(x) * (self.tau * r + self.h * softplus(-r / self.h))


PLUGIN = Plugin(problems={"soft-quantile": SoftQuantile})
