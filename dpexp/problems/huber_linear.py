"""Huber- and Mallows-weighted linear regression, with the noise scale estimated jointly or known (`ldp-sgd`, 5.1)."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import Value, maximum, minimum, normal_square_below, where
from dpexp.problems.laws import tables_of
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.weights import MallowsWeight, NoWeight
from dpexp.theory.ldp_sgd.huber_messages import furthest_messages, normal_moments


def conditional_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """E over eps of scale * rho_c((sigma eps - t) / scale) + kappa scale / 2, for the error t of a linear predictor."""
    # rho_c is half a square less the half squares beyond c and -c
    # the mean square is t^2 + sigma^2, and what lies beyond c scale on either side is taken off in units of sigma
    c, kappa, sigma = k[0], k[1], k[2]
    inverse, reach = 1.0 / sigma, c * scale
    outside = normal_square_below((t - reach) * inverse) + normal_square_below((-t - reach) * inverse)
    # the divisions are of what is the same for all t, so that they are not repeated for each of them
    return (t * t + sigma * sigma * (1.0 - outside)) * (0.5 / scale) + 0.5 * kappa * scale


def huber_score(t: Value, y: Value, scale: Value, k: np.ndarray) -> tuple[Value, Value]:
    """Derivatives of scale * rho_c(u) + kappa * scale / 2 with u = (y - t) / scale."""
    c, kappa = k[0], k[1]
    psi = minimum(maximum((y - t) / scale, -c), c)
    return -psi, 0.5 * (kappa - psi * psi)


def huber_curvature(t: Value, y: Value, scale: Value, k: np.ndarray) -> tuple[Value, Value, Value]:
    """In t twice, in t and the scale, in the scale twice: 1 / s, u / s, u^2 / s where |u| <= c, else 0."""
    # beyond c the loss is linear in (t, s) jointly
    u = (y - t) / scale
    inside = where(u * u <= k[0] * k[0], 1.0, 0.0) / scale
    return inside, inside * u, inside * u * u


class HuberLinear(LinearPredictorProblem):
    """y = x'beta* + N(0, sigma^2); theta = (beta, scale), or beta alone when the scale is known (`ldp-sgd`, 5.1)."""

    name: Literal["huber-linear"] = "huber-linear"
    sigma: Positive = 2.0
    """standard deviation of the errors"""
    c: Annotated[float, Field(ge=1e-3, le=1e3)] = 1.345
    """tuning constant of the Huber loss"""
    scale: Literal["joint", "known"] = "joint"
    """whether the scale is estimated with the coefficients, or known to be sigma"""
    sigma_min: Positive = 0.1
    """lower bound to which the scale is projected after every step"""
    start_sigma: Positive = 1.0
    """starting value of the scale"""

    response_noise = "normal"
    response = staticmethod(lambda t, e, k: t + k[2] * e)
    score = staticmethod(huber_score)
    second_derivatives = staticmethod(huber_curvature)
    conditional_risk = staticmethod(conditional_risk)
    populations = True

    @property
    def has_scale(self) -> bool:
        return self.scale == "joint"

    @property
    def constants(self) -> np.ndarray:
        return np.array([self.c, normal_moments(self.c).kappa, self.sigma])

    @property
    def fixed_scale(self) -> float:
        return self.sigma

    @property
    def scale_min(self) -> float:
        return self.sigma_min

    def start(self) -> np.ndarray:
        beta = np.full(self.d + 1, self.start_beta)
        return np.append(beta, self.start_sigma) if self.has_scale else beta

    def score_bounds(self) -> tuple[float, float]:
        return -self.c, self.c

    def slope_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def gradient_bound(self) -> float:
        if not self.has_scale:
            return super().gradient_bound()
        # the square is convex in psi^2, so that it is largest at an end
        kappa = normal_moments(self.c).kappa
        return max(math.hypot(self.row_weight.reach() * p, (kappa - p * p) / 2) for p in (0.0, self.c))

    def message_radius(self) -> float:
        """sqrt 2 c about the scale's entry (kappa - c^2) / 2, for c < 2.

        With weight w = 2 q the squared distance is at most 4 psi^2 q + (q (kappa - psi^2) - (kappa - c^2) / 2)^2,
        convex in q on [0, 1/2]: at 0 it is below 2 c^2, and at 1/2 it is 2 psi^2 + (c^2 - psi^2)^2 / 4 <= 2 c^2.
        """
        joint = self.has_scale and self.law.cap == 2 and self.c < 2
        return math.sqrt(2) * self.c if joint else super().message_radius()

    def exact_sensitivity(self) -> float:
        """Largest distance of two gradients at one theta: 2 c |x| unless c is large (`furthest_messages`)."""
        if not self.has_scale:
            return super().exact_sensitivity()
        if isinstance(weight := self.row_weight, MallowsWeight):
            return furthest_messages(self.c, cap=weight.cap)
        bounded = isinstance(weight, NoWeight)
        return furthest_messages(self.c, cap=weight.reach() ** 2) if bounded else self.paper_sensitivity()

    def paper_sensitivity(self) -> float:
        """sqrt(8 c^2 + c^4 / 4) (section 5.1), which bounds the blocks apart; 2 sqrt 2 c when the scale is known."""
        if not self.has_scale:
            return self.exact_sensitivity()
        if self.law.cap != 2:
            return math.hypot(2 * self.c * self.row_weight.reach(), self.c**2 / 2)
        return math.sqrt(8 * self.c**2 + self.c**4 / 4)

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        scale = theta[..., -1] if self.has_scale else np.asarray(self.sigma)
        # the half of kappa makes the scale's derivative 0 in the mean under normal errors
        c, kappa = self.constants[:2]
        u = np.abs(y - np.sum(x * theta[..., : self.d + 1], axis=-1)) / scale
        rho = np.where(u <= c, u * u / 2, c * u - c * c / 2)
        return self.weight(x) * scale * (rho + kappa / 2)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """By two look-ups: half the square of a residual, less half the squares beyond c scale."""
        table, a, q = tables_of(self.error_law).integral, u / spread, self.c * scale / spread
        inside = 2 * (table(a + q) - table(a - q)) + q * (2 * a - q)
        return np.asarray(spread**2 * inside / (2 * scale) + normal_moments(self.c).kappa * scale / 2)
