"""Langevin SGD: `dp-sgld`. w <- Proj(w - eta G + sqrt(2 eta) N(0, sigma^2 I))."""

from __future__ import annotations

import math
from typing import ClassVar

from dpexp.privacy.analysis import LAST, Analysis, renyi_analysis
from dpexp.privacy.lower_bounds import LowerBound
from dpexp.privacy.mechanisms.mechanism import BatchedMechanism, Curvature, Length, Noise, Size
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd
from dpexp.privacy.noise_conventions import langevin_gradient_noise


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
        return [*self.as_noisy_sgd.analyses(), *([self._printed()] if 0 < self.sigma < math.inf else [])]

    def lower_bounds(self) -> list[LowerBound]:
        return self.as_noisy_sgd.lower_bounds()

    def _printed(self) -> Analysis:
        """Corollary 3.2: 4 order L^2 / (lambda n^2 sigma^2) (1 - exp(-lambda eta K / 2))."""
        scale = 4 * self.lipschitz**2 / (self.strong_convexity * self.n**2 * self.sigma**2)
        total = scale * -math.expm1(-self.strong_convexity * self.step_size * self.steps / 2)
        refused = ""
        if self.q < 1:
            refused = "false for mini-batches: the divergence is not linear in the random batch (exact counterexamples)"
        elif self.step_size * self.smoothness >= 1:
            refused = "needs a step size below 1 / M"
        elif self.neighboring_relation != "replace-one":
            refused = "stated for replace-one neighbours"
        return renyi_analysis(
            "dp-sgld-printed",
            "dp-sgld, Corollary 3.2",
            LAST,
            lambda order: order * total,
            ("full batches", "theta_0 ~ N(0, 2 sigma^2 / lambda), projected", "only the last iterate is released"),
            refused,
        )

    def describe(self) -> list[tuple[str, str]]:
        return self.as_noisy_sgd.describe()
