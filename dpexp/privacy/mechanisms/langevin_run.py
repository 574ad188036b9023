"""A run of DP-SGLD as accountants see it: steps grouped by their noise, batches, and the constants of the losses.

A Langevin step (`dp-sgld`, Algorithm 1) of size eta_k adds noise of standard deviation sqrt(2 eta_k) sigma, and one
record of gradient norm at most L moves it by at most eta_k L / m. So its noise multiplier is z_k = sqrt(2 eta_k) sigma
/ (eta_k L / m) = sqrt(2 / eta_k) sigma m / L, which grows as steps become smaller.

Steps are grouped by noise, rounded down. A step of more noise is a step of less with normal noise added afterwards,
which is post-processing, so that the result stays an upper bound. The privacy loss distributions of the groups are
composed with one Fourier transform each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpexp.privacy.accounting.loss_distributions import Scheme, Steps, step_loss
from dpexp.privacy.analyses.analysis import Relation
from dpexp.privacy.batch_sampling import RELATIONS, BatchSampling, Epochs
from dpexp.privacy.mechanisms.mechanism import langevin_gradient_noise

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


def steps_of(q: float, multiplier: float, scheme: Scheme, groups: Groups) -> Steps:
    """The groups as kinds of steps, and how many there are of each.

    Steps have the probability q and the noise `multiplier` times that of their group; `multiplier` as in `StepLoss`.
    """
    return tuple((step_loss(q, multiplier * relative, scheme), count) for relative, count in groups)


@dataclass(frozen=True)
class LangevinRun:
    """w <- Proj(w - eta_k G + sqrt(2 eta_k) sigma Z), K steps on batches of m of n records, as accountants see it."""

    n: int
    batch_size: int
    sampling: BatchSampling
    steps: int
    lipschitz: float
    """largest norm of a record's part of the gradient: only it depends on the record"""
    smoothness: float
    strong_convexity: float
    diameter: float
    """of the set to which iterates are projected"""
    largest_step: float
    total_step: float
    total_of_epochs: float
    """sum of the first E steps, E the number of epochs: what the published accounting uses"""
    groups: Groups
    """noise of the steps over that of the largest, and how many"""
    by_epochs: Epochs | None = None
    """of batches that are drawn epoch by epoch"""

    @property
    def q(self) -> float:
        return self.batch_size / self.n

    @property
    def epochs(self) -> int:
        return max(1, round(self.steps * self.q))

    @property
    def constant(self) -> bool:
        """Whether all steps are of one size."""
        return len(self.groups) == 1

    @property
    def relation(self) -> Relation:
        return RELATIONS[self.sampling]

    def multiplier(self, sigma: float) -> float:
        """Noise of the largest step over one record's largest share of it: the noise multiplier of DP-SGD."""
        return langevin_gradient_noise(sigma, self.largest_step) * self.batch_size / self.lipschitz
