"""Langevin SGD: `dp-sgld`. w <- Proj(w - eta G + sqrt(2 eta) N(0, sigma^2 I)), and Corollary 3.2 of the paper.

The corollary's Renyi curve is order * slope. `dp-sgld-printed` converts it by Proposition 2.1 of the paper (Mironov's
rule), so that its epsilon is the paper's; `dp-sgld-renyi` by the rule of Canonne, Kamath and Steinke, about a fifth
lower.
"""

from __future__ import annotations

import math
from typing import ClassVar

from dpexp.privacy.analyses.analysis import LAST, Analysis, guarantee
from dpexp.privacy.analyses.from_curves import renyi_analysis
from dpexp.privacy.mechanisms.batched import BatchedMechanism
from dpexp.privacy.mechanisms.mechanism import Curvature, Length, Noise, Size, langevin_gradient_noise
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd

PRINTED, CONVERTED = "dp-sgld-printed", "dp-sgld-renyi"
ASSUMED = ("full batches", "theta_0 ~ N(0, 2 sigma^2 / lambda), projected", "only the last iterate is released")


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
            **self.model_dump(exclude={"sigma", "diameter"}),
            noise_std=langevin_gradient_noise(self.sigma, self.step_size),
            diameter=2 * self.lipschitz / self.strong_convexity if self.diameter is None else self.diameter,
        )

    def upper_bounds(self) -> list[Analysis]:
        return [*self.as_noisy_sgd.upper_bounds(), *self._printed()]

    def lower_bounds(self) -> list[Analysis]:
        return self.as_noisy_sgd.lower_bounds()

    def _printed(self) -> list[Analysis]:
        """Both forms of the corollary, refused where its hypotheses fail or where it is false."""
        if not 0 < self.sigma < math.inf:
            return []
        # imported here, because the package of theorems takes a while, and other mechanisms need none of them
        from dpexp.theory.dp_sgld.privacy import corollary32, eps_of_slope

        # the curve of the corollary is linear in the order
        slope = corollary32(1, self.lipschitz, self.n, self.sigma, self.strong_convexity, self.step_size, self.steps)
        refused = ""
        if self.q < 1:
            refused = "false for mini-batches: the divergence is not linear in the random batch (exact counterexamples)"
        elif self.step_size * self.smoothness >= 1:
            refused = "needs a step size below 1 / M"
        elif self.neighboring_relation != "replace-one":
            refused = "stated for replace-one neighbours"
        printed = guarantee(
            PRINTED,
            "dp-sgld, Corollary 3.2 with Proposition 2.1",
            LAST,
            lambda delta: eps_of_slope(slope, delta),
            ASSUMED,
            lambda order: order * slope,
            refused,
        )
        source = "dp-sgld, Corollary 3.2, converted as Canonne, Kamath and Steinke (2020) do"
        return [printed, renyi_analysis(CONVERTED, source, LAST, lambda order: order * slope, ASSUMED, refused)]

    def description(self) -> list[tuple[str, str]]:
        return self.as_noisy_sgd.description()
