"""Clipped noisy SGD on a bounded set, any losses: `hidden-state`. Noise on the parameter."""

from __future__ import annotations

import math
from typing import ClassVar

from dpexp.privacy.analysis import LAST, Analysis, hockey_stick_analysis
from dpexp.privacy.hidden_state import last_iterate_delta
from dpexp.privacy.mechanisms.mechanism import (
    SAMPLING,
    Length,
    Mechanism,
    Noise,
    Records,
    Sampling,
    Size,
    Steps,
    composition,
)


class ClippedNoisySgd(Mechanism):
    """w <- Proj(w - (eta / b) sum clip_C(gradient) + N(0, noise_std^2 I)) on a set of the given diameter."""

    noise_field: ClassVar[str] = "noise_std"
    n: Records
    batch_size: Records
    step_size: Size
    clip: Size
    noise_std: Noise
    """standard deviation of the noise on the parameter"""
    steps: Steps
    diameter: Length = math.inf
    sampling: Sampling = "fixed-size"

    @property
    def q(self) -> float:
        """Probability that a record is in a batch."""
        return 1.0 if self.sampling == "full-batch" else self.batch_size / self.n

    def analyses(self) -> list[Analysis]:
        moved = self.step_size * self.clip
        multiplier = self.batch_size * self.noise_std / moved
        found = composition(self.q, multiplier, self.steps, self.sampling, self.neighboring_relation)
        if self.steps == 0 or self.noise_std == 0 or math.isinf(self.noise_std):
            return found
        reach = (self.diameter + 2 * moved) / self.noise_std
        refused = "" if math.isfinite(reach) else "needs a bounded set: give diameter"
        found.append(
            hockey_stick_analysis(
                "contraction",
                "hidden-state, main result",
                LAST,
                lambda eps: last_iterate_delta(eps, reach, self.q, self.steps),
                ("projection on a bounded convex set", "gradients clipped at C", "only the last iterate is released"),
                refused,
            )
        )
        return found

    def describe(self) -> list[tuple[str, str]]:
        return [
            ("Protected", f"every record against who sees what is released; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{SAMPLING[self.sampling]}; a record is in a batch with probability {self.q:g}"),
            ("Noise", f"standard deviation {self.noise_std:g} on the parameter"),
            ("Released", "see each line: all iterates, or the last one alone"),
        ]
