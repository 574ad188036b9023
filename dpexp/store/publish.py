"""Write the results folder: trajectories of the new cells, then the derived files, one generation of them.

(a) Each trajectory file proves itself, so a run that dies between two of them loses nothing.
(b) The derived files are computed from trajectories, those of cells that were not computed now included, and are
written only where they would say something else.
(c) The manifest is written last: until it is there, every reader refuses the files beside it.
(d) A hash of a user's records tells neighbouring files apart, and no noise is in it: a deployment has none.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.config.cells import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.engine.result import CellData
from dpexp.store.cell_files import (
    Stored,
    digest_of,
    due,
    keep_what_is_due,
    write_cell,
    write_model,
)
from dpexp.store.description import describe, witness_of
from dpexp.store.files import SCHEMA_VERSION, column, table_of, write_document, write_table
from dpexp.store.fingerprint import code_of, data_of
from dpexp.store.folder import Folder
from dpexp.store.generation import Generation, read_generation
from dpexp.store.planning import CellPlan
from dpexp.store.provenance import arithmetic, commit, machine, versions
from dpexp.store.receipts import records_in
from dpexp.store.rows import Ended, ended, row_of
from dpexp.store.stats import summary_columns

if TYPE_CHECKING:
    import pyarrow as pa


class Computed(NamedTuple):
    """What a run has computed of a cell."""

    pieces: Sequence[CellData]
    """in the order of the replicates; at least one"""
    cpu_s: float
    """of the processor that computed it: those of a clock say what ran beside it"""
    model: np.ndarray | None
    """parameters to release [estimators, replicates, ...]"""

    def data(self) -> CellData:
        """All replicates, in arrays of their own: the memory of one cell, for as long as it is asked about."""
        return self.pieces[0].joined(self.pieces[1:])


Fresh = dict[str, Computed]


class Written(NamedTuple):
    """What is left of a cell once its trajectories are on the disk."""

    file: Stored
    ended: Ended
    summary: pa.Table


def publish(
    experiment: Experiment,
    folder: Folder,
    plans: Sequence[CellPlan],
    fresh: Fresh,
    failures: dict[str, str],
    started: datetime,
    deployment: str = "",
) -> dict[str, Ended]:
    """Bring the folder in line with the config; writes nothing where nothing has changed. How the new cells ended.

    `deployment` is when one released the cells, and empty for other runs.
    """
    import pyarrow as pa

    # (a)
    written = {}
    for cell in experiment.cells:
        if cell.cell_id in fresh:
            written[cell.cell_id] = _write(folder, experiment, cell, fresh[cell.cell_id], deployment)
        elif cell.problem.files() and cell.cell_id not in failures:
            keep_what_is_due(folder, cell, experiment.replicates)
    outcomes = {cell_id: one.ended for cell_id, one in written.items()}
    stored = {p.cell.cell_id: p.file for p in plans if p.file is not None and p.cell.cell_id not in failures}
    files = stored | {cell_id: one.file for cell_id, one in written.items()}
    # (b)
    old: Generation | None = None
    with suppress(FileNotFoundError, Damaged):
        old = read_generation(folder)
    description = describe(experiment, folder, files, old, deployment)
    right = old is not None and not failures and old.describes(description)
    if written or not right:
        _write_provenance(folder, files, started)
    if right:
        return outcomes
    rows, pieces = [], []
    for cell in experiment.cells:
        if cell.cell_id in failures:
            failed = {"status": "failed", "reason": failures[cell.cell_id]}
            rows.append({"cell_id": cell.cell_id, **cell.columns(), **failed})
        elif cell.cell_id in files:
            file = files[cell.cell_id]
            new = written.get(cell.cell_id)
            # a summary is never copied from the old file: it would be of the code that wrote that
            new = new or _written(cell, file, file.data())
            rows.append(row_of(cell, experiment.deltas, new.ended, bool(deployment)))
            pieces.append(new.summary)
    seals = {"cells.parquet": write_table(folder.cells, table_of(rows), {}), "summary.parquet": ""}
    if pieces:
        seals["summary.parquet"] = write_table(folder.summary, pa.concat_tables(pieces).combine_chunks(), {})
    # (c)
    write_document(folder.manifest, {**description, "seals": seals})
    return outcomes


def _write_provenance(folder: Folder, files: Mapping[str, Stored], started: datetime) -> None:
    """What is a matter of this machine and of this time, and the hashes of the trajectory files."""
    finished = datetime.now(UTC)
    write_document(
        folder.provenance,
        {
            "schema_version": SCHEMA_VERSION,
            "versions": versions(),
            **commit(),
            "machine": machine(),
            "started": started.isoformat(timespec="seconds"),
            "finished": finished.isoformat(timespec="seconds"),
            "wall_s": round((finished - started).total_seconds(), 3),
            "command": " ".join(["dpexp", *sys.argv[1:]]),
            "cells": {
                cell_id: {
                    **{name: file.metadata.get(name) for name in ("cpu_s", "versions", "arithmetic")},
                    "trajectory": file.sha256,
                }
                for cell_id, file in files.items()
            },
        },
    )


def _write(folder: Folder, experiment: Experiment, cell: Cell, computed: Computed, deployment: str) -> Written:
    """Write a cell's released parameters, where it has any, and then its trajectory."""
    data, code = computed.data(), code_of(cell)
    # (d)
    if deployment:
        code = {name: held for name, held in code.items() if name not in data_of(cell)}
    wanted = due(cell, experiment.replicates, None)
    if computed.model is not None and wanted.estimators:
        records = records_in(cell.problem.places()) if deployment else None
        tied = {"numbers": digest_of(data), "code": code, "deployment": deployment or None, "records": records}
        write_model(folder, cell, wanted, computed.model, tied)
    else:
        folder.model(cell.cell_id).unlink(missing_ok=True)
    made = {"code": code, "witness": witness_of(cell, data), "versions": versions(),
            "arithmetic": arithmetic(), "cpu_s": computed.cpu_s}  # fmt: skip
    return _written(cell, write_cell(folder, cell, data, made), data)


def _written(cell: Cell, file: Stored, data: CellData) -> Written:
    import pyarrow as pa

    return Written(file, ended(cell, data), pa.table({k: column(v) for k, v in summary_columns(cell, data).items()}))
