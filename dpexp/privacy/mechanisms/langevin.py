"""Langevin SGD: `dp-sgld`. w <- Proj(w - eta G + sqrt(2 eta) N(0, sigma^2 I))."""

from __future__ import annotations

import math
from typing import ClassVar

from dpexp.privacy.accounting.noise_conventions import langevin_gradient_noise
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.langevin_printed import printed_analyses
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.mechanisms.batched import BatchedMechanism
from dpexp.privacy.mechanisms.mechanism import Curvature, Length, Noise, Size
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd


class Langevin(BatchedMechanism):
    """Strongly convex, L-Lipschitz losses; the set's diameter is 2 L / lambda where it is not given."""

    noise_field: ClassVar[str] = "sigma"
    sigma: Noise
    """the noise of a step has standard deviation sqrt(2 step_size) sigma on the parameter"""
    lipschitz: Size
    strong_convexity: Size
    smoothness: Curvature
    diameter: Length | None = None

    @property
    def as_noisy_sgd(self) -> NoisySgd:
        """The same iteration with its noise on the gradient: sqrt(2 / eta) sigma."""
        return NoisySgd(
            n=self.n,
            batch_size=self.batch_size,
            step_size=self.step_size,
            noise_std=langevin_gradient_noise(self.sigma, self.step_size),
            lipschitz=self.lipschitz,
            steps=self.steps,
            diameter=2 * self.lipschitz / self.strong_convexity if self.diameter is None else self.diameter,
            smoothness=self.smoothness,
            strong_convexity=self.strong_convexity,
            sampling=self.sampling,
            neighboring_relation=self.neighboring_relation,
        )

    def analyses(self) -> list[Analysis]:
        return [*self.as_noisy_sgd.analyses(), *self._printed()]

    def lower_bounds(self) -> list[LowerBound]:
        return self.as_noisy_sgd.lower_bounds()

    def _printed(self) -> list[Analysis]:
        """Corollary 3.2 of the paper; full batches are those of `q` = 1."""
        if not 0 < self.sigma < math.inf:
            return []
        return printed_analyses(
            n=self.n,
            batch_size=self.n if self.q == 1 else self.batch_size,
            step_size=self.step_size,
            steps=self.steps,
            sigma=self.sigma,
            lipschitz=self.lipschitz,
            strong_convexity=self.strong_convexity,
            smoothness=self.smoothness,
            relation=self.neighboring_relation,
        )

    def describe(self) -> list[tuple[str, str]]:
        return self.as_noisy_sgd.describe()
