"""A run of DP-SGLD as accountants see it: batches, step sizes and the constants of the losses."""

from __future__ import annotations

from dataclasses import dataclass

from dpexp.privacy.accounting.noise_conventions import langevin_gradient_noise
from dpexp.privacy.accounting.varying_noise import Groups
from dpexp.privacy.analyses.analysis import Relation
from dpexp.privacy.batch_sampling import RELATIONS, BatchSampling, Epochs


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
