"""LDP-SGD for Huber linear regression in numpy, vectorised over settings and replicates: what a careful script does."""

from __future__ import annotations

import numpy as np

from dpexp.problems.linear_losses import HuberLinear


def simulate(
    problem: HuberLinear, alphas: list[float], mus: list[float], n: int, replicates: int, seed: int
) -> np.ndarray:
    """Mean squared distance of the iterate and its average after n users, [2, settings], on common data."""
    rng = np.random.default_rng(seed)
    alpha, mu = (a.ravel() for a in np.meshgrid(alphas, mus, indexing="ij"))
    c, kappa, sigma = problem.constants
    q, sensitivity = problem.d + 1, problem.noise_sensitivity()
    theta = np.broadcast_to(problem.start(), (len(alpha), replicates, q + 1)).copy()
    average = np.zeros_like(theta)
    x = np.ones((replicates, q))
    for i in range(1, n + 1):
        x[:, 1:] = problem.sigma_z * rng.standard_normal((replicates, problem.d))
        y = x @ problem.true_coefficients + sigma * rng.standard_normal(replicates)
        omega = rng.standard_normal((replicates, q + 1))
        w = np.minimum(1.0, 2.0 / np.sum(x * x, axis=1))
        scale = theta[:, :, q]
        psi = np.clip((y - np.einsum("srq,rq->sr", theta[:, :, :q], x)) / scale, -c, c)
        eta = (0.2 * i**-alpha)[:, None]
        noise = (0.2 * i**-alpha * sensitivity / mu)[:, None, None]
        theta[:, :, :q] += (eta * w * psi)[:, :, None] * x
        theta[:, :, q] -= eta * w * (kappa - psi * psi) / 2
        theta -= noise * omega
        np.maximum(theta[:, :, q], problem.sigma_min, out=theta[:, :, q])
        average += (theta - average) / i
    star = problem.optimum()
    return np.array([np.mean(np.sum((a - star) ** 2, axis=2), axis=1) for a in (theta, average)])
