"""Clipped noisy SGD on a bounded set, any losses: `hidden-state`. Noise on the parameter."""

from __future__ import annotations

import math
from typing import ClassVar

from dpexp.accounting.sampling import ONCE_AN_EPOCH
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.composition import composition
from dpexp.privacy.lower_bounds import exact_walk
from dpexp.privacy.mechanisms.batched import BatchedMechanism
from dpexp.privacy.mechanisms.mechanism import Length, Noise, Size, gradient_noise


class ClippedNoisySgd(BatchedMechanism):
    """w <- Proj(w - (eta / b) sum clip_C(gradient) + N(0, noise_std^2 I)) on a set of the given diameter."""

    noise_field: ClassVar[str] = "noise_std"
    clip: Size
    noise_std: Noise
    """standard deviation of the noise on the parameter"""
    diameter: Length = math.inf

    @property
    def multiplier(self) -> float:
        """Noise over one record's largest share of a step."""
        return self.batch_size * gradient_noise(self.noise_std, self.step_size) / self.clip

    def upper_bounds(self) -> list[Analysis]:
        found = composition(self.q, self.multiplier, self.steps, self.sampling, self.neighboring_relation)
        if not self._noisy:
            return found
        width, move = self.diameter / self.noise_std, 2 * self.step_size * self.clip / self.noise_std
        return found + self.last_iterate_bounds(self.multiplier, width, move, "gradients clipped at C")

    def lower_bounds(self) -> list[Analysis]:
        if not self._noisy or self._undefined():
            return []
        if math.isinf(self.diameter):
            return self.linear_bounds(self.multiplier)
        if self.sampling in ONCE_AN_EPOCH:
            return []
        other = "the opposite one" if self.neighboring_relation == "replace-one" else "none"
        pair = f"one dimension: the record's gradient is C, against {other}; all others are 0"
        width, reach = self.diameter / self.noise_std, self.step_size * self.clip / self.noise_std
        return exact_walk(self._drawn, self.neighboring_relation, width, reach, lambda _: pair)

    def description(self) -> list[tuple[str, str]]:
        return self.described(f"standard deviation {self.noise_std:g} on the parameter")
