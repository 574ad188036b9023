"""What has to be computed: the state of every cell in the results folder, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpexp.config import Cell, Experiment
from dpexp.fingerprint import changed, code_of
from dpexp.provenance import NUMERICAL, versions
from dpexp.store import Damaged, Folder, read_metadata


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
    warning: str = ""

    @property
    def seconds(self) -> float:
        """Estimated time on one core."""
        return len(self.replicates) * self.cell.algorithm.seconds(self.cell.problem, self.cell.run.n)


def plan(experiment: Experiment, results: Path, force: bool = False) -> list[CellPlan]:
    """The plan of every cell, in the order of the config."""
    folder = Folder(results, experiment.name)
    return [_plan_cell(cell, experiment.replicates, folder, force) for cell in experiment.cells]


def _plan_cell(cell: Cell, wanted: int, folder: Folder, force: bool) -> CellPlan:
    everything = range(wanted)
    path = folder.trajectory(cell.cell_id)
    if not path.exists() and folder.orphan(cell.cell_id).exists():
        path = folder.orphan(cell.cell_id)
    try:
        metadata = read_metadata(path)
    except FileNotFoundError:
        return CellPlan(cell, "missing", "not computed yet", everything, 0)
    except Damaged as error:
        return CellPlan(cell, "damaged", str(error), everything, 0)
    if force:
        return CellPlan(cell, "stale", "--force", everything, 0)
    files = changed(metadata["code"], code_of(cell))
    if files:
        return CellPlan(cell, "stale", f"{_what(files)} changed: {_few(files)}", everything, 0)
    stored = metadata["replicates"]
    warning = _mixture(metadata["versions"])
    if stored < wanted:
        reason = f"{stored} of {wanted} replicates"
        return CellPlan(cell, "incomplete", reason, range(stored, wanted), stored, warning)
    reason = "up to date" if stored == wanted else f"{stored} replicates stored, {wanted} asked for: all kept"
    return CellPlan(cell, "current", reason, range(0), stored, warning)


def _what(files: Sequence[str]) -> str:
    data = [not (name.startswith("dpexp/") and name.endswith(".py")) for name in files]
    return "data" if all(data) else "code and data" if any(data) else "code"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _mixture(stored: dict[str, Any]) -> str:
    """Which numerical libraries have another version than when the cell was computed."""
    now = versions()
    differing = [f"{name} {stored.get(name)} (now {now[name]})" for name in NUMERICAL if stored.get(name) != now[name]]
    return f"computed with {', '.join(differing)}" if differing else ""
