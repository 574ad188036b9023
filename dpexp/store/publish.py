"""Write the results folder: trajectories of the new cells, then the derived files, one generation of them.

Each trajectory file proves itself, so a run that dies between two of them loses nothing. The derived files are computed
from trajectories, and the manifest is written last: until it is there, every reader refuses the files beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.config import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.engine.result import CellData
from dpexp.store.files import write_document, write_table
from dpexp.store.fingerprint import code_of
from dpexp.store.folder import Folder
from dpexp.store.generation import Generation, describe, read_generation, summary_code
from dpexp.store.models import due, keep_what_is_due, model_if_whole, write_model
from dpexp.store.planning import CellPlan
from dpexp.store.provenance import arithmetic, commit, machine, versions
from dpexp.store.rows import row_of
from dpexp.store.summaries import summary_table, too_far
from dpexp.store.trajectories import Stored, digest_of, stored_cell_file, write_cell

if TYPE_CHECKING:
    import pyarrow as pa


class Computed(NamedTuple):
    """What a run has computed of a cell."""

    data: CellData
    wall_s: float
    model: np.ndarray | None
    """parameters to release [estimators, replicates, ...]"""
    deployment: bool


Fresh = dict[str, Computed]


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
    import pyarrow as pa

    for cell in experiment.cells:
        if cell.cell_id in fresh:
            _write(folder, experiment, cell, fresh[cell.cell_id], started)
        elif cell.problem.files() and cell.cell_id not in failures:
            keep_what_is_due(folder, cell, experiment.replicates)
    stored = {
        p.cell.cell_id: p.file if p.cell.cell_id not in fresh else stored_cell_file(folder, p.cell.cell_id)
        for p in plans
        if p.cell.cell_id in fresh or (p.file is not None and p.cell.cell_id not in failures)
    }
    files = {cell_id: file for cell_id, file in stored.items() if file is not None}
    description = describe(experiment, folder, files)
    old = _old_generation(folder)
    if old is not None and not failures and old.describes(description):
        return
    rows, pieces = [], []
    for cell in experiment.cells:
        if cell.cell_id in failures:
            failed = {"status": "failed", "reason": failures[cell.cell_id]}
            rows.append({"cell_id": cell.cell_id, **cell.columns(), **failed})
        elif cell.cell_id in files:
            data = fresh[cell.cell_id].data if cell.cell_id in fresh else files[cell.cell_id].data()
            # what a deployment stated belongs to the noise that it drew, whatever today's code would draw
            stated = files[cell.cell_id].deployment.get("row")
            rows.append(stated or row_of(cell, experiment.deltas, data))
            pieces.append(_summary(cell, data, files[cell.cell_id], old))
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["cell_id", "status"]
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    seals = {"cells.parquet": write_table(folder.cells, table, {}), "summary.parquet": ""}
    if pieces:
        seals["summary.parquet"] = write_table(folder.summary, pa.concat_tables(pieces).combine_chunks(), {})
    write_document(
        folder.provenance,
        {
            "schema_version": description["schema_version"],
            "versions": versions(),
            **commit(),
            "machine": machine(),
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_s": round(wall_s, 3),
            "command": " ".join(["dpexp", *sys.argv[1:]]),
            "cells": {
                cell_id: {name: file.metadata[name] for name in ("wall_s", "versions", "arithmetic")}
                for cell_id, file in files.items()
            },
        },
    )
    write_document(folder.manifest, {**description, "seals": seals})


def _write(folder: Folder, experiment: Experiment, cell: Cell, computed: Computed, started: datetime) -> None:
    """Write a cell's released parameters, where it has any, and then its trajectory."""
    data, code = computed.data, code_of(cell)
    at = started.isoformat(timespec="seconds") if computed.deployment else None
    model = folder.model(cell.cell_id)
    wanted = due(cell, experiment.replicates, None)
    if computed.model is not None and wanted.estimators:
        tied = {"numbers": digest_of(data), "code": code, "deployment": at, "earlier": _earlier(folder, cell)}
        write_model(folder, cell, wanted, computed.model, tied)
    else:
        model.unlink(missing_ok=True)
    made = {"code": code, "versions": versions(), "arithmetic": arithmetic(), "wall_s": computed.wall_s}
    if at:
        made["deployment"] = {"at": at, "row": row_of(cell, experiment.deltas, data, deployment=True)}
    write_cell(folder, cell.parameters, data, too_far(data, cell.run.diverged_above), made)


def _earlier(folder: Folder, cell: Cell) -> list[str]:
    """When deployments released a cell into this folder so far, as far as the model that is there remembers."""
    old = model_if_whole(folder, cell.cell_id)
    return [] if old is None else [*old.earlier, *filter(None, [old.deployment])]


def _old_generation(folder: Folder) -> Generation | None:
    """The stored generation, if its files are whole and belong together."""
    try:
        return read_generation(folder)
    except (FileNotFoundError, Damaged):
        return None


def _summary(cell: Cell, data: CellData, file: Stored, old: Generation | None) -> pa.Table:
    """Summary rows of a cell: the stored ones, if they were made by today's code from these very numbers."""
    import pyarrow.compute as pc

    origin = None if old is None else old.manifest["computed_from"].get(cell.cell_id)
    same = origin is not None and (origin["numbers"], origin["replicates"]) == (file.numbers, file.replicates)
    if old is not None and old.summary is not None and same and old.manifest["summary_code"] == summary_code():
        table = old.summary.table()
        return table.filter(pc.equal(table["cell_id"], cell.cell_id)).replace_schema_metadata(None)
    return summary_table(cell.cell_id, data, too_far(data, cell.run.diverged_above))
