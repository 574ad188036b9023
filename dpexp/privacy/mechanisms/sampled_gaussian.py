"""Gaussian noise on a sampled sum: the mechanism of DP-SGD, all steps released."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from dpexp.privacy.analysis import Analysis
from dpexp.privacy.lower_bounds import LowerBound
from dpexp.privacy.mechanisms.composition import (
    PARTITIONS,
    SAMPLING,
    Relation,
    Sampling,
    composition,
    composition_lower,
)
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Steps


class SampledGaussian(Mechanism):
    """`steps` releases of a sampled sum of vectors of norm at most C, with noise of noise_multiplier C."""

    noise_field: ClassVar[str] = "noise_multiplier"
    noise_multiplier: Noise
    """noise standard deviation over one record's largest norm"""
    sampling_probability: Annotated[float, Field(ge=0, le=1)]
    steps: Steps
    sampling: Sampling = "poisson"
    neighboring_relation: Relation = "add-remove"

    @model_validator(mode="after")
    def _partitions(self) -> SampledGaussian:
        q = self.sampling_probability
        if self.sampling in PARTITIONS and (q == 0 or abs(round(1 / q) * q - 1) > 1e-9):
            raise ValueError(f"a partition needs 1 / sampling_probability to be whole, not 1 / {q:g}")
        return self

    @property
    def _arguments(self) -> tuple[float, float, int, Sampling, Relation]:
        q = self.sampling_probability
        return q, self.noise_multiplier, self.steps if q > 0 else 0, self.sampling, self.neighboring_relation

    def analyses(self) -> list[Analysis]:
        return composition(*self._arguments)

    def lower_bounds(self) -> list[LowerBound]:
        return composition_lower(*self._arguments)

    def describe(self) -> list[tuple[str, str]]:
        return [
            ("Protected", f"every record against who sees the releases; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{SAMPLING[self.sampling]}, probability {self.sampling_probability:g}"),
            ("Noise", f"{self.noise_multiplier:g} times one record's largest norm, on every coordinate"),
            ("Released", f"all {self.steps:,} noisy sums, and therefore every iterate and average"),
        ]
