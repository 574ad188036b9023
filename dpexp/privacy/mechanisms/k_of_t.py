"""Gaussian noise on sums in which every record is in k random ones of the t steps of an epoch."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import ClassVar

from pydantic import model_validator

from dpexp.accounting.epochs import composed_epochs_eps
from dpexp.accounting.sampling import Relation, distance
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis, guarantee
from dpexp.privacy.analyses.composition import DIVIDED, NOISE, trivial
from dpexp.privacy.lower_bounds import linear_cyclic
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Steps

SUBSET = "every record draws its k steps of an epoch uniformly, independently of all others, and nobody sees which"
BLOCKS = (
    "the steps cut into k random blocks, one step drawn of each: a uniform subset, by joint convexity no worse than k "
    "epochs of one step each (an upper bound; docs page privacy)"
)
GIVEN = "Gaussian composition (Dong, Roth and Su, 2022), with every record's steps shown"


class KOfT(Mechanism):
    """Every record is in `selected` random ones of the `steps_per_epoch` steps of an epoch; all sums are released."""

    noise_field: ClassVar[str] = "noise_multiplier"
    drawn: ClassVar[str] = "k-of-t"
    steps_per_epoch: Records
    selected: Records
    """steps of an epoch in which a record is"""
    epochs: Steps
    noise_multiplier: Noise
    """noise standard deviation over one record's largest norm"""
    neighboring_relation: Relation = "add-remove"

    @model_validator(mode="after")
    def _fits(self) -> KOfT:
        if self.selected > self.steps_per_epoch:
            raise ValueError(f"selected = {self.selected} is more than the {self.steps_per_epoch} steps of an epoch")
        return self

    def upper_bounds(self) -> list[Analysis]:
        uses = self.selected * self.epochs
        known = trivial(self.noise_multiplier, uses)
        if known:
            return [known]
        mu = distance(self.neighboring_relation) * math.sqrt(uses) / self.noise_multiplier
        shown = gaussian_analysis("gaussian-composition", GIVEN, ALL, mu, (NOISE, DIVIDED))
        # blocks dominate for records that are there or not; with all steps selected nothing is random
        if self.neighboring_relation != "add-remove" or self.selected == self.steps_per_epoch:
            return [shown]
        eps = cache(partial(composed_epochs_eps, self._blocks()))
        return [guarantee("pld-composition", BLOCKS, ALL, eps, (NOISE, SUBSET, DIVIDED)), shown]

    def _blocks(self) -> tuple[tuple[float, int, int], ...]:
        """(distance in noise units, steps of a block, how many such blocks) of all epochs."""
        size, larger = divmod(self.steps_per_epoch, self.selected)
        counts = ((size, self.selected - larger), (size + 1, larger))
        return tuple((1 / self.noise_multiplier, steps, times * self.epochs) for steps, times in counts if times)

    def lower_bounds(self) -> list[Analysis]:
        """The last iterate of linear losses: their sum has the record `selected` times an epoch."""
        uses = self.selected * self.epochs
        if trivial(self.noise_multiplier, uses):
            return []
        steps = self.steps_per_epoch * self.epochs
        return [linear_cyclic(uses, self.noise_multiplier, steps, distance(self.neighboring_relation))]

    def description(self) -> list[tuple[str, str]]:
        steps = self.steps_per_epoch * self.epochs
        return [
            ("Protected", f"every record against who sees the releases; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"every record in {self.selected} random steps of the {self.steps_per_epoch} of every epoch"),
            ("Noise", f"{self.noise_multiplier:g} times one record's largest norm, on every coordinate"),
            ("Released", f"all {steps:,} noisy sums, and therefore every iterate and average"),
        ]
