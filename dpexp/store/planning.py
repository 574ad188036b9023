"""What has to be computed or proved: the state of every cell in the results folder."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpexp.config.cells import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.core.text import counted, few
from dpexp.store.cell_files import Stored, model_to_compute, stored_cell_file
from dpexp.store.fingerprint import changed, code_of, what_changed
from dpexp.store.folder import Folder
from dpexp.store.generation import read_generation
from dpexp.store.manifest import Manifest, code_and_proof, read_manifest


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


def plan(experiment: Experiment, results: Path, force: bool = False, summaries: bool = False) -> list[CellPlan]:
    """The plan of every cell, in the order of the config; of the `summaries` alone, for which no trajectory is needed.

    A run makes it under the folder's lock, so that no other process writes in between.
    """
    folder, manifest = Folder(results, experiment.name), None
    with suppress(FileNotFoundError, Damaged):
        manifest = read_generation(folder).manifest if summaries else read_manifest(folder)
    count = experiment.replicates
    return [_plan_cell(cell, count, folder, manifest, force, summaries) for cell in experiment.cells]


def plan_of_deployment(experiment: Experiment) -> list[CellPlan]:
    """Every cell in full: nothing that is stored has secret noise."""
    return [CellPlan(cell, "missing", "", range(experiment.replicates)) for cell in experiment.cells]


def _plan_cell(
    cell: Cell, count: int, folder: Folder, manifest: Manifest | None, force: bool, summaries: bool
) -> CellPlan:
    """(a) What cannot be read is computed, and (b) what a user asks for anew. (c) Then code decides, and at last
    (d) what is missing of replicates and released models.
    """
    # (a)
    anew, file = partial(CellPlan, cell, replicates=range(count)), None
    origin = {} if manifest is None else manifest["computed_from"].get(cell.cell_id, {})
    try:
        file = None if summaries else stored_cell_file(folder, cell.cell_id)
    except FileNotFoundError:
        origin = {}
    except Damaged as error:
        return anew("damaged", str(error))
    if file is None and not origin:
        return anew("missing", "not computed yet")
    # (b)
    if force:
        return anew("stale", "--force", file=file)
    # (c)
    code, proof = code_and_proof(cell, file, manifest)
    own = bool(cell.problem.files())
    if names := changed(code, code_of(cell)):
        return anew("stale" if own else "unconfirmed", f"{what_changed(names)} changed: {few(names)}", file=file)
    # (d)
    if own and file is not None and (why := model_to_compute(folder, cell, file)):
        return anew("incomplete", why, file=file)
    stored = int(origin["replicates"]) if file is None else file.replicates
    if stored < count:
        return CellPlan(cell, "incomplete", f"{stored} of {count} replicates", range(stored, count), stored, file)
    more = f"{counted(stored, 'replicate')} stored, {count} asked for: all kept"
    reason = ("up to date" if stored == count else more) + (f", confirmed by {proof}" if proof else "")
    return CellPlan(cell, "current", reason, range(0), stored, file)
