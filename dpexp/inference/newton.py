"""The Newton-corrected average, its covariance, and how long its intervals are, from the sums of messages.

Every message is an unbiased noisy measurement of grad F at a public point, so

(a) theta~ = sum v_i theta_{i-1} - H^-1 sum v_i m_i              (the weights v_i add up to 1)

is unbiased up to the curvature of the gradient, for any start and any step sizes (inference, sections 0.1 and 3.3). The
noise of the sum is a martingale whose variance is estimated by sum v_i^2 m_i m_i', added noise included.

(b) That noise makes some intervals too short and others too long, and on average too few of them cover. The error of
the estimate is about -H^-1 xi, with the noise xi of the gradients, whatever the noise W of the measured Hessian was:
the points settle where the mean gradient is near 0. Its standard error is taken from Hr^-1 all the same. So it is the
right one times 1 + e with E e = 0. The share that covers is then E[2 Phi(z (1 + e)) - 1], less than the level by z^3
phi(z) e^2. An interval that is longer by the factor 1 + z^2 e^2 / 2 makes up for it, as Student's quantile does for a
variance that is estimated. With C = H^-1 S H^-1 and to first order in W,

    d C_jj = -2 u' W v,    u = H^-1 e_j,    v = C e_j,    E (u' W v)^2 = (se_H^2 / 2) (|u|^2 |v|^2 + (u' v)^2)

by the identity of `of_hessian_noise`, so that e of coordinate j has the variance

    se_H^2 (|u|^2 |v|^2 + (u' v)^2) / (2 C_jj^2).

(c) The same noise makes C too long on average. C holds W twice where the error of the estimate does not hold it, so
that E[(G - G W G) S (G - G W G)] = C + G E[W C W] G with G = H^-1, and the second part is, in units of the messages,

    E = (se_H^2 / 2) G (C + tr(C) I) G                                                        (fit2, section 2.4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpexp.inference import public_numbers
from dpexp.inference.messages import Sums, symmetric
from dpexp.inference.models import Model
from dpexp.inference.small_matrices import eigensystems, inverses, times

NEWTON_STEPS = 30
"""at most; each squares what is missing once it is small. Six to ten are enough"""


def fixed_points(values: np.ndarray, half: np.ndarray) -> np.ndarray:
    """The eigenvalues of the fixed point G [..., p], from those of Hc, values [..., p], and se_H^2 / 2 [...]."""
    half = half[..., None]
    trace = np.zeros_like(half)
    with np.errstate(all="ignore"):
        # the sum of the g below falls in t and is convex, so Newton's steps for t = sum g(t) from 0 rise to its root
        for _ in range(NEWTON_STEPS):
            # G has the eigenvectors of Hc, since it is a function of Hc once its trace t is known: every eigenvalue l
            # gives half g^2 + (l + half t) g - 1 = 0, and -dg/dt = half g / root
            b = values + half * trace
            root = np.sqrt(b * b + 4 * half)
            g = 2 / (b + root)
            nearer = trace + (g.sum(-1, keepdims=True) - trace) / (1 + (half * g / root).sum(-1, keepdims=True))
            # no further step changes a digit
            if (nearer == trace).all():
                break
            trace = nearer
    return np.asarray(g)


NEGLIGIBLE = 1e-8
"""share of the largest eigenvalue; `intervals` calls it singular long before"""


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
    """Hhat [8, p, p] and se_H [8]; NaN where no user sent a Hessian."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return symmetric(sums.hessians / sums.u[0], p), np.sqrt(sums.u[1]) / sums.u[0]


def regularise(mean: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Hr [..., p, p]: the inverse of G = (Hc + (se^2 / 2) (G + tr(G) I))^-1, for Hhat [..., p, p] and se_H [...].

    For the noise W of a Hessian message E[W G W] = (se^2 / 2) (G + tr(G) I), so the mean of the inverse of a noisy
    matrix is too large by H^-1 E[W H^-1 W] H^-1, and inverses of single ones have heavy tails. Hc is Hhat with its
    eigenvalues raised to at least se. Without noise Hr = Hc (inference, section 3.4).
    """
    values, vectors = eigensystems(mean)
    error = np.broadcast_to(np.asarray(error, dtype=np.float64), values.shape[:-1])
    # so that a singular Hhat has an inverse
    smallest = np.maximum(NEGLIGIBLE * np.abs(values).max(axis=-1), 1e-12)
    values = np.maximum(values, np.maximum(error, smallest)[..., None])
    inverse = fixed_points(values, error**2 / 2)
    return np.asarray((vectors / inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def corrected(sums: Sums, hessian: np.ndarray, hessian_error: np.ndarray) -> Corrected:
    """theta~ = A / sv - Hr^-1 G / sv and C = Hr^-1 (Q / sv^2) Hr^-1 from a regularised Hessian [8, p, p]."""
    p, total = len(sums.points), sums.v[0]
    # (a), where sv is the sum of the weights
    inverse = inverses(hessian)
    point, gradient = (sums.points / total).T, (sums.gradients / total).T
    theta = point - times(inverse, gradient)
    covariance = inverse @ symmetric(sums.squares / (total * total), p) @ inverse
    return Corrected(theta, covariance, hessian, hessian_error)


def newton_corrected(sums: Sums, model: Model) -> Corrected:
    """The estimate from one set of sums, with the Hessian that its own users measured, and its full covariance."""
    mean, error = mean_hessian(sums, model.p)
    scaling = model.hessian_scaling
    # the messages hold D H D, whose noise is that of `regularise`
    estimate = corrected(sums, regularise(mean, error) / np.outer(scaling, scaling), error)
    # what the noise of the Hessian does to theta~ is of second order, but it is known, and it is counted too
    return estimate._replace(covariance=estimate.covariance + of_hessian_noise(sums, estimate, scaling))


def of_hessian_noise(sums: Sums, estimate: Corrected, scaling: np.ndarray) -> np.ndarray:
    """The part of the covariance of theta~ [8, p, p] that the noise W of the Hessian adds.

    To first order in W, (H + W)^-1 g = H^-1 g - H^-1 W d with d = H^-1 g, the length of the correction; and
    E[W d d' W] = (se_H^2 / 2) (d d' + |d|^2 I), by the identity of `regularise` with G = d d'. The sandwich of
    inference, section 3.3, leaves this out, and its intervals cover up to four points too little where se_H is near
    half of the smallest eigenvalue of H.
    """
    correction = ((sums.points / sums.v[0]).T - estimate.theta) / scaling
    outer = correction[:, :, None] * correction[:, None, :]
    square = np.sum(correction**2, axis=1)[:, None, None] * np.eye(correction.shape[1])
    # with messages D H D the noise of H is D^-1 W D^-1
    inverse = inverses(estimate.hessian) / scaling
    middle = (estimate.hessian_error**2 / 2)[:, None, None] * (outer + square)
    return inverse @ middle @ inverse.transpose(0, 2, 1)


def symmetric_noise(a: np.ndarray) -> np.ndarray:
    """W [..., p, p] from normals [..., p, p]: variances 1 on the diagonal, 1/2 off it: N(0, I) in Frobenius' norm."""
    off = np.tril(a, -1) * math.sqrt(0.5)
    return np.asarray(off + np.swapaxes(off, -1, -2) + a * np.eye(a.shape[-1]))


MADE_UP_LEVEL = 0.95
"""for which lengths are made up; at 0.9 the factor is a little too large, and at 0.99 too small"""
MOST_UNEVEN = 0.3
"""largest e that is made up for. Where it is larger an expansion in e says too much: with e = .32 in the mean, 2.7 in
100 intervals of the scale were lost, and not 4.5"""


def relative_errors(
    covariance: np.ndarray, inverse: np.ndarray, own: np.ndarray, error: np.ndarray, scaling: np.ndarray,
    middle_error: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """The standard deviations of e [..., k] of combinations a'theta, for se_H [...] and D [p].

    Rows of `covariance` are a'C, those of `inverse` a'H^-1 [..., k, p], and `own` is a'C a [..., k]. `middle_error` is
    the standard deviation of the noise of a diagonal entry of the middle matrix S, symmetric as W is.
    """
    # (b); u' dS u has the variance of a diagonal entry times |u|^4, and a part e of C^(1/2) is half of it over C
    # with messages D H D the noise of H is D^-1 W D^-1, and u and v are divided by D
    u, v = inverse / scaling, covariance / scaling
    squares = np.sum(u * u, axis=-1) * np.sum(v * v, axis=-1) + np.sum(u * v, axis=-1) ** 2
    # in the central model the middle matrix S is released with noise of its own, which adds to e
    of_middle = middle_error * np.sum(inverse * inverse, axis=-1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        e_sq = ((error**2 / 2)[..., None] * squares + of_middle**2) / own**2
    return np.asarray(np.sqrt(np.nan_to_num(e_sq, nan=0.0)))


def less_excess(
    own: np.ndarray, inverse: np.ndarray, covariance: np.ndarray, error: np.ndarray, scaling: np.ndarray
) -> np.ndarray:
    """The variances `own` [..., k] of combinations a'theta less a'E a, and at least half of them.

    Rows of `inverse` are a'H^-1 [..., k, p]; `covariance` [..., p, p] is H^-1 S H^-1.
    """
    # (c)
    u, c = inverse / scaling, covariance / np.outer(scaling, scaling)
    total = np.trace(c, axis1=-2, axis2=-1)[..., None]
    # it counts in the scale most, whose own noise is small beside that of the slopes
    excess = (error**2 / 2)[..., None] * (np.sum((u @ c) * u, axis=-1) + total * np.sum(u * u, axis=-1))
    return np.asarray(np.maximum(own - excess, own / 2))


def lengthened(e: np.ndarray) -> np.ndarray:
    """The factor for standard deviations of e."""
    return np.asarray(1 + public_numbers.normal(MADE_UP_LEVEL) ** 2 / 2 * np.minimum(e, MOST_UNEVEN) ** 2)
