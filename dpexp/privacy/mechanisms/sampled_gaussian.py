"""Gaussian noise on a sampled sum: the mechanism of DP-SGD, all steps released, in one phase or several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer, WrapValidator, model_validator

from dpexp.accounting.pairs import ONCE_AN_EPOCH, Relation, Sampling
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.composition import Phase, attained_unprojected, composition
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Steps, about_sums
from dpexp.privacy.samplings import SAMPLING, epoch_text, partition_complaint


def _each(value: Any, valid: Callable[[Any], Any]) -> Any:
    """A list of values, one a phase, as a tuple; a list of one is that value."""
    if not isinstance(value, list | tuple):
        return valid(value)
    if not value:
        raise ValueError("an empty list has no phase")
    return tuple(valid(v) for v in value) if len(value) > 1 else valid(value[0])


PHASES = WrapValidator(_each), PlainSerializer(lambda value: value, return_type=Any)


class SampledGaussian(Mechanism):
    """`steps` releases of a sampled sum of vectors of norm at most C, with noise of noise_multiplier C.

    Several phases are lists of one length; a single value holds for all of them.
    """

    noise_field: ClassVar[str] = "noise_multiplier"
    noise_multiplier: Annotated[Noise, *PHASES]
    """noise standard deviation over one record's largest norm"""
    sampling_probability: Annotated[float, Field(ge=0, le=1), *PHASES]
    steps: Annotated[Steps, *PHASES]
    sampling: Sampling = "poisson"
    neighboring_relation: Relation = "add-remove"

    @model_validator(mode="after")
    def _fits(self) -> SampledGaussian:
        values: tuple[Any, ...] = self.noise_multiplier, self.sampling_probability, self.steps
        lengths = {len(v) for v in values if isinstance(v, tuple)}
        if len(lengths) > 1:
            raise ValueError(f"phases are lists of one length, not of {' and '.join(map(str, sorted(lengths)))}")
        if lengths and self.sampling in ONCE_AN_EPOCH:
            raise ValueError(f"several phases need fresh random batches or full ones, not {self.sampling}")
        for _, q, _ in self.phases:
            complaint = partition_complaint(q, self.sampling)
            if complaint:
                raise ValueError(complaint)
        return self

    @property
    def phases(self) -> list[Phase]:
        """(noise multiplier, sampling probability, steps) of every phase."""
        values: tuple[Any, ...] = self.noise_multiplier, self.sampling_probability, self.steps
        count = max(len(v) if isinstance(v, tuple) else 1 for v in values)
        return list(zip(*(v if isinstance(v, tuple) else (v,) * count for v in values), strict=True))

    def upper_bounds(self) -> list[Analysis]:
        return composition(self.phases, self.sampling, self.neighboring_relation)

    def lower_bounds(self) -> list[Analysis]:
        return attained_unprojected(self.phases, self.sampling, self.neighboring_relation)

    def description(self) -> list[tuple[str, str]]:
        def listed(column: int, form: str) -> str:
            return ", then ".join(dict.fromkeys(format(phase[column], form) for phase in self.phases))

        total = sum(steps for _, _, steps in self.phases)
        once = self.sampling in ONCE_AN_EPOCH
        share = epoch_text(self.phases[0][1]) if once else f"probability {listed(1, 'g')}"
        return about_sums(self.neighboring_relation, f"{SAMPLING[self.sampling]}, {share}", listed(0, "g"), total)
