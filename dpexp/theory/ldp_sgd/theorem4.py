"""Theorem 4 of `ldp-sgd`: the mean squared error of LDP-ASGD under strong convexity.

The printed bound lacks factors 1 / m, treats a sum of roots as a root of sums, never defines C_{3,0} and C_{4,0}, and
its summation B is astronomical for alpha < 1/2; `theorem4_completed` is a bound of the same kind that follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dpexp.theory.ldp_sgd.terms import fourth_moment, printed_noise, psi, second_moment

MOST = 2_000_000
"""terms of B that are summed; that the others vanish is checked"""


def log10_summation_b(steps: np.ndarray, eta: float, alpha: float, m: float, factor: float = 1.0) -> np.ndarray:
    """log10 of B = sum_{k <= n} exp{-m eta k^{1-alpha} / 4 + factor psi_{1-2 alpha}(k) + 4 eta^3 psi_{1-3 alpha}(k)}.

    The printed factor is 1. Raises ValueError where terms beyond the first `MOST` would count.
    """
    steps = np.asarray(steps, dtype=np.int64)
    # the first part of the exponent falls without bound, so that late terms are nothing
    k = np.arange(1, min(int(steps.max()), MOST) + 1, dtype=np.float64)
    exponent = -m * eta * k ** (1 - alpha) / 4 + factor * psi(1 - 2 * alpha, k) + 4 * eta**3 * psi(1 - 3 * alpha, k)
    if steps.max() > MOST and not exponent[-1] < min(exponent[-2], exponent.max() - 40):
        raise ValueError(f"B has more than {MOST:,} terms that count")
    return np.logaddexp.accumulate(exponent)[np.minimum(steps, MOST) - 1] / math.log(10)


def theorem4_printed_log10(
    steps: np.ndarray,
    eta: float,
    alpha: float,
    m: float,
    M: float,
    gradient_bound: float,
    p: int,
    min_mu: float,
    delta0: float,
    hessian_lipschitz: float,
    public_trace: float,
    factor: float = 1.0,
    third: float = 0.0,
    fourth: float = 0.0,
) -> np.ndarray:
    """log10 of the printed bound on E|theta_bar_n - theta*|^2 with eta_1 = eta.

    `public_trace` = tr(H^-1 S H^-1) without privacy noise, as S is printed. C_{3,0} = `third` and C_{4,0} = `fourth`
    are in an appendix that we do not have; as they are non-negative, 0 gives a lower value of the printed bound.
    `factor` is that of B. The start is deterministic: E|theta_0 - theta*|^4 = delta0^2.
    """
    finite = theorem4_without_b(
        steps, eta, alpha, m, M, gradient_bound, p, min_mu, delta0, hessian_lipschitz, public_trace
    )
    n = np.asarray(steps, dtype=np.float64)
    s2 = printed_noise(gradient_bound, p, min_mu)
    undefined = third * psi(1 - 2 * alpha, n) + 2 * fourth * eta * psi(1 - 3 * alpha, n)
    # terms with C_{3,0} and C_{4,0}, then those that B multiplies
    finite = finite + hessian_lipschitz * eta**2 / (m**2 * n**2) * undefined
    with_b = (4 * alpha**2 / eta**2 + 4 * M**2) / (m * n**2) * (delta0 + eta**2 * s2)
    moments = delta0**2 + third * eta**3 * psi(1 - 3 * alpha, n) + fourth * eta**4 * psi(1 - 4 * alpha, n)
    with_b = with_b + 4 * M**2 * eta * s2 / (m**2 * n**2) * moments
    b = log10_summation_b(steps, eta, alpha, m, factor)
    return np.logaddexp(np.log(finite), np.log(with_b) + b * math.log(10)) / math.log(10)


def theorem4_squared_log10(
    steps: np.ndarray,
    eta: float,
    alpha: float,
    m: float,
    M: float,
    gradient_bound: float,
    p: int,
    min_mu: float,
    delta0: float,
    hessian_lipschitz: float,
    public_trace: float,
    sized: bool = False,
) -> np.ndarray:
    """log10 of the bound with eta^2 before psi_{1-2 alpha} in B: a reading, after Moulines and Bach (2011), Theorem 1.

    There the sum of the squared steps is in the exponent, which eta^2 psi_{1-2 alpha} is and psi alone is not. With
    `sized` C_{3,0} and C_{4,0} are the powers 3 and 4 of sigma~_mu, a moment of that order; else they are 0.
    """
    sigma = printed_noise(gradient_bound, p, min_mu) ** 0.5 if sized else 0.0
    return theorem4_printed_log10(
        steps, eta, alpha, m, M, gradient_bound, p, min_mu, delta0, hessian_lipschitz, public_trace, eta**2, sigma**3,
        sigma**4,
    )  # fmt: skip


def theorem4_without_b(
    steps: np.ndarray,
    eta: float,
    alpha: float,
    m: float,
    M: float,
    gradient_bound: float,
    p: int,
    min_mu: float,
    delta0: float,
    hessian_lipschitz: float,
    public_trace: float,
) -> np.ndarray:
    """The printed terms of Theorem 4 that contain neither B nor an undefined constant."""
    n = np.asarray(steps, dtype=np.float64)
    s2 = printed_noise(gradient_bound, p, min_mu)
    start = 1 / (m * n**2 * eta**2) + 1 / (m * n ** (2 * (1 - alpha)) * eta**2) + 4 * M**2 / (m * n**2)
    return (
        public_trace / n
        + 4 * alpha**2 * s2 / (m**2 * n**2 * eta) * psi(alpha - 1, n)
        + s2 / (m**2 * n ** (2 - alpha) * eta)
        + start * delta0
        + s2 / (m * n ** (2 * (1 - alpha))) * psi(1 - 2 * alpha, n)
        + 4 * M**2 * eta * s2 / (m**2 * n**2) * psi(1 - alpha, n)
        + s2 / (m * n)
        + hessian_lipschitz / (4 * m * n**2) * delta0**2
    )


def theorem4_completed(
    steps: np.ndarray,
    eta: float,
    alpha: float,
    m: float,
    gradient_bound: float,
    p: int,
    sensitivity: float,
    mean_inverse_square: float,
    delta0: float,
    hessian_lipschitz: float,
    private_trace: float,
) -> np.ndarray:
    """Bound on E|theta_bar_n - theta*|^2, theta_bar_n the average of theta_1..theta_n, at `steps`; O(n).

    H (theta_k - theta*) = (theta_k - theta_{k+1}) / eta_{k+1} - noise_k - remainder_k is summed over k = 1..n. With
    Minkowski's inequality, the root of the bound is the sum of three roots, one for each part:

    (a) noise: sqrt(tr(H^-1 S_mu H^-1) / n); `private_trace` includes what is added for privacy.
    (b) differences, summed by parts:
        {sqrt d_1 / eta_2 + sum_{k=2}^n sqrt d_k (1 / eta_{k+1} - 1 / eta_k) + sqrt d_{n+1} / eta_{n+1}} / (m n).
    (c) remainders, at most C1 / 2 times squared distances: C1 / (2 m n) sum_{k <= n} sqrt q_k. This is of order
        n^-alpha, the bias that the printed theorem misses.
    (d) d_k >= E|theta_k - theta*|^2 is that of Theorem 3's recursion, and q_k the same for fourth moments.

    Source: after Moulines and Bach (2011), Theorem 3.
    """
    second = second_moment(gradient_bound, p, sensitivity, mean_inverse_square)
    fourth = fourth_moment(gradient_bound, p, sensitivity**2 * mean_inverse_square)
    steps = np.asarray(steps, dtype=np.int64)
    by_parts, remainder = np.empty(len(steps)), np.empty(len(steps))
    _theorem4_kernel()(steps, eta, alpha, m, second, fourth, delta0, by_parts, remainder)
    # (a), and what (b) and (c) were summed to
    root = np.sqrt(private_trace / steps) + (by_parts + hessian_lipschitz / 2 * remainder) / (m * steps)
    return root**2


@cache
def _theorem4_kernel() -> Callable[..., Any]:
    """The sums of (b) and (c) of `theorem4_completed` at its steps, from the moments of (d)."""
    from dpexp.engine.compiled import compiled

    @compiled(cached=True)
    def recursion(steps, eta, alpha, m, second, fourth, delta0, by_parts, remainder):  # type: ignore[no-untyped-def]
        d, q, parts, roots = delta0, delta0 * delta0, 0.0, 0.0
        cursor, step = 0, eta
        for k in range(1, steps[-1] + 1):
            # (d); q needs the d of the step before
            q = max(0.0, 1 - 4 * m * step) * q + 8 * step**2 * second * d + 3 * step**4 * fourth
            d = max(0.0, 1 - 2 * m * step) * d + step**2 * second
            following = eta * float(k + 1) ** -alpha
            # (b), for theta_k, and (c)
            parts += np.sqrt(d) * (1 / following - (0.0 if k == 1 else 1 / step))
            roots += np.sqrt(q)
            if k == steps[cursor]:
                # (b), its last term: d_{n+1}
                later = max(0.0, 1 - 2 * m * following) * d + following**2 * second
                by_parts[cursor] = parts + np.sqrt(later) / following
                remainder[cursor] = roots
                cursor += 1
            step = following

    return recursion
