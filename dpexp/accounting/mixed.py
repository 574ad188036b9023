"""Poisson batches whose sizes are known, and those that are cut where they are too large: steps of several kinds."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpexp.accounting.binomials import binomial_log_masses, likely_counts
from dpexp.accounting.functions import exp
from dpexp.accounting.loss_steps import StepLoss
from dpexp.accounting.sampling import Relation

LEAST_KIND = 1e-30
"""probability of a kind that is left out: a million of them over a million steps are far below any delta"""
LEAST_OVER = 1e-290
"""probability of a cut batch below which a double has few digits left, and far below all deltas that are stated"""


@lru_cache(maxsize=16)
def shown_sizes(n: int, q: float, multiplier: float, relation: Relation) -> StepLoss:
    """A Poisson batch of the share q of n records whose size M is known; `multiplier` is noise over one record's norm.

    Added or removed: with the record M is Bin(n + 1, q), and given M the record is in the batch with probability
    M / (n + 1), the rest being a uniform subset of the others; without it M is Bin(n, q). Pair the two batches so that
    the record replaces one of the others. Then it moves the sum by up to two norms, and by convexity over the
    pairing the worst is (1 - f) N(0, 1) + f N(2 mu, 1) against N(0, 1), f = M / (n + 1). All others' gradients
    C and the record's -C attain it. Replaced: M has one law, and given M the batch is a uniform subset, as a batch of
    fixed size is.
    """
    replaced = relation == "replace-one"
    trials = n if replaced else n + 1
    sizes, logs = likely_counts(trials, q, math.log(LEAST_KIND))
    # a size that only the larger data set can have identifies the record
    common = sizes <= n
    lost = float(exp(logs[~common]).sum()) + (trials + 1 - len(sizes)) * LEAST_KIND
    sizes, present = sizes[common], exp(logs[common])
    # an empty batch shows its size alone; a share above 0 can only help the adversary
    shares, noise = np.maximum(sizes / trials, LEAST_KIND), np.full(len(sizes), multiplier / 2)
    if replaced:
        return StepLoss(shares, noise, "fixed-size", present, present, lost)
    # the sizes themselves depend on the record, so that no Gaussian step is a bound
    return StepLoss(shares, noise, "add-remove", present, exp(binomial_log_masses(sizes, n, q)), lost, math.inf)


@lru_cache(maxsize=16)
def truncated(n: int, q: float, cap: int, multiplier: float) -> StepLoss:
    """A Poisson batch of n records, cut to a uniform subset of `cap` where it is larger; add-remove, sizes hidden.

    Let K be what the others draw, Bin(n - 1, q). The kinds are K < cap and K >= cap: showing which of the two a step is
    can only help the adversary.
    """
    over, share, lost = _reached(n - 1, q, cap), q, 0.0  # P(K >= cap)
    if cap >= n or over < LEAST_OVER:
        over, lost = 0.0, over
    else:
        # The record is met with the probability q cap / (K + 1). Given K >= cap the others' subset is uniform whatever
        # K is, so that K need not be shown, and the mean over K is (cap / n) P(Bin(n, q) > cap) / P(K >= cap).
        share = min(1.0, cap / n * _reached(n, q, cap + 1) / over)
    # below the cap the record moves the sum by one norm; above it stands where another would have stood: two norms
    weights, shares, noise = (np.array(pair) for pair in ((1 - over, over), (q, share), (multiplier, multiplier / 2)))
    used = weights > 0
    return StepLoss(shares[used], noise[used], "add-remove", weights[used], weights[used], lost)


def _reached(trials: int, q: float, least: int) -> float:
    """P(Bin(trials, q) >= least)."""
    counts, logs = likely_counts(trials, q, -700.0)
    return float(exp(logs[counts >= least]).sum())
