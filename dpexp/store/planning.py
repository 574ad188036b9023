"""What has to be computed: the state of every cell in the results folder, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpexp.config import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.core.text import counted, few
from dpexp.store import Folder
from dpexp.store.fingerprint import changed, code_of
from dpexp.store.generation import describe, read_generation, what_changed
from dpexp.store.provenance import arithmetic
from dpexp.store.trajectories import Stored, stored_cell_file


@dataclass(frozen=True)
class CellPlan:
    """One cell, whether its stored numbers are current, and which replicates are missing."""

    cell: Cell
    status: str
    """current, missing, incomplete, stale or damaged"""
    reason: str
    replicates: range
    """replicates to compute"""
    stored: int
    """replicates that are kept"""
    file: Stored | None = None
    """the trajectory file as it was found, if every byte of it is right; it may be stale"""
    warning: str = ""

    @property
    def seconds(self) -> float:
        """Estimated time on one core."""
        return len(self.replicates) * self.cell.algorithm.seconds(self.cell.problem, self.cell.run.n)


def plan(experiment: Experiment, results: Path, force: bool = False) -> list[CellPlan]:
    """The plan of every cell, in the order of the config.

    A run makes it while it holds the folder: what another process writes in between would not be seen.
    """
    folder = Folder(results, experiment.name)
    return [_plan_cell(cell, experiment.replicates, folder, force) for cell in experiment.cells]


def derived_state(experiment: Experiment, folder: Folder, plans: Sequence[CellPlan]) -> str:
    """Why the derived files must be written again although the cells are stored; empty where they are right."""
    stored = {p.cell.cell_id: p.file for p in plans if p.file is not None}
    try:
        generation = read_generation(folder)
    except FileNotFoundError:
        return "not written yet"
    except Damaged as error:
        return str(error)
    if not generation.describes(describe(experiment, folder, stored)):
        return "computed from other cells, code or settings"
    return ""


def _plan_cell(cell: Cell, wanted: int, folder: Folder, force: bool) -> CellPlan:
    everything = range(wanted)
    orphaned = not folder.trajectory(cell.cell_id).exists()
    try:
        file = stored_cell_file(folder, cell.cell_id, orphaned)
    except FileNotFoundError:
        return CellPlan(cell, "missing", "not computed yet", everything, 0)
    except Damaged as error:
        return CellPlan(cell, "damaged", str(error), everything, 0)
    if force:
        return CellPlan(cell, "stale", "--force", everything, 0, file)
    files = changed(file.code, code_of(cell))
    if files:
        return CellPlan(cell, "stale", f"{what_changed(files)} changed: {few(files)}", everything, 0, file)
    stored = file.replicates
    warning = _mixture(file.metadata["arithmetic"])
    if stored < wanted:
        reason = f"{stored} of {wanted} replicates"
        return CellPlan(cell, "incomplete", reason, range(stored, wanted), stored, file, warning)
    kept = f"{counted(stored, 'replicate')} stored, {wanted} asked for: all kept"
    reason = "up to date" if stored == wanted else kept
    return CellPlan(cell, "current", reason, range(0), stored, file, warning)


def _mixture(stored: dict[str, Any]) -> str:
    """Which parts of the arithmetic differ from those that the cell was computed with."""
    now = arithmetic()
    differing = [f"{name} {stored.get(name)} (now {now[name]})" for name in now if stored.get(name) != now[name]]
    return f"computed with {', '.join(differing)}" if differing else ""
