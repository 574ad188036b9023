"""Composition of steps whose noise differs: privacy loss distributions of groups of steps, one Fourier transform each.

Langevin steps of decreasing size have noise that grows in units of the step: z_k = sqrt(2 / eta_k) sigma m / L. Steps
are grouped by noise, rounded down, so that the result stays an upper bound.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpexp.privacy.loss_distributions import Composed, Scheme, StepLoss, discretised, grid, summed

GROWTH = 1.05
"""noises of one group differ by at most this factor; epsilon is inflated by about half of it"""
Groups = tuple[tuple[float, int], ...]
"""(noise in units of the least, number of steps), noise increasing"""


def grouped(relative: np.ndarray) -> Groups:
    """Groups of steps of noise `relative` [K], each >= 1, rounded down to powers of `GROWTH`."""
    powers, counts = np.unique(np.floor(np.log(relative) / math.log(GROWTH) + 1e-9).astype(int), return_counts=True)
    if np.all(relative == relative[0]):
        return ((float(relative[0]), len(relative)),)
    return tuple((max(1.0, GROWTH ** int(k)), int(c)) for k, c in zip(powers, counts, strict=True))


class VaryingLoss:
    """Steps of probability q and noise `multiplier` times that of their group; multiplier as in `StepLoss`."""

    def __init__(self, q: float, multiplier: float, scheme: Scheme, groups: Groups) -> None:
        self.steps = [StepLoss(q, multiplier * relative, scheme) for relative, _ in groups]
        self.counts = [count for _, count in groups]

    def eps(self, delta: float) -> float:
        """Epsilon of all steps, rounded up; inf below the floor of about 1e-15 a step in delta."""
        if len(self.steps) == 1:
            return self.steps[0].eps(self.counts[0], delta)
        if delta >= 1 or not self.steps[0].bounded:
            return 0.0 if delta >= 1 else math.inf
        return max(law.eps(delta) for law in self._composed())

    def _composed(self) -> list[Composed]:
        """The loss of all steps, for every order of the neighbours that matters."""
        total = sum(self.counts)
        spread = math.sqrt(sum(c * s.spread**2 for s, c in zip(self.steps, self.counts, strict=True)) / total)
        interval = grid(spread, max(step.top for step in self.steps), total)
        orders = range(len(self.steps[0].curves))
        return [
            summed(
                [(discretised(*s.curves[k], s.top, interval), c) for s, c in zip(self.steps, self.counts, strict=True)],
                interval,
            )
            for k in orders
        ]


@lru_cache(maxsize=32)
def varying_eps(q: float, multiplier: float, scheme: Scheme, groups: Groups, delta: float) -> float:
    """Epsilon at delta of `VaryingLoss`."""
    return VaryingLoss(q, multiplier, scheme, groups).eps(delta)
