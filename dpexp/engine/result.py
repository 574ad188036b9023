"""The simulated numbers: of one pass over the random numbers, and of one of its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class CellData(NamedTuple):
    """The numbers of one setting, which is a cell of an experiment, as its trajectory file holds them."""

    steps: np.ndarray  # checkpoints, int64 [K]
    estimators: tuple[str, ...]
    metrics: tuple[str, ...]
    values: np.ndarray  # float64 [estimators, K, metrics, replicates]

    def joined(self, more: Sequence[CellData]) -> CellData:
        """With further replicates of the same setting, recorded at the same steps."""
        # replicates of another version of the setting would be averaged with these without a word
        for other in more:
            assert (other.estimators, other.metrics) == (self.estimators, self.metrics), "other quantities"
            assert np.array_equal(other.steps, self.steps), "other checkpoints"
        return self._replace(values=np.concatenate([self.values, *(other.values for other in more)], axis=-1))


class Passed(NamedTuple):
    """Metrics of every setting of one pass, at every checkpoint, for every replicate."""

    steps: np.ndarray  # checkpoints, int64 [K]
    estimators: tuple[str, ...]
    metrics: tuple[str, ...]
    values: np.ndarray  # float64 [settings, estimators, K, metrics, replicates]
    parameters: np.ndarray | None = None
    """after the last step, [settings, estimators, replicates, ...]; given where the records are a user's own"""

    def of(self, setting: int) -> CellData:
        """The numbers of one of the settings, in the order of the request."""
        return CellData(self.steps, self.estimators, self.metrics, self.values[setting])
