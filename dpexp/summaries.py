"""Summary rows of a cell: every estimator, metric and checkpoint over its replicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.stats import COLUMNS, summarise

if TYPE_CHECKING:
    import pyarrow as pa


class CellData(NamedTuple):
    """The numbers of a cell, as its trajectory file holds them."""

    steps: np.ndarray
    """int64 [K]"""
    estimators: tuple[str, ...]
    metrics: tuple[str, ...]
    values: np.ndarray
    """float64 [estimators, K, metrics, replicates]"""


def too_far(data: CellData, limit: float) -> np.ndarray:
    """Where a replicate's parameter is not finite or farther than `limit` from the optimum: it counts as diverged.

    Bool [estimators, K, replicates].
    """
    return ~(data.values[:, :, data.metrics.index("param_distance_sq")] <= limit**2)


def summary_table(cell_id: str, data: CellData, diverged: np.ndarray) -> pa.Table:
    """Rows of summary.parquet for one cell: by estimator, then metric, then step. The distance joins the metrics."""
    import pyarrow as pa

    distance = np.sqrt(data.values[:, :, [data.metrics.index("param_distance_sq")]])
    values = np.concatenate([distance, data.values], axis=2).transpose(0, 2, 1, 3)
    metrics = ("param_distance", *data.metrics)
    e, m, k, _ = values.shape

    def names(codes: np.ndarray, labels: Sequence[str]) -> pa.Array:
        coded = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(labels)))
        return coded.cast(pa.string())

    columns = {
        "cell_id": names(np.zeros(e * m * k), [cell_id]),
        "estimator": names(np.repeat(np.arange(e), m * k), data.estimators),
        "step": np.tile(data.steps, e * m),
        "metric": names(np.tile(np.repeat(np.arange(m), k), e), metrics),
    }
    summary = summarise(values, np.broadcast_to(diverged[:, None], values.shape))
    return pa.table({**columns, **{name: summary[name].ravel() for name in COLUMNS}})
