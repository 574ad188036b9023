"""Theorems 5 and 6 of `ldp-sgd`: loss gaps without strong convexity, of the iterate and the average; replacements."""

from __future__ import annotations

import math

import numpy as np

from dpexp.theory.ldp_sgd.terms import power_sum, printed_noise, psi, second_moment


def theorem5_printed(
    steps: np.ndarray, eta: float, alpha: float, M: float, gradient_bound: float, p: int, min_mu: float, delta0: float
) -> np.ndarray:
    """Bound on E F(theta_n) - F* at `steps`, as printed, for alpha in [1/3, 1); its three cases in alpha.

    The third case prints (delta0 + sigma~^2 eta^2) without the root that the others have, and is infinite at 1/2.
    Infinite at n = 1, where psi is 0. Raises ValueError for other alpha.
    """
    if not 1 / 3 <= alpha < 1:
        raise ValueError(f"Theorem 5 speaks of alpha in [1/3, 1), not {alpha}")
    n = np.asarray(steps, dtype=np.float64)
    s2 = printed_noise(gradient_bound, p, min_mu)
    factor = 2 * (1 + 4 * math.sqrt(M * s2) * eta**1.5) / eta
    # the cases beyond 2/3 and from 1/2 on differ in the psi below the line
    with np.errstate(divide="ignore"):
        if alpha > 1 / 2:
            root = np.sqrt(delta0 + s2 * eta**2 * psi(1 - 2 * alpha, n))
            return factor * root / psi(1 - alpha if alpha > 2 / 3 + 1e-12 else alpha / 2, n)
        spread = math.sqrt(1 - 2 * alpha)
        if spread == 0:
            return np.full(n.shape, math.inf)
        return factor * (delta0 + s2 * eta**2) / (spread * psi(1.5 * alpha - 0.5, n))


def theorem5_rooted(
    steps: np.ndarray, eta: float, alpha: float, M: float, gradient_bound: float, p: int, min_mu: float, delta0: float
) -> np.ndarray:
    """The printed bound with the root that its third case lacks, and the second case at alpha = 1/2."""
    # at 1/2 the second case, whose psi_{1-2 alpha} is then log n
    if abs(alpha - 1 / 2) < 1e-12:
        alpha = 1 / 2 + 1e-15
    bound = theorem5_printed(steps, eta, alpha, M, gradient_bound, p, min_mu, delta0)
    s2 = printed_noise(gradient_bound, p, min_mu)
    return bound if alpha > 1 / 2 else bound / math.sqrt(delta0 + s2 * eta**2)


def theorem5_last_iterate(
    steps: np.ndarray,
    eta: float,
    alpha: float,
    gradient_bound: float,
    p: int,
    sensitivity: float,
    mean_inverse_square: float,
    delta0: float,
) -> np.ndarray:
    """Bound on E F(theta_n) - F* for convex F with gradients bounded by C0, any alpha in [0, 1], projection allowed.

    With T = n + 1: (1 / eta_T) {delta0 / (2 T) + (G2 / 2) [eta_T^2 + sum_{t < T} eta_t^2 / (T - t)]}, which is
    (1 / 2T) [delta0 + sum eta_t^2 G2] + (1/2) sum_k 1 / (k (k + 1)) sum_{t=T-k}^T eta_t^2 G2, the telescoping of tail
    averages (Shamir and Zhang, 2013), after exchanging the sums. Of order n^-min(alpha, 1-alpha) log n: faster than
    the printed rates, and smoothness is not needed.
    """
    # eta_t^2 has 1 / (2 T) of the first sum and (1 / (T - t) - 1 / T) / 2 of the second, which telescopes
    second = second_moment(gradient_bound, p, sensitivity, mean_inverse_square)
    steps = np.asarray(steps, dtype=np.int64)
    later = steps + 1.0
    step = eta * later**-alpha
    tails = eta**2 * np.array([_tail_sum(int(n), 2 * alpha) for n in steps])
    return (delta0 / (2 * later) + second / 2 * (step**2 + tails)) / step


def _tail_sum(n: int, exponent: float) -> float:
    """sum_{t=1}^{n} t^-exponent / (n + 1 - t)."""
    total = 0.0
    for first in range(1, n + 1, 1 << 20):
        t = np.arange(first, min(first + (1 << 20), n + 1), dtype=np.float64)
        total += float(np.sum(t**-exponent / (n + 1 - t)))
    return total


def theorem6_visible(
    steps: np.ndarray, eta: float, alpha: float, gradient_bound: float, p: int, min_mu: float, delta0: float
) -> np.ndarray:
    """The two printed terms of the bound on E F(theta_bar_n) - F* at `steps`; a third is cut off in our text of it.

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
