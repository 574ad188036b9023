"""Clipped noisy SGD on a bounded set, any losses: `hidden-state`. Noise on the parameter."""

from __future__ import annotations

import math
from typing import ClassVar

from dpexp.privacy.analysis import Analysis
from dpexp.privacy.mechanisms.mechanism import BatchedMechanism, Length, Noise, Size, composition


class ClippedNoisySgd(BatchedMechanism):
    """w <- Proj(w - (eta / b) sum clip_C(gradient) + N(0, noise_std^2 I)) on a set of the given diameter."""

    noise_field: ClassVar[str] = "noise_std"
    clip: Size
    noise_std: Noise
    """standard deviation of the noise on the parameter"""
    diameter: Length = math.inf

    def analyses(self) -> list[Analysis]:
        moved = self.step_size * self.clip
        multiplier = self.batch_size * self.noise_std / moved
        found = composition(self.q, multiplier, self.steps, self.sampling, self.neighboring_relation)
        if self.steps == 0 or self.noise_std == 0 or math.isinf(self.noise_std):
            return found
        reach = (self.diameter + 2 * moved) / self.noise_std
        return [*found, self.contraction_bound(reach, "gradients clipped at C")]

    def describe(self) -> list[tuple[str, str]]:
        return self.described(f"standard deviation {self.noise_std:g} on the parameter")
