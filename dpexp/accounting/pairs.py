"""Neighbours and how records meet the steps, by name; and hockey-stick curves of one sampled Gaussian step.

A curve is eps -> sup over events of p - e^eps r, for any real eps; `mu` is the distance of the two means in noise
standard deviations. Arrays in, arrays of the same shape out, q and mu too if they have one; 1 - e^eps is a lower bound.
Every function finds the event on which p > e^eps r, which is the best one (Neyman and Pearson), and takes the two
probabilities of it. All likelihood ratios here are monotone in x, so the event is a half line. Phi is evaluated in the
log domain where it is multiplied by a number that may be huge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dpexp.accounting.functions import exp, expm1, log, log_ndtr, ndtr

Relation = Literal["replace-one", "add-remove"]  # which data sets are neighbours
Sampling = Literal["fixed-size", "poisson", "cyclic", "shuffled", "reshuffled", "full-batch"]
ONCE_AN_EPOCH: tuple[Sampling, ...] = ("cyclic", "shuffled", "reshuffled")
"""sampling by which a record is in one batch of every epoch"""
Scheme = Literal["add-remove", "replace-one", "fixed-size"]  # pairs of a step on a random batch
Profile = Callable[[np.ndarray], np.ndarray]


def distance(relation: Relation) -> float:
    """How far two neighbours' sums can lie apart, in norms of one record."""
    return 2.0 if relation == "replace-one" else 1.0


def gaussian(log_gamma: np.ndarray, mu: float) -> np.ndarray:
    """N(mu, 1) against N(0, 1)."""
    # log of the ratio is mu x - mu^2 / 2, so the event is x > t = log_gamma / mu + mu / 2, and Phi(mu - t) = Phi(a)
    # under N(mu, 1), Phi(-t) = Phi(a - mu) under N(0, 1) (Balle and Wang, 2018, Theorem 8)
    a = mu / 2 - log_gamma / mu
    return ndtr(a) - exp(log_gamma + log_ndtr(a - mu))


def removing(eps: np.ndarray, q: float, mu: float) -> np.ndarray:
    """(1 - q) N(0, 1) + q N(mu, 1) against N(0, 1): q times the Gaussian curve at (e^eps - 1 + q) / q."""
    # p - e^eps r = q (N(mu, 1) - kappa N(0, 1)) with kappa = (e^eps - 1 + q) / q; for kappa <= 0 it is positive
    # everywhere, and its integral is 1 - e^eps
    inner = log(np.maximum(expm1(eps) / q + 1, 0.0))
    return np.where(np.isfinite(inner), q * gaussian(inner, mu), -expm1(eps))


def adding(eps: np.ndarray, q: float, mu: float) -> np.ndarray:
    """N(0, 1) against (1 - q) N(0, 1) + q N(mu, 1); 0 where e^eps (1 - q) >= 1."""
    # p - e^eps r = q e^eps (kappa N(0, 1) - N(mu, 1)) with kappa = (e^-eps - 1 + q) / q, positive for x < z
    log_kappa = log(np.maximum(expm1(-eps) / q + 1, 0.0))
    z = log_kappa / mu + mu / 2
    return np.asarray(q * exp(eps) * (exp(log_kappa + log_ndtr(z)) - ndtr(z - mu)))


def opposite(eps: np.ndarray, q: float, mu: float) -> np.ndarray:
    """(1 - q) N(0, 1) + q N(mu, 1) against (1 - q) N(0, 1) + q N(-mu, 1): Poisson sampling, one record replaced."""
    # of means 37 and more apart no law is written down: there only the total variation at eps = 0 is needed
    gap, a = expm1(eps), np.maximum(q * exp(np.array(-mu * mu / 2)), 1e-300)
    # With y = e^(mu x), over the density N(0, 1): p is 1 - q + a y and r is 1 - q + a / y. Times y, p - e^eps r is
    # a y^2 - (1 - q) gap y - e^eps a, positive above the root at y = e^(mu z). The two roots have the product -e^eps,
    # so for gap < 0 the positive one is e^eps over the other, and nothing cancels.
    middle = (1 - q) * np.abs(gap)
    root = np.hypot(middle, 2 * a * exp(eps / 2))
    log_y = np.where(gap >= 0, log(middle + root) - log(2 * a), log(2 * a) + eps - log(middle + root))
    z = log_y / mu
    return q * (ndtr(mu - z) - exp(eps + log_ndtr(-mu - z))) - (1 - q) * gap * ndtr(-z)


def symmetrised(eps: np.ndarray, q: float, mu: float) -> np.ndarray:
    """The pair with trade-off curve C_q(G(mu)) (Dong, Roth and Su): batches of fixed size, one record replaced."""
    # C_q(f) is the convex hull of min(f_q, f_q^-1), f_q the trade-off curve of `removing` and f_q^-1 that of `adding`;
    # its delta(eps) is the larger of the two curves, `removing` for eps >= 0. Below 0 it is 1 - e^eps + e^eps
    # delta(-eps), the exchanged pair being the same.
    up = removing(np.abs(eps), q, mu)
    return np.where(eps >= 0, up, 1 - exp(np.minimum(eps, 0.0)) * (1 - up))
