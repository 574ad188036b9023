"""What one pass over the random numbers returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Passed(NamedTuple):
    """Metrics of every setting of one pass, at every checkpoint, for every replicate."""

    steps: np.ndarray
    """checkpoints, int64 [K]"""
    estimators: tuple[str, ...]
    metrics: tuple[str, ...]
    values: np.ndarray
    """float64 [settings, estimators, K, metrics, replicates]"""
