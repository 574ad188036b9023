"""Write the results folder: trajectories of the new cells, then the derived files, one generation of them.

(a) Each trajectory file proves itself, so a run that dies between two of them loses nothing.
(b) The derived files are computed from all trajectories, and are written only where something in them would differ.
(c) The manifest is written last: until it is there, every reader refuses the other files.
(d) A hash of private records has no noise, so a deployment stores none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.store.cell_files import Stored, published_cells, write_cell, write_model
from dpexp.store.fingerprint import code_of, data_of, versions
from dpexp.store.folder import SCHEMA_VERSION, Folder, table_of, write_document, write_table
from dpexp.store.generation import Manifest, describe, read_generation, witness_of
from dpexp.store.planning import CellPlan
from dpexp.store.receipts import records_in
from dpexp.store.simulating import Done
from dpexp.store.stats import Ended, ended, row_of, summary_columns


def publish(
    experiment: Experiment,
    folder: Folder,
    plans: Sequence[CellPlan],
    fresh: Mapping[str, Done],
    failures: Mapping[str, str],
    deployment: str = "",
) -> dict[str, Ended]:
    """Bring the folder in line with the config; writes nothing where nothing has changed. How the new cells ended.

    `deployment` is when one released the cells, and empty for other runs.
    """
    # (a)
    files = {p.cell.cell_id: p.file for p in plans if p.file is not None and p.cell.cell_id not in failures}
    outcomes = dict[str, Ended]()
    for cell in experiment.cells:
        if (computed := fresh.get(cell.cell_id)) is not None:
            files[cell.cell_id] = _write(folder, cell, computed, deployment)
            outcomes[cell.cell_id] = ended(cell, computed.data)
    # (b)
    old: Manifest | None = None
    with suppress(FileNotFoundError, Damaged):
        old = read_generation(folder).manifest
    manifest = describe(experiment, folder, files, old, deployment)
    right = old is not None and not failures and {**manifest, "seals": old["seals"]} == old
    cells = {cell_id: {k: v for k, v in asdict(file).items() if k != "path"} for cell_id, file in files.items()}
    # also what another version wrote is written anew, so that a later run hashes the files and does not decode them
    if published_cells(folder) != cells:
        write_document(folder.provenance, {"schema_version": SCHEMA_VERSION, "versions": versions(), "cells": cells})
    if right:
        return outcomes
    import pyarrow as pa  # with nothing to write it is not loaded

    rows, summaries = [], list[pa.Table]()
    for cell in experiment.cells:
        if cell.cell_id in failures:
            failed = {"status": "failed", "reason": failures[cell.cell_id]}
            rows.append({"cell_id": cell.cell_id, **cell.columns(), **failed})
        elif (file := files.get(cell.cell_id)) is not None:
            # a summary is never copied from the old file, which other code may have written
            data = fresh[cell.cell_id].data if cell.cell_id in fresh else file.data()
            outcome = outcomes.get(cell.cell_id) or ended(cell, data)
            rows.append(row_of(cell, experiment.deltas, outcome, bool(deployment)))
            summaries.append(pa.table(summary_columns(cell, data)))
    seals = {"cells.parquet": write_table(folder.cells, table_of(rows), {}), "summary.parquet": ""}
    if summaries:
        seals["summary.parquet"] = write_table(folder.summary, pa.concat_tables(summaries).combine_chunks(), {})
    # (c)
    write_document(folder.manifest, {**manifest, "seals": seals})
    return outcomes


def _write(folder: Folder, cell: Cell, computed: Done, deployment: str) -> Stored:
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
    origin = {"code": code, "witness": witness_of(cell, computed.data), "released": released, "versions": versions()}
    return write_cell(folder, cell, computed.data, origin)
