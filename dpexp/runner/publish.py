"""Write the results folder: trajectories of the new cells, then the derived cells, summary and manifest."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.config import Cell, Experiment
from dpexp.fingerprint import closure, code_of
from dpexp.provenance import commit, machine, versions
from dpexp.runner.planning import CellPlan
from dpexp.stats import CI_NAME
from dpexp.store import SET_ASIDE, Damaged, Folder, read_metadata, write_json, write_table
from dpexp.summaries import CellData, summary_table, too_far

if TYPE_CHECKING:
    import pyarrow as pa

Fresh = dict[str, tuple[CellData, float]]


def publish(
    experiment: Experiment,
    folder: Folder,
    plans: Sequence[CellPlan],
    fresh: Fresh,
    failures: dict[str, str],
    started: datetime,
    wall_s: float,
) -> None:
    """Bring the folder in line with the config; writes nothing where nothing has changed."""
    cells = [p.cell for p in plans]
    stored = [c for c in cells if folder.trajectory(c.cell_id).exists() or c.cell_id in fresh]
    if not fresh and not failures and _up_to_date(experiment, folder, [c.cell_id for c in stored]):
        return
    current = versions()
    for cell in cells:
        if cell.cell_id in fresh:
            data, wall = fresh[cell.cell_id]
            metadata = {"parameters": cell.parameters, "code": code_of(cell), "versions": current, "wall_s": wall}
            folder.write_cell(cell.cell_id, data, too_far(data, cell.run.diverged_above), metadata)
    old = _old_summary(folder)
    rows, pieces = [], []
    for cell in stored:
        try:
            data = fresh[cell.cell_id][0] if cell.cell_id in fresh else folder.read_cell(cell.cell_id)
            seconds = read_metadata(folder.trajectory(cell.cell_id))["wall_s"]
        except Damaged as error:
            folder.set_aside(cell.cell_id)
            failures.setdefault(cell.cell_id, f"{error}; {SET_ASIDE}")
            continue
        rows.append(_row(experiment, cell, data, seconds))
        kept = None if cell.cell_id in fresh or old is None else _rows_of(old, cell.cell_id)
        pieces.append(
            summary_table(cell.cell_id, data, too_far(data, cell.run.diverged_above)) if kept is None else kept
        )
    for cell in cells:
        if cell.cell_id in failures:
            rows.append(
                {"cell_id": cell.cell_id, **cell.columns(), "status": "failed", "reason": failures[cell.cell_id]}
            )
    _write_cells(folder, rows, experiment)
    if pieces:
        import pyarrow as pa

        write_table(folder.summary, pa.concat_tables(pieces).combine_chunks(), _summary_metadata())
    write_json(
        folder.manifest,
        {
            "experiment": experiment.name,
            "profile": experiment.profile,
            "replicates": experiment.replicates,
            "confidence_interval": CI_NAME,
            "seeds": sorted({cell.run.seed for cell in cells}),
            "cells": {cell.cell_id: cell.parameters for cell in cells},
            "code": {name: digest for cell in cells for name, digest in code_of(cell).items()},
            "versions": current,
            **commit(),
            "machine": machine(),
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_s": round(wall_s, 3),
            "command": " ".join(["dpexp", *sys.argv[1:]]),
        },
    )


def _row(experiment: Experiment, cell: Cell, data: CellData, wall_s: float) -> dict[str, Any]:
    """The cell's row of cells.parquet."""
    mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    wild = int(too_far(data, cell.run.diverged_above).any(axis=(0, 1)).sum())
    return {
        "cell_id": cell.cell_id,
        **cell.columns(),
        **mechanism.ledger(experiment.deltas),
        "status": "diverged" if wild else "done",
        "reason": f"{wild} replicates diverged" if wild else "",
        "replicates": data.values.shape[-1],
        "n_diverged": wild,
        **({"projections": _last(data, "projections")} if "projections" in data.metrics else {}),
        "wall_s": wall_s,
    }


def _last(data: CellData, metric: str) -> float:
    return float(data.values[0, -1, data.metrics.index(metric)].mean())


def _write_cells(folder: Folder, rows: list[dict[str, Any]], experiment: Experiment) -> None:
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    order = {cell.cell_id: number for number, cell in enumerate(experiment.cells)}
    table = pa.table(columns).take(np.argsort([order[row["cell_id"]] for row in rows]))
    write_table(folder.cells, table, {})


def _summary_metadata() -> dict[str, Any]:
    return {"code": closure(("dpexp.summaries",))}


def _old_summary(folder: Folder) -> pa.Table | None:
    """The stored summary, if the code that made it is today's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if read_metadata(folder.summary)["code"] != _summary_metadata()["code"]:
            return None
        return pq.read_table(folder.summary)
    except (FileNotFoundError, Damaged, pa.ArrowException, OSError, KeyError):
        return None


def _rows_of(summary: pa.Table, cell_id: str) -> pa.Table | None:
    import pyarrow.compute as pc

    rows = summary.filter(pc.equal(summary["cell_id"], cell_id)).replace_schema_metadata(None)
    return rows if len(rows) else None


def _up_to_date(experiment: Experiment, folder: Folder, stored: list[str]) -> bool:
    """Whether the derived files hold exactly these cells and were made by today's code."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        read_metadata(folder.cells)
        if read_metadata(folder.summary)["code"] != _summary_metadata()["code"] or not folder.manifest.exists():
            return False
        table = pq.read_table(folder.cells)
        wanted = {f"eps_{delta:g}" for delta in experiment.deltas}
        return table["cell_id"].to_pylist() == stored and wanted <= set(table.column_names)
    except (FileNotFoundError, Damaged, pa.ArrowException, OSError, KeyError):
        return False
