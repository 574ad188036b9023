"""Gaussian noise on the sum of a Poisson batch that is cut down to a largest size, as programs with fixed memory do."""

from __future__ import annotations

from functools import cache, partial
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from dpexp.accounting.mixed import truncated
from dpexp.accounting.sampling import Relation
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis, guarantee
from dpexp.privacy.analyses.composition import DIVIDED, NOISE, POISSON, trivial
from dpexp.privacy.lower_bounds import constant_gradients
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Steps

CUT = "a batch above the cap is cut to a uniform subset of it, not to the first records of an order, and not left out"
HIDDEN = "the sizes of the batches are not shown: a smaller batch is padded to the cap"
MIXED = "privacy loss distribution of a mixture: a cut batch meets the record more rarely, and it displaces another"


class TruncatedPoisson(Mechanism):
    """Poisson batches, each cut to a uniform subset of `cap` records where it is larger; all sums are released."""

    noise_field: ClassVar[str] = "noise_multiplier"
    drawn: ClassVar[str] = "truncated-poisson"
    n: Records
    sampling_probability: Annotated[float, Field(gt=0, lt=1)]
    cap: Records
    """largest number of records in a batch"""
    noise_multiplier: Noise
    """noise standard deviation over one record's largest norm"""
    steps: Steps
    neighboring_relation: Relation = "add-remove"

    @model_validator(mode="after")
    def _fits(self) -> TruncatedPoisson:
        if self.cap > self.n:
            raise ValueError(f"cap = {self.cap} is larger than n = {self.n}")
        return self

    @property
    def reached(self) -> float:
        """In how large a share of the steps the cap is reached."""
        step = truncated(self.n, self.sampling_probability, self.cap, 1.0)
        return float(step.present[-1]) if len(step.present) > 1 else float(step.distances[0] == 2)

    def upper_bounds(self) -> list[Analysis]:
        known = trivial(self.noise_multiplier, self.steps)
        if known:
            return [known]
        if self.neighboring_relation != "add-remove":
            reason = "truncated batches are analysed for add-remove neighbours alone"
            return [gaussian_analysis("none", "", ALL, float("inf"), (), reason)]
        step = truncated(self.n, self.sampling_probability, self.cap, self.noise_multiplier)
        eps = cache(partial(step.eps, self.steps))
        return [guarantee("pld-composition", MIXED, ALL, eps, (NOISE, POISSON, CUT, HIDDEN, DIVIDED))]

    def lower_bounds(self) -> list[Analysis]:
        """All others' gradients 0: a Poisson batch that meets the record as often as the truncated one does."""
        if trivial(self.noise_multiplier, self.steps) or self.neighboring_relation != "add-remove":
            return []
        # how often the record is met, over both kinds of steps
        step = truncated(self.n, self.sampling_probability, self.cap, self.noise_multiplier)
        met = float(step.present @ step.shares)
        return constant_gradients(met, self.noise_multiplier, self.steps, self.neighboring_relation)

    def description(self) -> list[tuple[str, str]]:
        return [
            ("Protected", f"every record against who sees the releases; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"every record independently, probability {self.sampling_probability:g}, {self.n:,} records"),
            ("Cap", f"{self.cap:,} records, reached in {self.reached:.2%} of the steps"),
            ("Noise", f"{self.noise_multiplier:g} times one record's largest norm, on every coordinate"),
            ("Released", f"all {self.steps:,} noisy sums, and therefore every iterate and average"),
        ]
