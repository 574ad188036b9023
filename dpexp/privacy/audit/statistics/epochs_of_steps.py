"""The log-likelihood ratio of all noisy sums where the record's batches are drawn epoch by epoch.

Given the batches that the record is in, the ratios of its steps multiply (`sampled_steps`): a sum of the x_t over these
steps, with x_t = (<r_t, g_t> - |g_t|^2 / 2) / s_t^2. What is not known is averaged over by the scheme's own law:

    balls in bins    sum over epochs of log( 1/t sum_j exp(x_(epoch, j)) ), each epoch being drawn anew
    secret bins      log( 1/t sum_j exp(sum over epochs of x_(epoch, j)) ), one draw for all of them
    cyclic Poisson   sum over the steps of the record's own group of log(1 - q + q exp(x_t))

In an epoch that ends early, a batch that is not there says nothing: x = 0.
"""

from __future__ import annotations

import numpy as np

from dpexp.privacy.audit.statistics.sampled_steps import coins, log_likelihood_ratio, log_ratios
from dpexp.privacy.batch_sampling import BatchSampling, Epochs


def log_likelihood_ratio_of(
    sampling: BatchSampling,
    drawn: Epochs | None,
    sums: np.ndarray,
    effects: np.ndarray,
    noise: np.ndarray,
    q: float,
) -> np.ndarray:
    """[R], of noisy sums [R, T, D] less what is known, effects [R, T, D] of the canary, which is the first record, and
    noise s_t [T]; `q` is the share of a batch, and `drawn` says how epochs are drawn, where they are."""
    if drawn is None:
        return log_likelihood_ratio(sums, effects, noise, q)
    ratios = log_ratios(sums, effects, noise)
    if sampling == "cyclic-poisson":
        return coins(ratios[:, :: drawn.batches], drawn.share)  # the first record is in the first group
    by_epoch = _by_epoch(ratios, drawn.batches)
    return _one_of(by_epoch).sum(axis=1) if sampling == "balls-in-bins" else _one_of(by_epoch.sum(axis=1))


def _by_epoch(ratios: np.ndarray, batches: int) -> np.ndarray:
    """[R, epochs, batches]; 0 for batches that an early end leaves out."""
    left_out = -ratios.shape[1] % batches
    return np.pad(ratios, ((0, 0), (0, left_out))).reshape(len(ratios), -1, batches)


def _one_of(ratios: np.ndarray) -> np.ndarray:
    """log of the mean of exp over the last axis."""
    return np.asarray(np.logaddexp.reduce(ratios, axis=-1) - np.log(ratios.shape[-1]))
