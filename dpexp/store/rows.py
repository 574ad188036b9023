"""A cell's row of cells.parquet: its parameters, what its privacy statement says, and how its replicates ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpexp.store.summaries import CellData, too_far

if TYPE_CHECKING:
    from dpexp.config import Cell


def row_of(cell: Cell, deltas: Sequence[float], data: CellData) -> dict[str, Any]:
    """The cell's row of cells.parquet: nothing in it differs between two reproductions."""
    mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    wild = int(too_far(data, cell.run.diverged_above).any(axis=(0, 1)).sum())
    return {
        "cell_id": cell.cell_id,
        **cell.columns(),
        **mechanism.row(tuple(deltas)),
        "status": "diverged" if wild else "done",
        "reason": f"{wild} replicates diverged" if wild else "",
        "replicates": data.values.shape[-1],
        "n_diverged": wild,
        **({"projections": _last(data, "projections")} if "projections" in data.metrics else {}),
    }


def _last(data: CellData, metric: str) -> float:
    return float(data.values[0, -1, data.metrics.index(metric)].mean())
