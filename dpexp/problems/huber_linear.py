"""Huber- and Mallows-weighted linear regression, with the noise scale estimated jointly or known (`ldp-sgd`, 5.1)."""

from __future__ import annotations

import numpy as np

from dpexp.engine.lanes.elementwise import Value, normal_density, normal_square_below
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import cubic_moment, moment_matrix, symmetrised
from dpexp.problems.population import Errors
from dpexp.problems.population_means import errors_in, tables_of
from dpexp.problems.regression_models import HuberRegression, normal_moments


def response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = x'beta* + sigma * eps."""
    return t + k[2] * e


def conditional_risk(t: Value, scale: Value, k: np.ndarray) -> Value:
    """E over eps of scale * rho_c((sigma eps - t) / scale) + kappa scale / 2, for the error t of a linear predictor."""
    # rho_c is half a square less the half squares beyond c and -c
    # the mean square is t^2 + sigma^2, and what lies beyond c scale on either side is taken off in units of sigma
    c, kappa, sigma = k[0], k[1], k[2]
    inverse, reach = 1.0 / sigma, c * scale
    outside = normal_square_below((t - reach) * inverse) + normal_square_below((-t - reach) * inverse)
    # the divisions are of what is the same for all t, so that they are not repeated for each of them
    return (t * t + sigma * sigma * (1.0 - outside)) * (0.5 / scale) + 0.5 * kappa * scale


class HuberLinear(HuberRegression, LinearPredictorProblem):
    """`HuberRegression` as a problem, whose errors are normal."""

    response_noise = "normal"
    response = staticmethod(response)
    conditional_risk = staticmethod(conditional_risk)
    populations = True

    def score_kinks(self, scale: float) -> tuple[float, ...]:
        return -self.c * scale, self.c * scale

    def own_errors(self) -> Errors:
        return Errors(law="normal", sd=self.sigma)

    def optimum(self) -> np.ndarray:
        return super().optimum() if self.population is None else self.population_optimum().theta

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """By two look-ups: half the square of a residual, less half the squares of what lies beyond c scale."""
        moments, a, q = tables_of(errors_in(self)), u / spread, self.c * scale / spread
        inside = 2 * (moments.integral(a + q) - moments.integral(a - q)) + q * (2 * a - q)
        return np.asarray(spread**2 * inside / (2 * scale) + normal_moments(self.c).kappa * scale / 2)

    @property
    def risk_length(self) -> float:
        return self.sigma  # errors of the response make the risk smooth

    def third_derivative(self) -> np.ndarray | None:
        """Only the scale breaks the symmetry of the errors; without it the risk has no third derivative at theta*."""
        tensor = np.zeros((self.p,) * 3)
        if self.population is not None:
            return None
        if not self.has_scale:
            return tensor
        # The second derivative in t is P(|sigma Z| <= c s) / s, and in s it is sigma^2 / s^3 times E[Z^2; |sigma Z| <=
        # c s]. What follows are their derivatives in s, at s = sigma.
        m, density = normal_moments(self.c), float(normal_density(self.c))
        xx = moment_matrix(self.d, self.sigma_z) / self.sigma**2
        in_beta, in_scale = np.zeros((self.p, self.p)), np.eye(self.p)[-1]
        in_beta[:-1, :-1] = (2 * self.c * density - m.inside) * xx
        tensor += symmetrised(in_beta, in_scale)
        tensor[-1, -1, -1] = (2 * self.c**3 * density - 3 * m.square_inside) * xx[0, 0]
        return tensor

    def hessian_lipschitz(self) -> float | None:
        """Known where the scale is: the share of uncensored errors changes by at most this much a unit of x'beta."""
        if self.has_scale or self.population is not None:
            return None
        t = np.linspace(0.0, self.c + 4, 20001)
        change = np.max(np.abs(normal_density(t - self.c) - normal_density(t + self.c))) / self.sigma**2
        return float(change) * cubic_moment(self.d, self.sigma_z)
