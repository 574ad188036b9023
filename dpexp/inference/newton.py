"""The Newton-corrected average and its covariance, from the sums of messages (inference, sections 0.1 and 3.3).

Every message is an unbiased noisy measurement of grad F at a public point, so

    theta~ = sum v_i theta_{i-1} - H^-1 sum v_i m_i              (the weights v_i add up to 1)

is unbiased up to the curvature of the gradient, for any start and any step sizes. The noise of the sum is a martingale
whose variance is estimated by sum v_i^2 m_i m_i', added noise included. What the noise of the Hessian does to theta~ is
of second order, but it is known, and it is counted too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpexp.inference.fixed_points import fixed_points
from dpexp.inference.models import Model
from dpexp.inference.small_matrices import eigensystems, inverses, products, times
from dpexp.inference.sums import Sums, symmetric

NEGLIGIBLE = 1e-8
"""share of the largest eigenvalue; `intervals` finds it not told long before"""


class Corrected(NamedTuple):
    """Estimates of eight replicates."""

    theta: np.ndarray
    """theta~ [8, p]"""
    covariance: np.ndarray
    """C [8, p, p]"""
    hessian: np.ndarray
    """Hr [8, p, p], by which was corrected"""
    hessian_error: np.ndarray
    """se_H [8]: standard error of a diagonal entry of the mean D Hhat D that is due to the added noise"""


def standard_errors(covariance: np.ndarray) -> np.ndarray:
    """Roots of the diagonal [..., p] of [..., p, p]; 0 where rounding made it negative."""
    return np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))


def mean_hessian(sums: Sums, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Hhat [8, p, p] and se_H [8]; NaN where nobody sent a Hessian."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return symmetric(sums.hessians / sums.u[0], p), np.sqrt(sums.u[1]) / sums.u[0]


def regularise(mean: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Hr [..., p, p]: the inverse of G = (Hc + (se^2 / 2) (G + tr(G) I))^-1, for Hhat [..., p, p] and se_H [...].

    For the noise W of a Hessian message E[W G W] = (se^2 / 2) (G + tr(G) I), so the mean of the inverse of a noisy
    matrix is too large by H^-1 E[W H^-1 W] H^-1, and inverses of single ones have heavy tails. Hc is Hhat with its
    eigenvalues raised to at least se. Without noise Hr = Hc (inference, section 3.4).
    """
    error = np.asarray(error, dtype=np.float64)
    values, vectors = eigensystems(mean)
    smallest = np.maximum(NEGLIGIBLE * np.abs(values).max(axis=-1), 1e-12)  # so that a singular Hhat has an inverse
    values = np.maximum(values, np.maximum(error, smallest)[..., None])
    inverse = _inverse_eigenvalues(values, (error**2 / 2)[..., None])
    return products(vectors / inverse[..., None, :], np.swapaxes(vectors, -1, -2))


def _inverse_eigenvalues(values: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Eigenvalues [..., p] of the fixed point G, from those of Hc and half = se_H^2 / 2 [..., 1].

    G has the eigenvectors of Hc, since it is a function of Hc once its trace t is known: every eigenvalue l gives
    half g^2 + (l + half t) g - 1 = 0. The sum of these g falls in t and is convex, so Newton's steps for
    t = sum g(t) from t = 0 rise to its only root.
    """
    flat = np.ascontiguousarray(values.reshape(-1, values.shape[-1]))
    g = np.empty_like(flat)
    fixed_points(flat, np.ascontiguousarray(np.broadcast_to(half, (*values.shape[:-1], 1)).reshape(-1)), g)
    return g.reshape(values.shape)


def corrected(sums: Sums, hessian: np.ndarray, hessian_error: np.ndarray) -> Corrected:
    """theta~ = A / sv - Hr^-1 G / sv and C = Hr^-1 (Q / sv^2) Hr^-1 from a regularised Hessian [8, p, p]."""
    p, total = len(sums.points), sums.v[0]
    inverse = inverses(hessian)
    point, gradient = (sums.points / total).T, (sums.gradients / total).T
    theta = point - times(inverse, gradient)
    covariance = products(inverse, symmetric(sums.squares / (total * total), p), inverse)
    return Corrected(theta, covariance, hessian, hessian_error)


def newton_corrected(sums: Sums, model: Model) -> Corrected:
    """The estimate from one set of sums, with the Hessian that its own users measured, and its full covariance.

    The messages hold D H D, whose noise is that of `regularise`.
    """
    mean, error = mean_hessian(sums, model.p)
    scaling = model.hessian_scaling
    found = corrected(sums, regularise(mean, error) / np.outer(scaling, scaling), error)
    return found._replace(covariance=found.covariance + of_hessian_noise(sums, found, scaling))


def of_hessian_noise(sums: Sums, found: Corrected, scaling: np.ndarray) -> np.ndarray:
    """The part of the covariance of theta~ [8, p, p] that the noise W of the Hessian adds.

    To first order in W, (H + W)^-1 g = H^-1 g - H^-1 W d with d = H^-1 g, the length of the correction; and
    E[W d d' W] = (se_H^2 / 2) (d d' + |d|^2 I), by the identity of `regularise` with G = d d'. The sandwich of
    inference, section 3.3, leaves this out, and its intervals cover up to four points too little where se_H is near
    half of the smallest eigenvalue of H. With messages D H D the noise of H is D^-1 W D^-1.
    """
    correction = ((sums.points / sums.v[0]).T - found.theta) / scaling
    outer = correction[:, :, None] * correction[:, None, :]
    square = np.sum(correction**2, axis=1)[:, None, None] * np.eye(correction.shape[1])
    inverse = inverses(found.hessian) / scaling
    middle = (found.hessian_error**2 / 2)[:, None, None] * (outer + square)
    return products(inverse, middle, inverse.transpose(0, 2, 1))
