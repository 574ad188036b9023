"""Steps whose noise is correlated by design: the log-likelihood ratio of a Gaussian vector, from its covariance.

The noise of a momentum is one linear map of standard normals in every coordinate, whether it comes from the nodes of a
tree or elsewhere. With its covariance Sigma over steps, and the effect of the canary delta_t in step t along one
direction, what is released there is N(0, Sigma) or N(delta, Sigma), and the ratio is delta' Sigma^-1 (y - delta / 2).

Sigma is taken from pilot runs, which see the noise as it is: where noise is used again that should be fresh, Sigma is
nearly singular, and the ratio looks where the canary stands without noise.
"""

from __future__ import annotations

import numpy as np

RIDGE = 1e-10
"""added to the covariance, over its mean diagonal: singular ones are what faults give"""


def whitening(noise: np.ndarray) -> np.ndarray:
    """The triangular matrix [T, T] that makes steps independent, from samples of their noise [samples, T]."""
    covariance = noise.T @ noise / len(noise)
    covariance += RIDGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))


def log_likelihood_ratio(along: np.ndarray, effects: np.ndarray, white: np.ndarray) -> np.ndarray:
    """[R], of what is released along the canary's direction less what is known [R, T], and the effects [R, T]."""
    seen, shifts = along @ white.T, effects @ white.T
    return np.asarray(np.sum((seen - shifts / 2) * shifts, axis=1))
