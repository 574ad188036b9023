"""Gaussian noise on Poisson sums whose batch sizes are shown, or divide the sums, which shows them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Annotated, ClassVar

from pydantic import Field

from dpexp.accounting.mixed import shown_sizes
from dpexp.accounting.sampling import Relation
from dpexp.privacy.analyses.analysis import ALL, Analysis, guarantee
from dpexp.privacy.analyses.composition import NOISE, POISSON, trivial
from dpexp.privacy.lower_bounds import constant_gradients
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Steps

SHOWN = "privacy loss distribution of sum and batch size together, one dominating pair for each size"
ANY = "the sizes may be shown, logged, or divide the sums"
PAIRS: dict[Relation, str] = {
    "add-remove": "all others' gradients are C, and the record's is -C, against none",
    "replace-one": "all others' gradients are C, and the record's is C, against -C",
}
"""what the sums attain less their sizes times C"""


class ShownSizes(Mechanism):
    """`steps` sums of Poisson batches with Gaussian noise, released with the number of records in each batch."""

    noise_field: ClassVar[str] = "noise_multiplier"
    drawn: ClassVar[str] = "poisson"
    n: Records
    """records of the smaller data set"""
    sampling_probability: Annotated[float, Field(gt=0, lt=1)]
    noise_multiplier: Noise
    """noise standard deviation over one record's largest norm"""
    steps: Steps
    neighboring_relation: Relation = "add-remove"

    def upper_bounds(self) -> list[Analysis]:
        known = trivial(self.noise_multiplier, self.steps)
        # without noise, or with noise that hides all of the sums, the sizes are still there
        if known and (known.name == "no-noise" or self.steps == 0):
            return [known]
        multiplier = min(self.noise_multiplier, 1e12)  # less noise is never more private
        step = shown_sizes(self.n, self.sampling_probability, multiplier, self.neighboring_relation)
        return [guarantee("pld-composition", SHOWN, ALL, cache(partial(step.eps, self.steps)), (NOISE, POISSON, ANY))]

    def lower_bounds(self) -> list[Analysis]:
        """The sums less C for every record of their batch: a sampled Gaussian that the record moves by 2 C."""
        if trivial(self.noise_multiplier, self.steps):
            return []
        pair = PAIRS[self.neighboring_relation]
        found = constant_gradients(self.sampling_probability, self.noise_multiplier / 2, self.steps, "add-remove")
        return [replace(bound, source=pair) for bound in found]

    def description(self) -> list[tuple[str, str]]:
        return [
            ("Protected", f"every record against who sees the releases; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"every record independently, probability {self.sampling_probability:g}, {self.n:,} records"),
            ("Noise", f"{self.noise_multiplier:g} times one record's largest norm, on every coordinate"),
            ("Released", f"all {self.steps:,} noisy sums with the sizes of their batches, and therefore every mean"),
        ]
