"""Huber- and Mallows-weighted linear regression, with the noise scale estimated jointly or known (`ldp-sgd`, 5.1)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from scipy.special import ndtr

from dpexp.engine.elementwise import maximum, minimum
from dpexp.parameters import Positive
from dpexp.problems.linear_predictor import LinearPredictorProblem


def response(t, e, k):  # type: ignore[no-untyped-def]
    """y = x'beta* + sigma * eps."""
    return t + k[2] * e


def score(t, y, scale, k):  # type: ignore[no-untyped-def]
    """Derivatives of scale * rho_c(u) + kappa * scale / 2 with u = (y - t) / scale."""
    c, kappa = k[0], k[1]
    psi = minimum(maximum((y - t) / scale, -c), c)
    return -psi, 0.5 * (kappa - psi * psi)


def huber_kappa(c: float) -> float:
    """kappa_c = E psi_c(Z)^2, which makes the scale equation consistent under normal errors."""
    phi = math.exp(-c * c / 2) / math.sqrt(2 * math.pi)
    return float((2 * ndtr(c) - 1) - 2 * c * phi + 2 * c * c * ndtr(-c))


class HuberLinear(LinearPredictorProblem):
    """y = x'beta* + N(0, sigma^2); theta = (beta, scale), or beta alone when the scale is known."""

    name: Literal["huber-linear"] = "huber-linear"
    sigma: Positive = 2.0
    """standard deviation of the errors"""
    c: Positive = 1.345
    """tuning constant of the Huber loss"""
    scale: Literal["joint", "known"] = "joint"
    """whether the scale is estimated with the coefficients, or known to be sigma"""
    sigma_min: Positive = 0.1
    """lower bound to which the scale is projected after every step"""
    start_sigma: Positive = 1.0
    """starting value of the scale"""

    response_noise = "normal"
    response = staticmethod(response)
    score = staticmethod(score)

    @property
    def has_scale(self) -> bool:
        return self.scale == "joint"

    @property
    def constants(self) -> np.ndarray:
        return np.array([self.c, huber_kappa(self.c), self.sigma])

    @property
    def fixed_scale(self) -> float:
        return self.sigma

    @property
    def scale_min(self) -> float:
        return self.sigma_min

    def start(self) -> np.ndarray:
        beta = np.full(self.d + 1, self.start_beta)
        return np.append(beta, self.start_sigma) if self.has_scale else beta

    def optimum(self) -> np.ndarray:
        return np.append(self.true_coefficients, self.sigma) if self.has_scale else self.true_coefficients

    def score_bounds(self) -> tuple[float, float]:
        return -self.c, self.c
