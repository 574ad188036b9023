"""The simulated numbers: of one pass over the random numbers, and of one of its settings; and metrics of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.parameters import Registry

METRICS: Registry[Callable[[np.ndarray, Any], np.ndarray]] = Registry("metric", {})
"""what `run.metrics` can name: functions of the parameters of a setting [estimators, replicates, ...] and its problem
that return numbers [estimators, replicates]"""


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
    """after the last step, [settings, estimators, replicates, ...]"""

    def of(self, setting: int) -> CellData:
        """The numbers of one of the settings, in the order of the request."""
        return CellData(self.steps, self.estimators, self.metrics, self.values[setting])


@np.errstate(all="ignore")  # of a replicate that has diverged
def measured(name: str, parameters: np.ndarray, problem: Any) -> np.ndarray:
    """A metric of METRICS, float64 [estimators, replicates]. Raises UsageError where it returns no such numbers."""
    numbers: np.ndarray = np.empty(parameters.shape[:2])
    for r in range(numbers.shape[1]):
        # one by one, so that a number depends on its own replicate alone; a copy, which the function may change
        values: Any = METRICS[name](parameters[:, [r]].copy(), problem)
        is_array, shape = type(values) is np.ndarray, (len(numbers), 1)
        if not is_array or values.shape != shape or values.dtype.kind not in "fiub":
            got = f"{values.dtype} {values.shape}" if is_array else f"a value of type {type(values).__name__}"
            message = f"metric '{name}' returned {got}, not numbers [estimators, replicates], here {shape}"
            raise UsageError(f"{METRICS.source(name)}: {message}")
        numbers[:, r] = values[:, 0]
    return numbers
