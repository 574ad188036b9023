"""How many records are in a batch, and by how much a step on so many of them contracts.

A step divides the sum of the batch's gradients by a fixed number b. With batches of fixed size that is their size; with
Poisson sampling a batch has k ~ Bin(n, q) records, so that the step on it is one of length eta k / b: an empty batch
does not contract, and a large one can expand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpexp.engine.elementary import exp
from dpexp.privacy.accounting.binomials import likely_counts

FLOOR = -60.0
"""log probability (1e-26) below which a size is left out, and its probability charged in full"""


@dataclass(frozen=True)
class Sizes:
    """Batch sizes [A], their probabilities [A], and a bound on the probability of all others."""

    counts: np.ndarray
    masses: np.ndarray
    dropped: float


def poisson_sizes(records: int, q: float) -> Sizes:
    """The sizes of Poisson batches from so many records."""
    counts, logs = likely_counts(records, q, FLOOR)
    left_out = max(0, records + 1 - len(counts)) if 0 < q < 1 else 0
    return Sizes(counts, exp(logs), min(1.0, left_out * float(exp(np.array(FLOOR)))))


def step_factors(counts: np.ndarray, least: float, largest: float) -> np.ndarray:
    """max(|1 - m_k|, |1 - M_k|) with m_k = `least` k, M_k = `largest` k: Lipschitz constants of gradient steps, [A].

    `least` = eta m / b and `largest` = eta M / b for m-strongly convex, M-smooth records; the sum over k of them is
    k m-strongly convex and k M-smooth.
    """
    return np.maximum(np.abs(1 - least * counts), np.abs(1 - largest * counts))
