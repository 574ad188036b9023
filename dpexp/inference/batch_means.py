"""`batch-means`: Student's interval over the means of K equal consecutive batches of one path, after its burn-in."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from dpexp.inference import critical_values
from dpexp.inference.interval import Interval, symmetric_interval
from dpexp.inference.paths import Snapshot


def batch_means(boundaries: Sequence[Snapshot], level: float) -> Interval:
    """From snapshots at the end of the burn-in and at the end of each of the K batches."""
    means = np.stack([(b.sums.total - a.sums.total).T / (b.users - a.users) for a, b in itertools.pairwise(boundaries)])
    count = len(means)
    half = critical_values.student(level, count - 1) * means.std(axis=0, ddof=1) / math.sqrt(count)
    return symmetric_interval(means.mean(axis=0), half)
