"""What the iterate and its average look like for large n: variance and bias, with the privacy noise included.

Notation: H Hessian of the risk at theta*, S covariance of one user's gradient there, S_mu = S + Delta^2 E[1/mu^2] I.
"""

from __future__ import annotations

import numpy as np


def noisy_covariance(score_covariance: np.ndarray, sensitivity: float, mean_inverse_square: float) -> np.ndarray:
    """S_mu [p, p]: covariance of what a user sends at theta*; the printed S (`ldp-sgd`, Theorem 4) has no noise."""
    return score_covariance + sensitivity**2 * mean_inverse_square * np.eye(len(score_covariance))


def averaged_covariance(hessian: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """H^-1 S_mu H^-1 [p, p]: n times the asymptotic covariance of the average (Polyak and Juditsky, 1992)."""
    half = np.linalg.solve(hessian, covariance)
    return np.linalg.solve(hessian, half.T)


def iterate_covariance(hessian: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """V [p, p] with H V + V H = S_mu: the covariance of the iterate is eta_n V asymptotically, for alpha < 1."""
    # in the eigenvectors of H the equation is (h_i + h_j) V_ij = S_ij
    values, vectors = np.linalg.eigh(hessian)
    inner = vectors.T @ covariance @ vectors / (values[:, None] + values[None, :])
    return vectors @ inner @ vectors.T


def averaged_bias(hessian: np.ndarray, third: np.ndarray, covariance: np.ndarray, mean_step: float) -> np.ndarray:
    """E theta_bar_n - theta* ~ -H^-1 F'''[V] / 2 times the mean of the step sizes so far; [p].

    `third` [p, p, p] is the third derivative of the risk at theta*. With eta_k = eta k^-alpha the mean step is of order
    n^-alpha, so the squared error of the average is max(n^-1, n^-2 alpha) unless F'''[V] = 0.
    """
    return -np.linalg.solve(hessian, np.tensordot(third, iterate_covariance(hessian, covariance))) * mean_step / 2


def spectral_norm(third: np.ndarray, starts: int = 32) -> float:
    """Largest T[u, u, u] over unit u of a symmetric tensor [p, p, p], which is also the largest |T[u]| (Banach, 1938).

    Shifted power iteration from `starts` fixed directions; each step increases T[u, u, u].
    """
    # so large a shift makes T[u, u, u] + shift |u|^3 convex, and its maximum over the sphere is climbed without a step
    # size; a local maximum is left for that of another start
    p = len(third)
    shift = 2 * float(np.sqrt(np.sum(third**2)))
    if shift == 0:
        return 0.0
    flat = third.reshape(p * p, p)
    u = np.random.default_rng(0).standard_normal((starts, p))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    best = 0.0
    for _ in range(5000):
        image = np.einsum("sij,sj->si", (u @ flat.T).reshape(starts, p, p), u)
        last, best = best, float(np.max(np.sum(image * u, axis=1)))
        if abs(best - last) < 1e-12 * shift:
            break
        u = image + shift * u
        u /= np.linalg.norm(u, axis=1, keepdims=True)
    return best
