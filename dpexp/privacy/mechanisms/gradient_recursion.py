"""The full-batch recursion over gradients: a composition of Gaussian steps of two sensitivities."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Size, Steps


class NoisyGradientRecursion(Mechanism):
    """T steps of length `step_size`; noise is split between the first step and the others (`recursion_noise`)."""

    noise_field: ClassVar[str] = "sigma"
    noise_for_all_steps: ClassVar[bool] = True
    n: Records
    steps: Steps
    step_size: Size
    weight: Annotated[float, Field(gt=0, le=1)]
    """gamma, the weight of the newest gradient"""
    lipschitz: Size
    smoothness: Size
    sigma: Noise
    """multiplier of the whole run: it is 1 / sigma-GDP"""

    def analyses(self) -> list[Analysis]:
        mu = 0.0 if self.steps == 0 else math.inf if self.sigma == 0 else 1 / self.sigma
        assumptions = ("noise is Gaussian and fresh in every step", "gradients have Lipschitz constant `smoothness`")
        source = "adaptive composition of Gaussian steps, exact"
        return [gaussian_analysis("exact-sensitivities", source, ALL, mu, assumptions)]

    def describe(self) -> list[tuple[str, str]]:
        return [
            ("Protected", "every record against who sees all iterates; neighbours: replace-one"),
            ("Noise", f"{self.sigma:g} times the sensitivity of the whole run"),
            ("Released", f"all {self.steps:,} noisy estimates, and therefore every iterate"),
        ]
