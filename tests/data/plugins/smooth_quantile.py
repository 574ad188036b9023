"""Quantile regression with a smooth loss: rho(r) = E rho_tau(r + h Z) for a standard normal Z."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy.special import ndtri

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import normal_cdf, normal_density
from dpexp.plugins import Plugin
from dpexp.problems.linear_predictor import LinearPredictorProblem


def response(t, e, k):
    """y = x'beta* + sigma eps."""
    return t + k[1] * e


def score(t, y, scale, k):
    """The derivative in t at r = y - t: Phi(-r / h) - tau."""
    return normal_cdf((t - y) / k[2]) - k[0], 0.0


def smooth(r, tau, width):
    """E rho_tau(r + width Z) = r (tau - Phi(-r / width)) + width phi(r / width)."""
    return r * (tau - normal_cdf(-r / width)) + width * normal_density(r / width)


def conditional_risk(t, scale, k):
    """The residual is N(-t, sigma^2), and the smoothing adds h^2 to its variance."""
    return smooth(-t, k[0], k[3])


class SmoothQuantile(LinearPredictorProblem):
    """y = x'beta* + N(0, sigma^2). Smoothing by a normal law moves the quantile to that of N(0, sigma^2 + h^2)."""

    name: Literal["smooth-quantile"] = "smooth-quantile"
    tau: Annotated[float, Field(ge=0.01, le=0.99)] = 0.7
    sigma: Positive = 2.0
    h: Positive = 0.5

    response_noise = "normal"
    response = staticmethod(response)
    score = staticmethod(score)
    conditional_risk = staticmethod(conditional_risk)

    @property
    def width(self):
        return float(np.hypot(self.sigma, self.h))

    @property
    def constants(self):
        return np.array([self.tau, self.sigma, self.h, self.width])

    def score_bounds(self):
        return -self.tau, 1.0 - self.tau

    def optimum(self):
        moved = np.zeros(self.d + 1)
        moved[0] = self.width * float(ndtri(self.tau))
        return self.true_coefficients + moved

    def loss(self, theta, x, y):
        return self.weight(x) * smooth(y - np.sum(x * theta, axis=-1), self.tau, self.h)


PLUGIN = Plugin(problems={"smooth-quantile": SmoothQuantile})
