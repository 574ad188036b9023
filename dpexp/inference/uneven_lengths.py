"""The noise of the Hessian makes some intervals too short and others too long, and on average too few of them cover.

The error of the estimate is about -H^-1 xi, with the noise xi of the gradients, whatever the noise W of the measured
Hessian was: the points settle where the mean gradient is near 0. Its standard error is taken from Hr^-1 all the same.
So it is the right one times 1 + e with E e = 0. The share that covers is then E[2 Phi(z (1 + e)) - 1], less than the
level by z^3 phi(z) e^2. An interval that is longer by the factor 1 + z^2 e^2 / 2 makes up for it, as Student's quantile
does for a variance that is estimated. With C = H^-1 S H^-1 and to first order in W,

    d C_jj = -2 u' W v,    u = H^-1 e_j,    v = C e_j,    E (u' W v)^2 = (se_H^2 / 2) (|u|^2 |v|^2 + (u' v)^2)

by the identity of `newton.of_hessian_noise`, so that e of coordinate j has the variance

    se_H^2 (|u|^2 |v|^2 + (u' v)^2) / (2 C_jj^2).

With messages D H D the noise of H is D^-1 W D^-1, and u and v are divided by D. In the central model the middle matrix
S is released with noise of its own, which adds to e.

The same noise makes C too long on average. C holds W twice where the error of the estimate does not hold it, so that
E[(G - G W G) S (G - G W G)] = C + G E[W C W] G with G = H^-1, and the second part is, in units of the messages,

    E = (se_H^2 / 2) G (C + tr(C) I) G                                                        (fit2, section 2.4).

It counts in the scale most, whose own noise is small beside that of the slopes.
"""

from __future__ import annotations

import numpy as np

from dpexp.inference import critical_values
from dpexp.inference.newton import Corrected
from dpexp.inference.small_matrices import inverses, products

LEVEL = 0.95
"""for which lengths are made up; at 0.9 the factor is a little too large, and at 0.99 too small"""
MOST = 0.3
"""largest e that is made up for. Where it is larger an expansion in e says too much: with e = .32 in the mean, 2.7 in
100 intervals of the scale were lost, and not 4.5"""


def relative_errors(
    covariance: np.ndarray, inverse: np.ndarray, own: np.ndarray, error: np.ndarray, scaling: np.ndarray,
    middle_error: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """The standard deviations of e [..., k] of combinations a'theta, for se_H [...] and D [p].

    Rows of `covariance` are a'C, those of `inverse` a'H^-1 [..., k, p], and `own` is a'C a [..., k]. `middle_error` is
    the standard deviation of the noise of a diagonal entry of the middle matrix S, symmetric as W is: u' dS u has the
    variance of that times |u|^4, and a part e of C^(1/2) is half of it over C.
    """
    u, v = inverse / scaling, covariance / scaling
    squares = np.sum(u * u, axis=-1) * np.sum(v * v, axis=-1) + np.sum(u * v, axis=-1) ** 2
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
    u, c = inverse / scaling, covariance / np.outer(scaling, scaling)
    total = np.trace(c, axis1=-2, axis2=-1)[..., None]
    excess = (error**2 / 2)[..., None] * (np.sum(products(u, c) * u, axis=-1) + total * np.sum(u * u, axis=-1))
    return np.asarray(np.maximum(own - excess, own / 2))


def longer(
    covariance: np.ndarray, inverse: np.ndarray, error: np.ndarray, scaling: np.ndarray, middle_error: float = 0.0
) -> np.ndarray:
    """By what factor the standard errors of C [..., p, p] become longer [..., p], for H^-1 [..., p, p]."""
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    return lengthened(relative_errors(covariance, inverse, own, error, scaling, middle_error))  # both are symmetric


def lengthened(e: np.ndarray) -> np.ndarray:
    """The factor for standard deviations of e."""
    return np.asarray(1 + critical_values.normal(LEVEL) ** 2 / 2 * np.minimum(e, MOST) ** 2)


def made_up(found: Corrected, scaling: np.ndarray) -> Corrected:
    """With a covariance whose standard errors are so much longer; `scaling` is the diagonal of D [p]."""
    factor = longer(found.covariance, inverses(found.hessian), found.hessian_error, scaling)
    return found._replace(covariance=found.covariance * factor[:, :, None] * factor[:, None, :])
