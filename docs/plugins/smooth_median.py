"""Median regression with a smooth loss: rho(r) = E |r + h Z| for a standard normal Z."""

from typing import Literal

import numpy as np

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import normal_cdf, normal_density
from dpexp.plugins import Plugin
from dpexp.problems.linear_predictor import LinearPredictorProblem


def response(t, e, k):
    """y = x'beta* + sigma eps."""
    return t + k[0] * e


def score(t, y, scale, k):
    """rho'(r) = P(|Z| < r / h) with the sign of r = y - t, so the derivative in t is 1 - 2 Phi((y - t) / h)."""
    return 1.0 - 2.0 * normal_cdf((y - t) / k[1]), 0.0


class SmoothMedian(LinearPredictorProblem):
    """y = x'beta* + N(0, sigma^2)."""

    name: Literal["smooth-median"] = "smooth-median"
    sigma: Positive = 2.0
    """standard deviation of the errors"""
    h: Positive = 1.0
    """width over which the loss is smooth"""

    response_noise = "normal"
    response = staticmethod(response)
    score = staticmethod(score)

    @property
    def constants(self):
        return np.array([self.sigma, self.h])

    def score_bounds(self):
        return -1.0, 1.0

    def loss(self, theta, x, y):
        u = (y - np.sum(x * theta, axis=-1)) / self.h
        return self.weight(x) * self.h * (u * (2 * normal_cdf(u) - 1) + 2 * normal_density(u))


PLUGIN = Plugin(problems={"smooth-median": SmoothMedian})
