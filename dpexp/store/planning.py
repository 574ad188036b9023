"""What has to be computed: the state of every cell in the results folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.core.text import counted, few
from dpexp.store.cell_files import Stored, model_to_compute, stored_cell_file
from dpexp.store.fingerprint import changed, code_of, what_changed
from dpexp.store.folder import Folder
from dpexp.store.generation import read_generation
from dpexp.store.manifest import Manifest, code_and_proof, describe, read_manifest
from dpexp.store.provenance import arithmetic


@dataclass(frozen=True)
class CellPlan:
    """One cell, whether its stored numbers are current, and which replicates are missing."""

    cell: Cell
    status: str
    """current, missing, incomplete, stale or damaged; or unconfirmed, where other code may give the same numbers, which
    a run finds out"""
    reason: str
    replicates: range
    """replicates to compute"""
    stored: int
    """replicates that are kept"""
    file: Stored | None = None
    """the trajectory file as it was found, if every byte of it is right; it may be stale"""
    warning: str = ""


def plan(experiment: Experiment, results: Path, force: bool = False) -> list[CellPlan]:
    """The plan of every cell, in the order of the config.

    A run makes it while it holds the folder: what another process writes in between would not be seen.
    """
    folder = Folder(results, experiment.name)
    manifest: Manifest | None = None
    with suppress(FileNotFoundError, Damaged):
        manifest = read_manifest(folder)
    return [_plan_cell(cell, experiment.replicates, folder, manifest, force) for cell in experiment.cells]


def plan_of_deployment(experiment: Experiment) -> list[CellPlan]:
    """Every cell in full: nothing that is stored has secret noise."""
    return [CellPlan(cell, "missing", "", range(experiment.replicates), 0) for cell in experiment.cells]


def derived_state(experiment: Experiment, folder: Folder, plans: Sequence[CellPlan]) -> str:
    """Why the derived files must be written again although the cells are stored; empty where they are right."""
    stored = {p.cell.cell_id: p.file for p in plans if p.file is not None}
    try:
        generation = read_generation(folder)
    except FileNotFoundError:
        return "not written yet"
    except Damaged as error:
        return str(error)
    right = generation.describes(describe(experiment, folder, stored, generation.manifest))
    return "" if right else "computed from other cells, code or settings"


def _plan_cell(cell: Cell, wanted: int, folder: Folder, manifest: Manifest | None, force: bool) -> CellPlan:
    """(a) What cannot be read is computed, and (b) what a user asks for anew. (c) Then code decides, and at last
    (d) what is missing of replicates and released models.
    """
    # (a)
    anew = partial(CellPlan, cell, replicates=range(wanted), stored=0)
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
    code, proof = code_and_proof(cell, file, manifest)
    own = bool(cell.problem.files())
    if names := changed(code, code_of(cell)):
        return anew("stale" if own else "unconfirmed", f"{what_changed(names)} changed: {few(names)}", file=file)
    # (d)
    if own and (why := model_to_compute(folder, cell, file)):
        return anew("incomplete", why, file=file)
    stored = file.replicates
    if stored < wanted:
        reason, warning = f"{stored} of {wanted} replicates", _mixture(file.metadata["arithmetic"])
        return CellPlan(cell, "incomplete", reason, range(stored, wanted), stored, file, warning)
    kept = f"{counted(stored, 'replicate')} stored, {wanted} asked for: all kept"
    reason = ("up to date" if stored == wanted else kept) + (f", confirmed by {proof}" if proof else "")
    return CellPlan(cell, "current", reason, range(0), stored, file)


def _mixture(stored: dict[str, Any]) -> str:
    """Which parts of the arithmetic differ from those that the cell was computed with."""
    now = arithmetic()
    differing = [f"{name} {stored.get(name)} (now {now[name]})" for name in now if stored.get(name) != now[name]]
    return f"computed with {', '.join(differing)}" if differing else ""
