"""Mallows-weighted regression with the Huber, the logistic, the pinball and the epsilon-insensitive loss.

Huber's, with the noise scale estimated jointly or known, is that of `ldp-sgd`, 5.1, and logistic regression that of
5.2; quantile regression is named there as future work. The insensitive loss is flat at its minimum: with width =
support its risk grows like the fifth power of the error, so that the Hessian vanishes at the optimum; with more it is
zero on a whole neighbourhood. Theorems 5 and 6 speak of such risks.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import (
    Value,
    logistic,
    maximum,
    minimum,
    normal_cdf,
    normal_density,
    normal_square_below,
    softplus,
    sqrt,
    where,
)
from dpexp.problems.laws import tables_of
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import cubic_moment
from dpexp.problems.population import ErrorLaw
from dpexp.problems.row_rules import rows_along
from dpexp.problems.weights import MallowsWeight, NoWeight
from dpexp.theory.ldp_sgd.huber_messages import furthest_messages, normal_moments


def huber_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
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
    conditional_risk = staticmethod(huber_risk)
    fields_of_loss: ClassVar[tuple[str, ...]] = ("c", "kappa", "sigma")
    populations = True

    @property
    def has_scale(self) -> bool:
        return self.scale == "joint"

    @property
    def kappa(self) -> float:
        """It makes the scale's derivative 0 in the mean under normal errors."""
        return normal_moments(self.c).kappa

    @property
    def fixed_scale(self) -> float:
        return self.sigma

    @property
    def scale_min(self) -> float:
        return self.sigma_min

    def start(self) -> np.ndarray:
        return np.append(np.full(self.d + 1, self.start_beta), [self.start_sigma] * self.has_scale)

    def score_bounds(self) -> tuple[float, float]:
        return -self.c, self.c

    def slope_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def gradient_bound(self) -> float:
        if not self.has_scale:
            return super().gradient_bound()
        # the square is convex in psi^2, so that it is largest at an end
        ends = (0.0, self.kappa / 2), (self.law.weight.reach() * self.c, (self.kappa - self.c * self.c) / 2)
        return max(math.hypot(*end) for end in ends)

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
        if isinstance(weight := self.law.weight, MallowsWeight | NoWeight):
            return furthest_messages(self.c, cap=weight.cap if isinstance(weight, MallowsWeight) else weight.row**2)
        return self.paper_sensitivity()

    def paper_sensitivity(self) -> float:
        """sqrt(8 c^2 + c^4 / 4) (section 5.1), which bounds the blocks apart; 2 sqrt 2 c when the scale is known."""
        if not self.has_scale:
            return self.exact_sensitivity()
        bound = math.hypot(2 * self.c * self.law.weight.reach(), self.c**2 / 2)
        return math.sqrt(8 * self.c**2 + self.c**4 / 4) if self.law.cap == 2 else bound

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        scale = theta[..., -1] if self.has_scale else np.asarray(self.sigma)
        u = np.abs(y - np.sum(x * theta[..., : self.d + 1], axis=-1)) / scale
        rho = np.where(u <= self.c, u * u / 2, self.c * u - self.c * self.c / 2)
        return self.weight(x) * scale * (rho + self.kappa / 2)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """By two look-ups: half the square of a residual, less half the squares beyond c scale."""
        table, a, q = tables_of(self.error_law).integral, u / spread, self.c * scale / spread
        inside = 2 * (table(a + q) - table(a - q)) + q * (2 * a - q)
        return np.asarray(spread**2 * inside / (2 * scale) + self.kappa * scale / 2)


class MallowsLogistic(LinearPredictorProblem):
    """y ~ Bernoulli(1 / (1 + exp(-x'beta*))); theta = beta, and the optimum is beta* where the model is right."""

    name: Literal["mallows-logistic"] = "mallows-logistic"

    response_noise = "uniform"
    populations = True
    labels = True
    response = staticmethod(lambda t, e, k: where(e <= logistic(t), 1.0, 0.0))
    score = staticmethod(lambda t, y, scale, k: (logistic(t) - y, 0.0))
    second_derivatives = staticmethod(lambda t, y, scale, k: (logistic(t) * (1.0 - logistic(t)), 0.0, 0.0))
    # the part of the loss without the label; -y t is linear in beta
    conditional_risk = staticmethod(lambda t, scale, k: softplus(t))

    def score_bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def slope_bounds(self) -> tuple[float, float]:
        return 0.0, 0.25

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        t = np.sum(x * theta, axis=-1)
        return self.weight(x) * (np.logaddexp(0, t) - y * t)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, u)


def pinball_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """E over eps of rho_tau(sigma eps - t), rho_tau(r) = r (tau - 1{r < 0}), for the error t of a linear predictor."""
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
    populations = True
    response = staticmethod(lambda t, e, k: t + k[1] * e)
    score = staticmethod(lambda t, y, scale, k: (where(y < t, 1.0 - k[0], -k[0]), 0.0))
    conditional_risk = staticmethod(pinball_risk)
    fields_of_loss: ClassVar[tuple[str, ...]] = ("tau", "sigma")

    def score_bounds(self) -> tuple[float, float]:
        return -self.tau, 1 - self.tau

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        r = y - np.sum(x * theta, axis=-1)
        return self.weight(x) * r * (self.tau - (r < 0))

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        a = u / spread
        return np.asarray(spread * (tables_of(self.error_law).over(a) + (1 - self.tau) * a))


def bounded_response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = x'beta* + support V, where P(V < -v) = (1 - v)^4 / 2 for 0 <= v <= 1, and V is symmetric."""
    u = 2.0 * e - 1.0
    size = 1.0 - sqrt(sqrt(maximum(1.0 - maximum(u, -u), 0.0)))
    return t + k[1] * where(u < 0.0, -size, size)


def insensitive_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """E over the error of max(0, |support V - t| - width), for the error t of the linear predictor."""
    # E (V - a)_+ is the integral of (1 - v)^4 / 2 from a on, (1 - a)^5 / 10 for 0 <= a <= 1; for a < 0 -a is added, and
    # a has the other sign
    rest = maximum(1.0 - maximum((t - k[0]) / k[1], (k[0] - t) / k[1]), 0.0)
    other = maximum(1.0 - maximum((t + k[0]) / k[1], (-t - k[0]) / k[1]), 0.0)
    tails = 0.1 * (rest * rest * rest * rest * rest + other * other * other * other * other)
    return maximum(t - k[0], 0.0) + maximum(-t - k[0], 0.0) + k[1] * tails


class InsensitiveLinear(LinearPredictorProblem):
    """y = x'beta* + bounded symmetric errors; theta = beta minimises E w max(0, |y - x'beta| - width)."""

    name: Literal["insensitive-linear"] = "insensitive-linear"
    width: Positive = 1.0
    """residuals up to this cost nothing"""
    support: Positive = 1.0
    """largest absolute error; the risk is flat at beta* where width >= support"""

    response_noise = "uniform"
    populations = True
    response = staticmethod(bounded_response)
    score = staticmethod(lambda t, y, scale, k: (where(y - t > k[0], -1.0, where(t - y > k[0], 1.0, 0.0)), 0.0))
    conditional_risk = staticmethod(insensitive_risk)
    risk_parts = 8  # a fifth power begins at two places, where no panel ends: risks have relative errors of 1e-9
    fields_of_loss: ClassVar[tuple[str, ...]] = ("width", "support")

    def own_errors(self) -> ErrorLaw:
        return ErrorLaw(law="bounded", support=self.support)

    def score_bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        r = np.abs(y - np.sum(x * theta, axis=-1))
        return self.weight(x) * np.maximum(0.0, r - self.width)

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        over, a, b = tables_of(self.error_law).over, (u + self.width) / spread, (u - self.width) / spread
        return np.asarray(spread * (over(a) + over(b) + b))

    def smoothness(self) -> float:
        """At most two densities of the errors, 2 / support each: valid everywhere, since at theta* it may be 0."""
        if self.population is not None:
            return super().smoothness()
        return 4 / self.support * float(np.linalg.eigvalsh(rows_along(self.law).moments(1))[-1])

    def hessian_lipschitz(self) -> float | None:
        """The third derivative of a user's risk at t is f'(t - width) + f'(t + width), f the density of the errors."""
        if self.population is not None:
            return None
        # |f'(x)| = 6 / support^2 (1 - |x| / support)^2. Beyond t = width both have one sign and fall in size, so that
        # the sum is largest at t = width; within, they differ in sign
        overlap = max(0.0, 1 - 2 * self.width / self.support)
        return 6 / self.support**2 * (1 + overlap**2) * cubic_moment(self.d, self.sigma_z)
