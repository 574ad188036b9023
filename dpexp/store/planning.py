"""The state of every cell in the results folder: what has to be computed, and what the first replicates prove.

After an edit of code one chunk of every pass is computed and compared with the witness in the manifest, and every row
of cells.parquet is computed again. What agrees is stamped with today's code; the rest is computed. No proof computes on
a user's own records: that would be another run on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.core.terminal import note
from dpexp.core.text import counted, few
from dpexp.store import generation
from dpexp.store.cell_files import Stored, model_to_compute, stored_cell_file
from dpexp.store.fingerprint import changed, code_of, watch
from dpexp.store.folder import Folder, table_of, write_document, write_table
from dpexp.store.partials import chunks_of, computed
from dpexp.store.simulating import Failed
from dpexp.store.stats import Ended, agree, row_of


@dataclass(frozen=True)
class CellPlan:
    """One cell, whether its stored numbers are current, and which replicates are missing."""

    cell: Cell
    status: str
    """current, missing, incomplete, stale or damaged; or unconfirmed, where a run finds out if other code gives the
    same numbers"""
    reason: str
    replicates: range
    """replicates to compute"""
    stored: int = 0
    """replicates that stay"""
    file: Stored | None = None
    """the trajectory file, if every byte of it is right; it may be stale"""


def plan(experiment: Experiment, results: Path, force: bool = False) -> list[CellPlan]:
    """The plan of every cell, in the order of the config."""
    folder, manifest = Folder(results, experiment.name), None
    with suppress(FileNotFoundError, Damaged):
        manifest = generation.read_manifest(folder)
    return [_plan_cell(cell, experiment.replicates, folder, manifest, force) for cell in experiment.cells]


def plan_of_deployment(experiment: Experiment) -> list[CellPlan]:
    """Every cell in full: nothing that is stored has secret noise."""
    return [CellPlan(cell, "missing", "", range(experiment.replicates)) for cell in experiment.cells]


def _plan_cell(cell: Cell, count: int, folder: Folder, manifest: generation.Manifest | None, force: bool) -> CellPlan:
    """(a) What cannot be read is computed, and (b) what a user asks for anew. (c) Then code decides, and at last
    (d) which replicates and released models are missing."""
    anew = partial(CellPlan, cell, replicates=range(count))
    # (a)
    try:
        file = stored_cell_file(folder, cell.cell_id)
    except FileNotFoundError:
        return anew("missing", "not computed yet")
    except Damaged as error:
        return anew("damaged", str(error))
    # (b)
    if force:
        return anew("stale", "--force", file=file)
    # (c)
    code, proof = generation.code_and_proof(cell, file, manifest)
    own, stored = bool(cell.problem.files()), file.replicates
    if names := changed(code, code_of(cell)):
        return anew("stale" if own else "unconfirmed", f"{few(names)} changed", file=file)
    # (d)
    if own and (why := model_to_compute(folder, cell, file)):
        return anew("incomplete", why, file=file)
    if stored < count:
        return CellPlan(cell, "incomplete", f"{stored} of {count} replicates", range(stored, count), stored, file)
    reason = f"{counted(stored, 'replicate')} stored" if stored > count else "up to date"
    return CellPlan(cell, "current", f"{reason}, confirmed by {proof}" if proof else reason, range(0), stored, file)


# --- proof ---


def prove(
    experiment: Experiment, folder: Folder, plans: Sequence[CellPlan], cells: Sequence[Cell], jobs: int, quiet: bool
) -> None:
    """Find out which of some unconfirmed cells today's code gives, and record it; `plans` has all cells.

    The caller has the folder's lock.
    """
    try:
        stored = generation.read_generation(folder)
    except (FileNotFoundError, Damaged):
        return
    origins = stored.manifest["computed_from"]
    cells = [cell for cell in cells if cell.cell_id in origins]
    # before and after, so that no edit in between is taken for the code that ran
    require_unchanged = watch(experiment, cells)
    witnesses = _witnesses(cells, stored.manifest, jobs)
    require_unchanged()
    proved = [cell for cell in cells if witnesses[cell.cell_id] == origins[cell.cell_id]["witness"]]
    rows = {row["cell_id"]: row for row in stored.cells.table().to_pylist()}
    ends = {k: Ended(row["replicates"], row["n_diverged"], row.get("projections")) for k, row in rows.items()}
    # a row is one line: it is computed again in full, and all are written where one differs, in their columns' types
    fresh = rows | {cell.cell_id: row_of(cell, experiment.deltas, ends[cell.cell_id]) for cell in proved}
    pairs = zip(table_of([*fresh.values()]).to_pylist(), rows.values(), strict=True)
    differences = [{k for k in new.keys() | old.keys() if not agree(new.get(k), old.get(k))} for new, old in pairs]
    if columns := set().union(*differences):
        count = sum(map(bool, differences))
        note(f"{experiment.name}: {count} rows have other values of {few(sorted(columns))}", quiet)
    if proved:
        right = {p.cell.cell_id for p in plans if p.status == "current"} | {cell.cell_id for cell in proved}
        _stamp(folder, proved, right, [*fresh.values()] if columns else [])


def _witnesses(cells: Sequence[Cell], manifest: generation.Manifest, jobs: int) -> dict[str, dict[str, Any] | str]:
    """The witness of every cell as today's code gives it, from one chunk of every pass; or an error."""
    passes: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        count = manifest["computed_from"][cell.cell_id]["witness"]["replicates"]
        passes.setdefault((cell.pass_key, count), []).append(cell)
    chunks = [chunk for (_, count), own in passes.items() for chunk in chunks_of(own, range(count), lanes=count)]
    return {
        cell.cell_id: result.error if isinstance(result, Failed) else generation.witness_of(cell, result[k].data)
        for chunk, result in computed(chunks, jobs)
        for k, cell in enumerate(chunk.cells)
    }


def _stamp(folder: Folder, proved: Sequence[Cell], right: set[str], rows: list[dict[str, Any]]) -> None:
    """Record that today's code gives what was proved, and write rows that differ; numbers stay."""
    manifest, codes = generation.read_manifest(folder), {cell.cell_id: code_of(cell) for cell in proved}
    origins = manifest["computed_from"]
    others = {name for cell, code in codes.items() for name in changed(manifest["code"][origins[cell]["code"]], code)}
    # the manifest stays if all stored cells are right and only dpexp's code has changed
    if right >= origins.keys() and not rows and others == {"dpexp"}:
        generation.stamp(folder, code_of(proved[0])["dpexp"])
        return
    generation.record_proof(manifest, codes)
    if rows:
        manifest["seals"]["cells.parquet"] = write_table(folder.cells, table_of(rows), {})
    write_document(folder.manifest, manifest)
