"""Gaussian noise on a sampled sum: the mechanism of DP-SGD, all steps released."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from dpexp.privacy.analysis import Analysis
from dpexp.privacy.mechanisms.mechanism import SAMPLING, Mechanism, Noise, Relation, Sampling, Steps, composition


class SampledGaussian(Mechanism):
    """`steps` releases of a sampled sum of vectors of norm at most C, with noise of noise_multiplier C."""

    noise_field: ClassVar[str] = "noise_multiplier"
    noise_multiplier: Noise
    """noise standard deviation over one record's largest norm"""
    sampling_probability: Annotated[float, Field(ge=0, le=1)]
    steps: Steps
    sampling: Sampling = "poisson"
    neighboring_relation: Relation = "add-remove"

    def analyses(self) -> list[Analysis]:
        q = self.sampling_probability
        steps = self.steps if q > 0 else 0
        return composition(q, self.noise_multiplier, steps, self.sampling, self.neighboring_relation)

    def describe(self) -> list[tuple[str, str]]:
        return [
            ("Protected", f"every record against who sees the releases; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{SAMPLING[self.sampling]}, probability {self.sampling_probability:g}"),
            ("Noise", f"{self.noise_multiplier:g} times one record's largest norm, on every coordinate"),
            ("Released", f"all {self.steps:,} noisy sums, and therefore every iterate and average"),
        ]
