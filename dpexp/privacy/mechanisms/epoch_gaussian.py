"""Gaussian noise on the sums of batches that are drawn epoch by epoch, all sums of all epochs released."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from dpexp.accounting.allocation import epoch_loss
from dpexp.accounting.pairs import Relation, distance
from dpexp.privacy.analyses.analysis import ALL, Analysis, attained, gaussian_analysis, guarantee
from dpexp.privacy.analyses.composition import (
    DIVIDED,
    GROUPS,
    NOISE,
    ONE_BATCH,
    attained_sums,
    composition,
    linear_cyclic,
    linear_last,
)
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Steps, about_sums
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.privacy.samplings import RELATIONS, BatchSampling, Epochs

EpochSampling = Literal["balls-in-bins", "cyclic-poisson", "shuffled", "reshuffled"]
SAMPLING: dict[EpochSampling, str] = {
    "balls-in-bins": "every record draws one batch of every epoch, independently of all others",
    "cyclic-poisson": "a public partition into groups, used in turn; of the group of a step every record independently",
    "shuffled": "a random partition into batches of equal size, drawn once and repeated in every epoch",
    "reshuffled": "a new random order of the records in every epoch, cut into batches of equal size",
}
INDEPENDENT = "every record draws its batches independently of all others, and nobody sees which"
ALLOCATION = "privacy loss distribution of a random allocation, by pairwise combination, rounded up (docs page privacy)"
REPLACED = "; the record is removed, and then the other one added"
SHOWN = "Gaussian composition (Dong, Roth and Su, 2022), with every record's batches shown"


class EpochGaussian(Mechanism):
    """Noisy sums of `batches` batches in each of `epochs` epochs; records have vectors of norm at most C."""

    noise_field: ClassVar[str] = "noise_multiplier"
    noise_multiplier: Noise
    """noise standard deviation over one record's largest norm"""
    batches: Records
    """in an epoch; of cyclic-poisson the public groups"""
    epochs: Steps
    sampling: EpochSampling = "balls-in-bins"
    sampling_probability: Annotated[float, Field(gt=0, le=1)] = 1.0
    """of cyclic-poisson: of a record of the group whose turn it is"""
    unfinished: Records | None = None
    """batches of one more epoch, which ends early"""
    left_out: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """share of the records that whole batches leave out: they are in a short last batch of an epoch, or in none"""
    neighboring_relation: Relation = "add-remove"

    @model_validator(mode="after")
    def _fits(self) -> EpochGaussian:
        if self.sampling_probability < 1 and self.sampling != "cyclic-poisson":
            raise ValueError(f"sampling_probability is for cyclic-poisson; with {self.sampling} it is 1 / batches")
        if self.left_out and self.sampling == "cyclic-poisson":
            raise ValueError("left_out is for batches that are cut from all records, and not for cyclic-poisson")
        if self.unfinished is not None and self.unfinished >= self.batches:
            raise ValueError(f"unfinished: an epoch of {self.batches} batches that ends early has fewer of them")
        return self

    @property
    def _begun(self) -> int:
        """Epochs that are released, at least in part: what is left out of one could only help the adversary."""
        return self.epochs + (self.unfinished is not None)

    @property
    def _steps(self) -> int:
        return self.batches * self.epochs + (self.unfinished or 0)

    @property
    def _noisy(self) -> bool:
        return self._begun > 0 and 0 < self.noise_multiplier < math.inf

    def upper_bounds(self) -> list[Analysis]:
        z, relation = self.noise_multiplier, self.neighboring_relation
        if self.sampling == "cyclic-poisson":
            # the steps of a record's own group are sampled Gaussians, and the others do not see the record
            analyses = composition([(z, self.sampling_probability, self._begun)], "poisson", relation)
            return [replace(a, assumptions=(*a.assumptions, GROUPS)) for a in analyses]
        # batches of one size cut from an order are not drawn independently: composed as if the order were known
        if self.sampling == "shuffled" or self.sampling == "reshuffled":
            return composition([(z, 1 / self.batches, self._steps)], self.sampling, relation)
        if not self._noisy:
            return composition([(z, 1.0, self._begun)], "full-batch", relation)
        # given the batches that a record is in, its steps are Gaussian: showing them can only help the adversary
        mu = distance(relation) * math.sqrt(self._begun) / z
        plain = gaussian_analysis("gaussian-composition", SHOWN, ALL, mu, (NOISE, ONE_BATCH, DIVIDED))
        epochs, replaced = epoch_loss(1 / z, self.batches).times(self._begun), relation == "replace-one"
        eps, direct = (epochs.eps_of_replaced, None) if replaced else (epochs.eps, epochs.delta)
        source, assumed = ALLOCATION + (REPLACED if replaced else ""), (NOISE, ONE_BATCH, INDEPENDENT, DIVIDED)
        return [guarantee("pld-composition", source, ALL, cache(eps), assumed, direct=direct), plain]

    def lower_bounds(self) -> list[Analysis]:
        if not self._noisy:
            return []
        z, relation = self.noise_multiplier, self.neighboring_relation
        if self.sampling == "cyclic-poisson":
            # a record of the first group is used in every epoch that is begun; the noise of all steps is in the last
            # iterate, the record in those of its group alone
            q, begun = self.sampling_probability, self._begun
            sums = attained_sums([(z, q, begun)], "poisson", relation)
            return [*sums, *linear_last(q, z * math.sqrt(self._steps / begun), begun, relation)]
        # those that are surely finished: a short last batch, which an epoch may have, is one more step
        epochs = self._steps // (self.batches + 1) if self.left_out else self.epochs
        if not epochs:
            return []
        # linear losses add up: the last iterate has the record once an epoch, and the noise of all steps; a record that
        # an unfinished epoch has too is told more easily: one sum is larger, and the other is not
        if not self.left_out:
            return [self._secret_order(epochs), linear_cyclic(epochs, z, self._steps, relation)]
        last = linear_last(1 - self.left_out, z * math.sqrt(self._steps / epochs), epochs, relation)
        return [self._secret_order(epochs), *last]

    def _secret_order(self, epochs: int) -> Analysis:
        """The whole batches of whole epochs, constant gradients: balls in bins, rounded down.

        What is left out of the release, an epoch that ends early and short batches, could only help.
        """
        z, replaced = self.noise_multiplier, self.neighboring_relation == "replace-one"
        if replaced and self.sampling in ("shuffled", "reshuffled"):
            # records are cut into batches of equal size: every sum is -b C, and the record makes one of them 2 C more
            mu, pair = 2 / z, "constant gradients: the record's C against -C; all others' are -C"
        else:
            # records draw their batches independently, so that others say nothing; a replaced one is held against 0
            other = "0" if replaced else "no record's"
            mu, pair = 1 / z, f"constant gradients: the record's C against {other}; all others' are 0"
        # one secret batch for all epochs: its sums over the epochs are one epoch with the noise over sqrt(epochs)
        fresh = self.sampling in ("balls-in-bins", "reshuffled")
        loss = epoch_loss(mu if fresh else mu * math.sqrt(epochs), self.batches, self.left_out)
        return attained("exact-composition", ALL, pair, loss.times(epochs if fresh else 1).attained)

    def description(self) -> list[tuple[str, str]]:
        share = f"; probability {self.sampling_probability:g}" if self.sampling == "cyclic-poisson" else ""
        called = "groups" if self.sampling == "cyclic-poisson" else "batches an epoch"
        ends = "; the last epoch ends early, and is counted as a whole one" if self.unfinished else ""
        drawn = f"{SAMPLING[self.sampling]}; {self.batches:,} {called}{share}"
        return about_sums(self.neighboring_relation, drawn, self.noise_multiplier, self._steps, ends)


def noisy_batches(
    sampling: BatchSampling, share: float, steps: int, multiplier: float, by_epochs: Epochs | None
) -> SampledGaussian | EpochGaussian:
    """The mechanism of `steps` noisy sums of batches of the share batch_size / n, of the scheme that draws them.

    `by_epochs` where batches are drawn epoch by epoch; `multiplier` is the noise over the largest norm of one record. A
    last epoch that ends early is stated as such.
    """
    values: dict[str, Any] = {"noise_multiplier": multiplier, "neighboring_relation": RELATIONS[sampling]}
    if by_epochs is None:
        # shuffled batches of a config are a new order in every epoch
        values["sampling"] = "reshuffled" if sampling == "shuffled" else sampling
        return SampledGaussian(**values, sampling_probability=share, steps=steps)
    batches, values["sampling_probability"] = by_epochs
    epochs, unfinished = divmod(steps, batches)
    values |= {"sampling": sampling, "batches": batches, "epochs": epochs}
    return EpochGaussian(**values, unfinished=unfinished or None)


def called(mechanism: SampledGaussian | EpochGaussian) -> str:
    """Its name in MECHANISMS."""
    return "epoch-gaussian" if isinstance(mechanism, EpochGaussian) else "sampled-gaussian"
