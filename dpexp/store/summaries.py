"""Summary rows of a cell: every estimator, metric and checkpoint over its replicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpexp.engine.result import CellData
from dpexp.store.stats import COLUMNS, summarise

if TYPE_CHECKING:
    import pyarrow as pa


def too_far(data: CellData, limit: float) -> np.ndarray:
    """Where a replicate's parameter is farther than `limit` from the optimum, or a number is not finite: diverged.

    Where the optimum is not known, farther than `limit` from zero. A metric that overflowed, or is not a number, is no
    result, however near the parameter may be. Bool [estimators, K, replicates].
    """
    size = next(name for name in ("param_distance_sq", "param_norm_sq") if name in data.metrics)
    lost: np.ndarray = ~np.isfinite(data.values).all(axis=2)
    lost |= ~(data.values[:, :, data.metrics.index(size)] <= limit**2)
    return lost


def with_distance(data: CellData) -> list[tuple[str, np.ndarray]]:
    """The metrics by name, each [estimators, K, replicates]; the distance joins its square."""
    columns = [(name, data.values[:, :, m]) for m, name in enumerate(data.metrics)]
    squares = [values for name, values in columns if name == "param_distance_sq"]
    return [*(("param_distance", np.sqrt(values)) for values in squares), *columns]


def summary_table(cell_id: str, data: CellData, diverged: np.ndarray) -> pa.Table:
    """Rows of summary.parquet for one cell: by estimator, then metric, then step."""
    import pyarrow as pa

    columns_of = with_distance(data)
    e, k, m = len(data.estimators), len(data.steps), len(columns_of)
    each = [summarise(values, diverged) for _, values in columns_of]

    def names(codes: np.ndarray, labels: Sequence[str]) -> pa.Array:
        coded = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(labels)))
        return coded.cast(pa.string())

    columns = {
        "cell_id": names(np.zeros(e * m * k), [cell_id]),
        "estimator": names(np.repeat(np.arange(e), m * k), data.estimators),
        "step": np.tile(data.steps, e * m),
        "metric": names(np.tile(np.repeat(np.arange(m), k), e), [name for name, _ in columns_of]),
    }
    found = {name: np.stack([one[name] for one in each], axis=1).ravel() for name in COLUMNS}
    return pa.table({**columns, **found})
