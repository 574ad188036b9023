"""The noisy sums of an algorithm on batches, as a mechanism: the one of exactly the scheme that draws the batches."""

from __future__ import annotations

from dpexp.accounting.sampling import Sampling
from dpexp.privacy.batch_sampling import RELATIONS, BatchSampling, Epochs
from dpexp.privacy.mechanisms.epoch_gaussian import EpochGaussian
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian

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
    if sampling in ("balls-in-bins", "cyclic-poisson"):
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
