"""A release with one Gaussian noise: its log-likelihood ratio is its projection on what the canary changes."""

from __future__ import annotations

import numpy as np


def log_likelihood_ratio(
    released: np.ndarray, without: np.ndarray, effect: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """log of the densities of N(without + effect, noise^2 I) over N(without, noise^2 I) at `released`, [R].

    released, without and effect [R, p], noise [R]: <released - without, effect> / noise^2 - |effect|^2 / (2 noise^2).
    """
    along = np.sum((released - without) * effect, axis=1)
    return np.asarray((along - np.sum(effect**2, axis=1) / 2) / noise**2)
