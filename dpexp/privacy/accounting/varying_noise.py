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

from dpexp.privacy.accounting.loss_distributions import Scheme, Steps, eps_of_steps, step_loss

GROWTH = 1.05
"""noises of one group differ by at most this factor. Rounding down takes 2.5 % of the noise on average, and epsilon,
which is about inverse to the noise, is inflated by as much"""
Groups = tuple[tuple[float, int], ...]
"""(noise in units of the least, number of steps), noise increasing"""


def grouped(relative: np.ndarray) -> Groups:
    """Groups of steps of noise `relative` [K], each >= 1, rounded down to powers of `GROWTH`."""
    if np.all(relative == relative[0]):
        return ((float(relative[0]), len(relative)),)
    # The quotient of logarithms may come out just below a power of GROWTH; 1e-9 keeps that power in its own group. It
    # may also lift a noise that lies just below a power to it, which would be rounding up. So the power itself, as the
    # number that is returned, is compared with the noise, and the next lower one taken where it is larger. One step
    # down is enough: the exponent is too large by 1 at most. Noises are >= 1, hence so is what max() returns for k < 0.
    exponents = np.floor(np.log(relative) / math.log(GROWTH) + 1e-9).astype(int)
    powers = np.array([_power(k) for k in range(int(exponents.max()) + 1)])
    exponents = np.maximum(exponents - (powers[exponents] > relative), 0)
    groups, counts = np.unique(exponents, return_counts=True)
    return tuple((_power(int(k)), int(c)) for k, c in zip(groups, counts, strict=True))


def _power(k: int) -> float:
    return max(1.0, GROWTH**k)


@lru_cache(maxsize=32)
def varying_eps(q: float, multiplier: float, scheme: Scheme, groups: Groups, delta: float) -> float:
    """Epsilon at delta of steps of probability q and noise `multiplier` times that of their group, rounded up.

    `multiplier` as in `StepLoss`.
    """
    return eps_of_steps(steps_of(q, multiplier, scheme, groups), delta)


def steps_of(q: float, multiplier: float, scheme: Scheme, groups: Groups) -> Steps:
    """The groups as kinds of steps, and how many there are of each."""
    return tuple((step_loss(q, multiplier * relative, scheme), count) for relative, count in groups)
