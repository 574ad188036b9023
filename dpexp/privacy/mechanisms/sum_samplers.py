"""Gaussian noise on sums of batches that programs draw otherwise: cut to a size, shown with their size, or k of t."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from dpexp.accounting.allocation import AllocatedEpochs
from dpexp.accounting.curve import larger
from dpexp.accounting.loss_steps import shown_sizes, truncated
from dpexp.accounting.pairs import Relation, distance
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis, guarantee
from dpexp.privacy.analyses.composition import DIVIDED, NOISE, POISSON, attained_unprojected, linear_cyclic, trivial
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Steps, about_sums

CUT = "a batch above the cap is cut to a uniform subset of it, not to the first records of an order, and not left out"
HIDDEN = "the sizes of the batches are not shown: a smaller batch is padded to the cap"
MIXED = "privacy loss distribution of a mixture: a cut batch meets the record more rarely, and it displaces another"
SHOWN = "privacy loss distribution of sum and batch size together, one dominating pair for each size"
ANY = "the sizes may be shown, logged, or divide the sums"
PAIRS: dict[Relation, str] = {
    "add-remove": "all others' gradients are C, and the record's is -C, against none",
    "replace-one": "all others' gradients are C, and the record's is C, against -C",
}
"""what the sums attain less their sizes times C"""
SUBSET = "every record draws its k steps of an epoch uniformly, independently of all others, and nobody sees which"
BLOCKS = (
    "the steps cut into k random blocks, one step drawn of each: a uniform subset, by joint convexity no worse than k "
    "epochs of one step each (an upper bound; docs page privacy)"
)
GIVEN = "Gaussian composition (Dong, Roth and Su, 2022), with every record's steps shown"


class _PoissonSums(Mechanism):
    """`steps` sums of Poisson batches of n records."""

    noise_field: ClassVar[str] = "noise_multiplier"
    shown: ClassVar[str] = ""
    """what is released with the sums"""
    n: Records
    """records; where one may be added or removed, neighbours with one more and with one fewer are covered"""
    sampling_probability: Annotated[float, Field(gt=0, lt=1)]
    noise_multiplier: Noise
    """noise standard deviation over one record's largest norm"""
    steps: Steps
    neighboring_relation: Relation = "add-remove"

    def description(self) -> list[tuple[str, str]]:
        drawn = f"every record independently, probability {self.sampling_probability:g}, {self.n:,} records"
        return about_sums(self.neighboring_relation, drawn, self.noise_multiplier, self.steps, self.shown)


class TruncatedPoisson(_PoissonSums):
    """Poisson batches, each cut to a uniform subset of `cap` records where it is larger; all sums are released."""

    drawn: ClassVar[str] = "truncated-poisson"
    cap: Records
    """largest number of records in a batch"""

    @model_validator(mode="after")
    def _fits(self) -> TruncatedPoisson:
        if self.cap > self.n:
            raise ValueError(f"cap = {self.cap} is larger than n = {self.n}")
        return self

    def upper_bounds(self) -> list[Analysis]:
        known = trivial(self.noise_multiplier, self.steps)
        if known:
            return [known]
        if self.neighboring_relation != "add-remove":
            reason = "truncated batches are analysed for add-remove neighbours alone"
            return [gaussian_analysis("none", "", ALL, math.inf, (), reason)]
        steps = (truncated(n, self.sampling_probability, self.cap, self.noise_multiplier) for n in (self.n, self.n + 1))
        curve = larger([step.times(self.steps).curve for step in steps])
        assumed = (NOISE, POISSON, CUT, HIDDEN, DIVIDED)
        return [guarantee("pld-composition", MIXED, ALL, curve.eps, assumed, direct=curve.direct)]

    def lower_bounds(self) -> list[Analysis]:
        """All others' gradients 0: a Poisson batch that meets the record as often as the truncated one does."""
        if trivial(self.noise_multiplier, self.steps) or self.neighboring_relation != "add-remove":
            return []
        # how often the record is met, over both kinds of steps
        step = truncated(self.n, self.sampling_probability, self.cap, self.noise_multiplier)
        met = float(step.present @ step.shares)
        return attained_unprojected([(self.noise_multiplier, met, self.steps)], "poisson", self.neighboring_relation)

    def description(self) -> list[tuple[str, str]]:
        return [*super().description(), ("Cap", f"{self.cap:,} records")]


class ShownSizes(_PoissonSums):
    """Sums of Poisson batches, released with the number of records in each batch, or divided by it, which shows it."""

    drawn: ClassVar[str] = "poisson"
    shown: ClassVar[str] = ", with the sizes of their batches"

    def upper_bounds(self) -> list[Analysis]:
        known = trivial(self.noise_multiplier, self.steps)
        # without noise, or with noise that hides all of the sums, the sizes are still there
        if known and (known.name == "no-noise" or self.steps == 0):
            return [known]
        multiplier = min(self.noise_multiplier, 1e12)  # less noise is never more private
        # one more record, at its largest norm, is a coin that anybody may toss: the fewest records are the worst
        fewest = self.n - (self.neighboring_relation == "add-remove")
        step = shown_sizes(fewest, self.sampling_probability, multiplier, self.neighboring_relation)
        steps = step.times(self.steps)
        return [guarantee("pld-composition", SHOWN, ALL, steps.eps, (NOISE, POISSON, ANY), direct=steps.delta)]

    def lower_bounds(self) -> list[Analysis]:
        """The sums less C for every record of their batch: a sampled Gaussian that the record moves by 2 C."""
        if trivial(self.noise_multiplier, self.steps):
            return []
        phase = self.noise_multiplier / 2, self.sampling_probability, self.steps
        bounds = attained_unprojected([phase], "poisson", "add-remove")
        return [replace(bound, source=PAIRS[self.neighboring_relation]) for bound in bounds]


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
        plain = gaussian_analysis("gaussian-composition", GIVEN, ALL, mu, (NOISE, DIVIDED))
        # blocks dominate for records that are there or not; with all steps selected nothing is random
        if self.neighboring_relation != "add-remove" or self.selected == self.steps_per_epoch:
            return [plain]
        size, larger = divmod(self.steps_per_epoch, self.selected)
        blocks = ((size, self.selected - larger), (size + 1, larger))
        # (distance in noise units, steps of a block, how many such blocks) of all epochs
        kinds = tuple((1 / self.noise_multiplier, steps, times * self.epochs) for steps, times in blocks if times)
        eps = cache(AllocatedEpochs.of(kinds).eps)
        return [guarantee("pld-composition", BLOCKS, ALL, eps, (NOISE, SUBSET, DIVIDED)), plain]

    def lower_bounds(self) -> list[Analysis]:
        """The last iterate of linear losses: their sum has the record `selected` times an epoch."""
        uses, steps = self.selected * self.epochs, self.steps_per_epoch * self.epochs
        if trivial(self.noise_multiplier, uses):
            return []
        return [linear_cyclic(uses, self.noise_multiplier, steps, self.neighboring_relation)]

    def description(self) -> list[tuple[str, str]]:
        drawn = f"every record in {self.selected} random steps of the {self.steps_per_epoch} of every epoch"
        steps = self.steps_per_epoch * self.epochs
        return about_sums(self.neighboring_relation, drawn, self.noise_multiplier, steps)
