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
from dpexp.store.cell_files import Stored, write_cell, write_model
from dpexp.store.cell_rows import Ended, ended, row_of
from dpexp.store.documents import SCHEMA_VERSION, table_of, write_document, write_table
from dpexp.store.fingerprint import code_of, data_of
from dpexp.store.folder import Folder
from dpexp.store.generation import Generation, read_generation
from dpexp.store.manifest import describe, witness_of
from dpexp.store.planning import CellPlan
from dpexp.store.provenance import arithmetic, commit, machine, versions
from dpexp.store.receipts import records_in
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
    files = {p.cell.cell_id: p.file for p in plans if p.file is not None and p.cell.cell_id not in failures}
    known: dict[str, tuple[Ended, pa.Table]] = {}
    for cell in experiment.cells:
        if (computed := fresh.get(cell.cell_id)) is not None:
            data = computed.data()
            files[cell.cell_id] = _write(folder, cell, computed, data, deployment)
            known[cell.cell_id] = _summarised(cell, data)
    # (b)
    old: Generation | None = None
    with suppress(FileNotFoundError, Damaged):
        old = read_generation(folder)
    description = describe(experiment, folder, files, None if old is None else old.manifest, deployment)
    right = old is not None and not failures and old.describes(description)
    if known or not right:
        _write_provenance(folder, files, started)
    if not right:
        rows, summaries = [], []
        for cell in experiment.cells:
            if cell.cell_id in failures:
                failed = {"status": "failed", "reason": failures[cell.cell_id]}
                rows.append({"cell_id": cell.cell_id, **cell.columns(), **failed})
            elif (file := files.get(cell.cell_id)) is not None:
                # a summary is never copied from the old file: it would be of the code that wrote that
                outcome, summary = known.get(cell.cell_id) or _summarised(cell, file.data())
                rows.append(row_of(cell, experiment.deltas, outcome, bool(deployment)))
                summaries.append(summary)
        seals = {"cells.parquet": write_table(folder.cells, table_of(rows), {}), "summary.parquet": ""}
        if summaries:
            table = pa.concat_tables(summaries).combine_chunks()
            seals["summary.parquet"] = write_table(folder.summary, table, {})
        # (c)
        write_document(folder.manifest, {**description, "seals": seals})
    return {cell_id: outcome for cell_id, (outcome, _) in known.items()}


def _write_provenance(folder: Folder, files: Mapping[str, Stored], started: datetime) -> None:
    """What is a matter of this machine and of this time, and the hashes of the trajectory files."""
    finished = datetime.now(UTC)
    facts = ("cpu_s", "versions", "arithmetic")
    document = {
        "schema_version": SCHEMA_VERSION,
        "versions": versions(),
        **commit(),
        "machine": machine(),
        "started": started.isoformat(timespec="seconds"),
        "finished": finished.isoformat(timespec="seconds"),
        "wall_s": round((finished - started).total_seconds(), 3),
        "command": " ".join(["dpexp", *sys.argv[1:]]),
        "cells": {
            cell_id: {**{name: file.metadata.get(name) for name in facts}, "trajectory": file.sha256}
            for cell_id, file in files.items()
        },
    }
    write_document(folder.provenance, document)


def _write(folder: Folder, cell: Cell, computed: Computed, data: CellData, deployment: str) -> Stored:
    """Write a cell's released parameters, where it has any, and then its trajectory."""
    code, places = code_of(cell), cell.problem.places()
    # (d)
    if deployment:
        code = {name: content for name, content in code.items() if name not in data_of(cell)}
    released: dict[str, object] = (
        {"rule": cell.run.release, "estimators": [], "replicates": 0, "digest": None} if places else {}
    )
    names = cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n) if places else ()
    if computed.model is not None and names:
        records = records_in(places) if deployment else {}
        facts = {"estimators": list(names), "code": code, "deployment": deployment, "records": records}
        released = write_model(folder, cell, computed.model, facts)
    else:
        folder.model(cell.cell_id).unlink(missing_ok=True)
    made = {"code": code, "witness": witness_of(cell, data), "released": released, "versions": versions(),
            "arithmetic": arithmetic(), "cpu_s": computed.cpu_s}  # fmt: skip
    return write_cell(folder, cell, data, made)


def _summarised(cell: Cell, data: CellData) -> tuple[Ended, pa.Table]:
    import pyarrow as pa

    return ended(cell, data), pa.table(summary_columns(cell, data))
