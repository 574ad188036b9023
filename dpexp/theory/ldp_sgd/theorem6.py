"""Theorem 6 of `ldp-sgd`: the loss gap of LDP-ASGD without strong convexity."""

from __future__ import annotations

import numpy as np

from dpexp.theory.ldp_sgd.privacy import printed_noise, second_moment
from dpexp.theory.ldp_sgd.psi import power_sum, psi


def theorem6_visible(
    steps: np.ndarray, eta: float, alpha: float, gradient_bound: float, p: int, min_mu: float, delta0: float
) -> np.ndarray:
    """The two printed terms of the bound on E F(theta_bar_n) - F* at `steps`; a third is cut off in the text.

    {delta0 + sigma~^2 eta^2 psi_{1-2 alpha}(n)} / (2 eta n^{1-alpha}) + sigma~^2 eta psi_{1-alpha}(n) / (2 n). The psi
    should be sums, which are larger, so that this does not follow as printed; the factor 64 in sigma~^2 covers it.
    """
    n = np.asarray(steps, dtype=np.float64)
    s2 = printed_noise(gradient_bound, p, min_mu)
    first = (delta0 + s2 * eta**2 * psi(1 - 2 * alpha, n)) / (2 * eta * n ** (1 - alpha))
    return first + s2 * eta * psi(1 - alpha, n) / (2 * n)


def theorem6_completed(
    steps: np.ndarray,
    eta: float,
    alpha: float,
    gradient_bound: float,
    p: int,
    sensitivity: float,
    mean_inverse_square: float,
    delta0: float,
) -> np.ndarray:
    """Bound on E F(theta_bar_n) - F*, theta_bar_n the average of theta_1..theta_n, any alpha in [0, 1], convex F.

    ((n+1)^alpha / (2 eta n)) [delta0 + eta^2 G2 A_{2 alpha}(n)] + (eta / (2 n)) G2 sum_{k=2}^{n+1} k^-alpha, with
    A_s(n) = sum_{k <= n} k^-s.
    """
    second = second_moment(gradient_bound, p, sensitivity, mean_inverse_square)
    n = np.asarray(steps, dtype=np.int64)
    start = delta0 + eta**2 * second * power_sum(2 * alpha, n)
    # the last sum begins at k = 2: it is A_alpha(n + 1) - 1
    return (n + 1.0) ** alpha / (2 * eta * n) * start + eta / (2 * n) * second * (power_sum(alpha, n + 1) - 1)
