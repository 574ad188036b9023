"""Composition of steps whose noise differs: privacy loss distributions of groups of steps, one Fourier transform each.

A Langevin step (`dp-sgld`, Algorithm 1) of size eta_k adds noise of standard deviation sqrt(2 eta_k) sigma, and one
record of gradient norm at most L moves it by at most eta_k L / m. So its noise multiplier is z_k = sqrt(2 eta_k) sigma
/ (eta_k L / m) = sqrt(2 / eta_k) sigma m / L, which grows as steps become smaller.

Steps are grouped by noise, rounded down. A step of more noise is a step of less with normal noise added afterwards,
which is post-processing, so that the result stays an upper bound.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpexp.privacy.accounting.loss_distributions import Scheme, eps_of_steps, step_loss

GROWTH = 1.05
"""noises of one group differ by at most this factor. Rounding down takes 2.5 % of the noise on average, and epsilon,
which is about inverse to the noise, is inflated by as much"""
Groups = tuple[tuple[float, int], ...]
"""(noise in units of the least, number of steps), noise increasing"""


def grouped(relative: np.ndarray) -> Groups:
    """Groups of steps of noise `relative` [K], each >= 1, rounded down to powers of `GROWTH`."""
    # 1e-9 keeps an exact power of GROWTH, whose logarithm is rounded, in its own group: it rounds up by 5e-11 at most
    powers, counts = np.unique(np.floor(np.log(relative) / math.log(GROWTH) + 1e-9).astype(int), return_counts=True)
    if np.all(relative == relative[0]):
        return ((float(relative[0]), len(relative)),)
    return tuple((max(1.0, GROWTH ** int(k)), int(c)) for k, c in zip(powers, counts, strict=True))


@lru_cache(maxsize=32)
def varying_eps(q: float, multiplier: float, scheme: Scheme, groups: Groups, delta: float) -> float:
    """Epsilon at delta of steps of probability q and noise `multiplier` times that of their group, rounded up.

    `multiplier` as in `StepLoss`.
    """
    return eps_of_steps(
        tuple((step_loss(q, multiplier * relative, scheme), count) for relative, count in groups), delta
    )
