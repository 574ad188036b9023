"""LDP-SGD for Huber linear regression in numba: the loop of a notebook, in which all settings share the draws."""

from __future__ import annotations

import numpy as np
from numba import njit

from dpexp.problems.linear_losses import HuberLinear


@njit
def _run(rng, theta, average, alpha, mu, n, beta, constants, sensitivity, sigma_min):  # type: ignore[no-untyped-def]
    c, kappa, sigma = constants
    settings, p = theta.shape
    q = p - 1
    x, omega = np.ones(q), np.empty(p)
    for i in range(1, n + 1):
        for j in range(1, q):
            x[j] = rng.standard_normal()
        y = x @ beta + sigma * rng.standard_normal()
        for j in range(p):
            omega[j] = rng.standard_normal()
        w = min(1.0, 2.0 / (x @ x))
        for s in range(settings):
            psi = min(max((y - theta[s, :q] @ x) / theta[s, q], -c), c)
            eta = 0.2 * i ** -alpha[s]
            noise = eta * sensitivity / mu[s]
            for j in range(q):
                theta[s, j] += eta * w * psi * x[j] - noise * omega[j]
            theta[s, q] = max(theta[s, q] - eta * w * (kappa - psi * psi) / 2 - noise * omega[q], sigma_min)
            for j in range(p):
                average[s, j] += (theta[s, j] - average[s, j]) / i


def simulate(
    problem: HuberLinear, alphas: list[float], mus: list[float], n: int, replicates: int, seed: int
) -> np.ndarray:
    """Mean squared distance of the iterate and its average after n users, [2, settings], on common data."""
    alpha, mu = (a.ravel() for a in np.meshgrid(alphas, mus, indexing="ij"))
    star, total = problem.optimum(), np.zeros((2, len(alpha)))
    for r in range(replicates):
        theta = np.tile(problem.start(), (len(alpha), 1))
        average = np.zeros_like(theta)
        numbers = (problem.true_coefficients, tuple(problem.constants), problem.noise_sensitivity(), problem.sigma_min)
        _run(np.random.default_rng([seed, r]), theta, average, alpha, mu, n, *numbers)
        total += [np.sum((a - star) ** 2, axis=1) for a in (theta, average)]
    return total / replicates
