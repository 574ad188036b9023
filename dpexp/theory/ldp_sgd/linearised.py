"""The iteration near theta*: its covariances and bias for large n, and exact second moments of the linearised one.

Notation: H Hessian of the risk at theta*, S covariance of one user's gradient there, S_mu = S + Delta^2 E[1/mu^2] I,
the privacy noise included. The exact moments, at any n, are what a quadratic risk would give:

(a) e_k = (I - eta_k H) e_{k-1} - eta_k xi_k with independent noise of covariance S_mu. In the eigenvectors of H every
coordinate is on its own, and E|e|^2 needs only sums over the coordinates that share an eigenvalue h: a mode.
(b) In a mode, with a = 1 - eta_k h and s the variance of its noise, c = E e_k^2 becomes a^2 c + eta_k^2 s.
(c) With T_k = e_1 + ... + e_k and r = E[T_k e_k], E T_k^2 is E T_{k-1}^2 + 2 a r + c, and r becomes a r + c: the new
noise is independent of T_{k-1}, so that E[T_{k-1} e_k] = a E[T_{k-1} e_{k-1}].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

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


class Modes(NamedTuple):
    """One entry an eigenvalue of H: [J] each."""

    h: np.ndarray
    """eigenvalue"""
    noise: np.ndarray
    """sum of the variances of the noise along its eigenvectors"""
    start_sq: np.ndarray
    """sum of the squared starting errors along them"""


class Moments(NamedTuple):
    """Mean squared errors in every mode: [E, K, J] for E initial step sizes at K steps."""

    iterate: np.ndarray
    average: np.ndarray


def modes_of(hessian: np.ndarray, covariance: np.ndarray, start_error: np.ndarray) -> Modes:
    """Modes of H [p, p] with noise covariance [p, p] and theta_0 - theta* [p]; equal eigenvalues are one mode."""
    # (a)
    values, vectors = np.linalg.eigh(hessian)
    noise = np.einsum("ij,ik,kj->j", vectors, covariance, vectors)
    start_sq = (vectors.T @ start_error) ** 2
    # eigenvalues come in order, and rounding sets equal ones apart by less than this
    label = np.concatenate([[0], np.cumsum(np.diff(values) > 1e-9 * abs(values[-1]))])
    count = np.bincount(label)
    return Modes(np.bincount(label, values) / count, np.bincount(label, noise), np.bincount(label, start_sq))


def linearised_moments(steps: np.ndarray, etas: np.ndarray, alpha: float, modes: Modes) -> Moments:
    """Mean squared errors at `steps` [K] (increasing) for eta_k = eta k^-alpha, every eta of `etas` [E]; O(n).

    E|e_k|^2 = sum_j iterate_j; the average is that of e_1..e_k.
    """
    steps = np.asarray(steps, dtype=np.int64)
    etas = np.atleast_1d(np.asarray(etas, dtype=np.float64))
    shape = len(etas), len(modes.h)
    flat = [np.broadcast_to(a, shape).ravel().copy() for a in (etas[:, None], modes.h, modes.noise, modes.start_sq)]
    out = np.empty((2, len(steps), shape[0] * shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        _moments_kernel()(steps, alpha, *flat, out)
    iterate, average = (a.reshape(len(steps), *shape).transpose(1, 0, 2) for a in out)
    return Moments(iterate, average)


@cache
def _moments_kernel() -> Callable[..., Any]:
    from dpexp.engine.compiled import compiled

    @compiled(cached=True)
    def recursion(steps, alpha, eta, h, s, c, out):  # type: ignore[no-untyped-def]
        size = len(c)
        r, total = np.zeros(size), np.zeros(size)
        cursor = 0
        for k in range(1, steps[-1] + 1):
            decay = float(k) ** -alpha
            for i in range(size):
                step = eta[i] * decay
                a = 1 - step * h[i]
                # (b), then (c), in which r is still of the step before
                c[i] = a * a * c[i] + step * step * s[i]
                total[i] += 2 * a * r[i] + c[i]
                r[i] = a * r[i] + c[i]
            # T_k is a sum, of which the average has the square over k^2
            if k == steps[cursor]:
                out[0, cursor] = c
                out[1, cursor] = total / float(k) ** 2
                cursor += 1

    return recursion
