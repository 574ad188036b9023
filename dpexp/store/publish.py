"""Write the results folder: trajectories of the new cells, then the derived files, one generation of them.

(a) Each trajectory file proves itself, so a run that dies between two of them loses nothing.
(b) The derived files are computed from trajectories, those of cells that were not computed now included, and are
written only where something in them would differ.
(c) The manifest is written last: until it is there, every reader refuses the other files.
(d) Neighbouring files have different hashes, and no noise is in it: a deployment has none.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.config.cells import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.engine.result import CellData
from dpexp.store.cell_files import Stored, write_cell, write_model
from dpexp.store.cell_rows import Ended, ended, row_of
from dpexp.store.documents import SCHEMA_VERSION, table_of, write_document, write_table
from dpexp.store.fingerprint import code_of, data_of
from dpexp.store.folder import Folder
from dpexp.store.generation import Manifest, describe, read_generation, witness_of
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
    """of the processor that computed it: a wall clock would count other programs"""
    model: np.ndarray | None
    """parameters to release [estimators, replicates, ...]"""


def publish(
    experiment: Experiment,
    folder: Folder,
    plans: Sequence[CellPlan],
    fresh: Mapping[str, Computed],
    failures: Mapping[str, str],
    started: datetime,
    deployment: str = "",
) -> dict[str, Ended]:
    """Bring the folder in line with the config; writes nothing where nothing has changed. How the new cells ended.

    `deployment` is when one released the cells, and empty for other runs.
    """
    # (a)
    files = {p.cell.cell_id: p.file for p in plans if p.file is not None and p.cell.cell_id not in failures}
    known: dict[str, tuple[Ended, pa.Table]] = {}
    for cell in experiment.cells:
        if (computed := fresh.get(cell.cell_id)) is not None:
            data = computed.pieces[0].joined(computed.pieces[1:])
            files[cell.cell_id] = _write(folder, cell, computed, data, deployment)
            known[cell.cell_id] = _summarise(cell, data)
    # (b)
    old: Manifest | None = None
    with suppress(FileNotFoundError, Damaged):
        old = read_generation(folder).manifest
    manifest = describe(experiment, folder, files, old, deployment)
    right = old is not None and not failures and {**manifest, "seals": old["seals"]} == old
    if known or not right:
        _write_provenance(folder, files, started)
    if not right:
        import pyarrow as pa  # with nothing to write it is not loaded

        rows, summaries = [], list[pa.Table]()
        for cell in experiment.cells:
            if cell.cell_id in failures:
                failed = {"status": "failed", "reason": failures[cell.cell_id]}
                rows.append({"cell_id": cell.cell_id, **cell.columns(), **failed})
            elif (file := files.get(cell.cell_id)) is not None:
                # a summary is never copied from the old file, which other code may have written
                outcome, summary = known.get(cell.cell_id) or _summarise(cell, file.data())
                rows.append(row_of(cell, experiment.deltas, outcome, bool(deployment)))
                summaries.append(summary)
        seals = {"cells.parquet": write_table(folder.cells, table_of(rows), {}), "summary.parquet": ""}
        if summaries:
            table = pa.concat_tables(summaries).combine_chunks()
            seals["summary.parquet"] = write_table(folder.summary, table, {})
        # (c)
        write_document(folder.manifest, {**manifest, "seals": seals})
    return {cell_id: outcome for cell_id, (outcome, _) in known.items()}


def _summarise(cell: Cell, data: CellData) -> tuple[Ended, pa.Table]:
    import pyarrow as pa

    return ended(cell, data), pa.table(summary_columns(cell, data))


def _write_provenance(folder: Folder, files: Mapping[str, Stored], started: datetime) -> None:
    """What is a matter of this machine and of this time, and the facts of the trajectory files."""
    finished = datetime.now(UTC)
    document = {
        "schema_version": SCHEMA_VERSION,
        "versions": versions(),
        **commit(),
        "machine": machine(),
        "started": started.isoformat(timespec="seconds"),
        "finished": finished.isoformat(timespec="seconds"),
        "wall_s": round((finished - started).total_seconds(), 3),
        "command": " ".join(["dpexp", *sys.argv[1:]]),
        "cells": {},
    }
    for cell_id, file in files.items():
        document["cells"][cell_id] = {name: value for name, value in asdict(file).items() if name != "path"}
    write_document(folder.provenance, document)


def _write(folder: Folder, cell: Cell, computed: Computed, data: CellData, deployment: str) -> Stored:
    """Write a cell's released parameters, where it has any, and then its trajectory."""
    code, places = code_of(cell), cell.problem.places()
    # (d)
    if deployment:
        code = {name: content for name, content in code.items() if name not in data_of(cell)}
    released: dict[str, Any] = {}
    if places:
        released = {"rule": cell.run.release, "estimators": [], "replicates": 0, "digest": None}
    names = cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n) if places else ()
    if computed.model is not None and names:
        records = records_in(places) if deployment else {}
        facts = {"estimators": list(names), "code": code, "deployment": deployment, "records": records}
        released = write_model(folder, cell, computed.model, facts)
    else:
        folder.model(cell.cell_id).unlink(missing_ok=True)
    origin = {"code": code, "witness": witness_of(cell, data), "released": released, "versions": versions(),
              "arithmetic": arithmetic(), "cpu_s": computed.cpu_s}  # fmt: skip
    return write_cell(folder, cell, data, origin)
