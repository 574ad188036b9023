"""Exact second moments of the linearised iteration, at any n: what a quadratic risk would give.

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
        _kernel()(steps, alpha, *flat, out)
    iterate, average = (a.reshape(len(steps), *shape).transpose(1, 0, 2) for a in out)
    return Moments(iterate, average)


@cache
def _kernel() -> Callable[..., Any]:
    from dpexp.engine.compiled import compiled

    @compiled(kept=True)
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
