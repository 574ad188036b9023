"""Theorem 3 of `ldp-sgd`: the mean squared error of LDP-SGD under strong convexity."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dpexp.theory.ldp_sgd.terms import printed_noise, psi, second_moment


def theorem3_printed(
    steps: np.ndarray, eta: float, alpha: float, m: float, gradient_bound: float, p: int, min_mu: float, delta0: float
) -> np.ndarray:
    """Bound on E|theta_n - theta*|^2 at every n of `steps`, as printed; `delta0` = E|theta_0 - theta*|^2.

    C0^2 {eta / (m n^alpha) + eta^2 psi_{1-2 alpha}(n) exp(-m eta n^{1-alpha} / 2)} (1 + 64 d / min mu^2)
    + exp{-2 m eta psi_{1-alpha}(n)} delta0, for alpha in [0, 1).
    """
    n = np.asarray(steps, dtype=np.float64)
    s2 = printed_noise(gradient_bound, p, min_mu)
    # what noise keeps up, what early noise leaves, and what is left of the start
    stationary = eta / (m * n**alpha)
    transient = eta**2 * psi(1 - 2 * alpha, n) * np.exp(-m * eta * n ** (1 - alpha) / 2)
    return s2 * (stationary + transient) + np.exp(-2 * m * eta * psi(1 - alpha, n)) * delta0


def theorem3_recursion(
    steps: np.ndarray,
    eta: float,
    alpha: float,
    m: float,
    gradient_bound: float,
    p: int,
    sensitivity: float,
    mean_inverse_square: float,
    delta0: float,
) -> np.ndarray:
    """Completed form, without the spare factor 64: d_k = max(0, 1 - 2 m eta_k) d_{k-1} + eta_k^2 G2 at `steps`.

    G2 = C0^2 + p Delta^2 E[1 / mu^2] is the second moment of the noisy gradient. Holds wherever the risk is m-strongly
    convex, for every alpha and any budgets (in the mean over the users' order); O(n).
    """
    second = second_moment(gradient_bound, p, sensitivity, mean_inverse_square)
    steps = np.asarray(steps, dtype=np.int64)
    out = np.empty(len(steps))
    _theorem3_kernel()(steps, eta, alpha, m, second, delta0, out)
    return out


@cache
def _theorem3_kernel() -> Callable[..., Any]:
    from dpexp.engine.compiled import compiled

    @compiled(cached=True)
    def recursion(steps, eta, alpha, m, second, d, out):  # type: ignore[no-untyped-def]
        cursor = 0
        for k in range(1, steps[-1] + 1):
            step = eta * float(k) ** -alpha
            # strong convexity takes 2 m eta_k of the squared distance, and never more than all of it
            d = max(0.0, 1 - 2 * m * step) * d + step * step * second
            if k == steps[cursor]:
                out[cursor] = d
                cursor += 1

    return recursion
