"""How algorithms on batches draw them, who is protected under each scheme, and the mechanism of their noisy sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dpexp.privacy.analyses.composition import Sampling
from dpexp.privacy.mechanisms.epoch_gaussian import EpochGaussian
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian

if TYPE_CHECKING:
    from dpexp.privacy.analyses.analysis import Relation

BatchSampling = Literal["poisson", "fixed-size", "shuffled", "balls-in-bins", "secret-bins", "cyclic-poisson"]
"""what a config calls the sampling schemes of algorithms on batches"""
RELATIONS: dict[BatchSampling, Relation] = {
    "poisson": "add-remove",
    "fixed-size": "replace-one",
    "shuffled": "replace-one",
    "balls-in-bins": "add-remove",
    "secret-bins": "add-remove",
    "cyclic-poisson": "add-remove",
}
"""sampling scheme -> the neighbours for which its privacy is stated"""
INTO_BINS: tuple[BatchSampling, ...] = ("balls-in-bins", "secret-bins")
"""a record is in one batch of every epoch, and nobody sees in which"""


@dataclass(frozen=True)
class Epochs:
    """Steps that go round: how many make an epoch, and with what probability a record is in those that it may be in."""

    batches: int
    """steps of an epoch: bins, or public groups"""
    share: float = 1.0
    """of cyclic-poisson: the probability of a record of the group whose turn it is"""


SCHEMES: dict[BatchSampling, Sampling] = {
    "poisson": "poisson",
    "fixed-size": "fixed-size",
    "shuffled": "reshuffled",
}
"""sampling scheme of a config -> what `sampled-gaussian` calls it: shuffled batches are a new order in every epoch"""


def noisy_batches(
    sampling: BatchSampling, share: float, steps: int, multiplier: float, by_epochs: Epochs | None
) -> SampledGaussian | EpochGaussian:
    """`steps` sums of batches of the share batch_size / n; `by_epochs` where batches are drawn epoch by epoch.

    `multiplier` is the noise over the largest norm of one record. A last epoch that ends early is stated as such.
    """
    relation = RELATIONS[sampling]
    if sampling in ("balls-in-bins", "secret-bins", "cyclic-poisson"):
        assert by_epochs is not None, sampling
        epochs, unfinished = divmod(steps, by_epochs.batches)
        return EpochGaussian(
            noise_multiplier=multiplier,
            batches=by_epochs.batches,
            epochs=epochs,
            sampling=sampling,
            sampling_probability=by_epochs.share,
            unfinished=unfinished or None,
            neighboring_relation=relation,
        )
    return SampledGaussian(
        noise_multiplier=multiplier,
        sampling_probability=share,
        steps=steps,
        sampling=SCHEMES[sampling],
        neighboring_relation=relation,
    )


def called(mechanism: SampledGaussian | EpochGaussian) -> str:
    """Its name in MECHANISMS."""
    return "epoch-gaussian" if isinstance(mechanism, EpochGaussian) else "sampled-gaussian"
