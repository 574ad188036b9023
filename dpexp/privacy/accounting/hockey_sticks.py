"""Hockey-stick curves of one sampled Gaussian step: eps -> sup over events of p - e^eps r, for any real eps.

`mu` is the distance of the two means in noise standard deviations. Arrays in, arrays of the same shape out; 1 - e^eps
is a lower bound of every curve, attained where the likelihood ratio never falls below e^eps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Curve = Callable[[np.ndarray], np.ndarray]


def gaussian(log_gamma: np.ndarray, mu: float) -> np.ndarray:
    """N(mu, 1) against N(0, 1)."""
    from scipy.special import log_ndtr, ndtr

    a = mu / 2 - log_gamma / mu
    return ndtr(a) - np.exp(log_gamma + log_ndtr(a - mu))


def removing(eps: np.ndarray, q: float, mu: float) -> np.ndarray:
    """(1 - q) N(0, 1) + q N(mu, 1) against N(0, 1): q times the Gaussian curve at (e^eps - 1 + q) / q."""
    inner = _log_positive(np.expm1(eps) / q + 1)
    with np.errstate(invalid="ignore"):
        above = q * gaussian(inner, mu)
    return np.where(np.isfinite(inner), above, -np.expm1(eps))


def adding(eps: np.ndarray, q: float, mu: float) -> np.ndarray:
    """N(0, 1) against (1 - q) N(0, 1) + q N(mu, 1); 0 where e^eps (1 - q) >= 1."""
    from scipy.special import log_ndtr, ndtr

    log_kappa = _log_positive(np.expm1(-eps) / q + 1)
    z = log_kappa / mu + mu / 2
    with np.errstate(invalid="ignore"):
        below = q * np.exp(eps) * (np.exp(log_kappa + log_ndtr(z)) - ndtr(z - mu))
    return np.where(np.isfinite(log_kappa), below, 0.0)


def opposite(eps: np.ndarray, q: float, mu: float) -> np.ndarray:
    """(1 - q) N(0, 1) + q N(mu, 1) against (1 - q) N(0, 1) + q N(-mu, 1): Poisson sampling, one record replaced."""
    from scipy.special import log_ndtr, ndtr

    gap, a = np.expm1(eps), q * np.exp(-mu * mu / 2)
    # the threshold y = e^(mu z) solves a y^2 - (1 - q) gap y - e^eps a = 0; the other root's reciprocal for gap < 0
    middle = (1 - q) * np.abs(gap)
    root = np.hypot(middle, 2 * a * np.exp(eps / 2))
    log_y = np.where(
        gap >= 0, np.log(middle + root) - np.log(2 * a), np.log(2 * a) + eps - np.log(middle + root)
    )  # fmt: skip
    z = log_y / mu
    return -(1 - q) * gap * ndtr(-z) + q * (ndtr(mu - z) - np.exp(eps + log_ndtr(-mu - z)))


def symmetrised(eps: np.ndarray, q: float, mu: float) -> np.ndarray:
    """The pair with trade-off curve C_q(G(mu)) (Dong, Roth and Su): batches of fixed size, one record replaced."""
    up = removing(np.abs(eps), q, mu)
    return np.where(eps >= 0, up, 1 - np.exp(np.minimum(eps, 0.0)) * (1 - up))


def _log_positive(x: np.ndarray) -> np.ndarray:
    """log x, and -inf where x <= 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, np.log(np.maximum(x, 1e-320)), -np.inf)
