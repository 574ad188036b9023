"""What has to be computed: the state of every cell in the results folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from dpexp.config.cells import Cell, Experiment
from dpexp.core.files import Damaged
from dpexp.core.text import counted, few
from dpexp.store.cell_files import Stored, lacking, stored_cell_file, stored_model
from dpexp.store.description import describe, stamp_of
from dpexp.store.fingerprint import changed, code_of, data_of, what_changed
from dpexp.store.folder import Folder
from dpexp.store.generation import read_generation
from dpexp.store.provenance import arithmetic
from dpexp.store.receipts import records_in
from dpexp.store.stamps import stamped

T = TypeVar("T")


@dataclass(frozen=True)
class CellPlan:
    """One cell, whether its stored numbers are current, and which replicates are missing."""

    cell: Cell
    status: str
    """current, missing, incomplete, stale or damaged; unconfirmed, where other code may give the same numbers, which
    a run finds out; or deployed, which is kept whatever has changed since"""
    reason: str
    replicates: range
    """replicates to compute"""
    stored: int
    """replicates that are kept"""
    file: Stored | None = None
    """the trajectory file as it was found, if every byte of it is right; it may be stale"""
    warning: str = ""
    refused: str = ""
    """why a run may not go on: a deployment has released this cell, and it cannot be read any more"""


def plan(
    experiment: Experiment, results: Path, force: bool = False, deployment: bool = False, again: bool = False
) -> list[CellPlan]:
    """The plan of every cell, in the order of the config; `deployment` asks for secret noise, `again` for that of cells
    which were released before.

    A run makes it while it holds the folder: what another process writes in between would not be seen.
    """
    folder = Folder(results, experiment.name)
    manifest: dict[str, Any] = {"computed_from": {}}
    with suppress(FileNotFoundError, Damaged):
        manifest = stamped(folder)
    asked = experiment.replicates, folder, manifest, force, deployment, again
    return [_plan_cell(cell, *asked) for cell in experiment.cells]


def derived_state(experiment: Experiment, folder: Folder, plans: Sequence[CellPlan]) -> str:
    """Why the derived files must be written again although the cells are stored; empty where they are right."""
    stored = {p.cell.cell_id: p.file for p in plans if p.file is not None}
    try:
        generation = read_generation(folder)
    except FileNotFoundError:
        return "not written yet"
    except Damaged as error:
        return str(error)
    right = generation.describes(describe(experiment, folder, stored, generation))
    return "" if right else "computed from other cells, code or settings"


def _plan_cell(
    cell: Cell, wanted: int, folder: Folder, manifest: dict[str, Any], force: bool, deployment: bool, again: bool
) -> CellPlan:
    """(a) What a deployment released is kept. (b) What cannot be read is computed, and (c) what a user asks for anew.
    (d) Then code decides, and at last (e) what is missing of replicates and released models.
    """
    # (a)
    everything = range(wanted)
    released = _deployed(cell, folder, manifest) if cell.problem.files() else None
    if released is not None and again:
        return CellPlan(cell, "stale", f"--again, although {released.reason}", everything, 0, released.file)
    if released is not None:
        return released
    # (b)
    anew = partial(CellPlan, cell, replicates=everything, stored=0)
    try:
        file = stored_cell_file(folder, cell.cell_id)
    except FileNotFoundError:
        return anew("missing", "not computed yet")
    except Damaged as error:
        return anew("damaged", str(error))
    # (c)
    if force:
        return anew("stale", "--force", file=file)
    if deployment:
        return anew("stale", "a reproducible run is stored, whose noise is no secret", file=file)
    # (d)
    stamp = stamp_of(cell, file, manifest)
    if files := changed(stamp.code, code_of(cell)):
        status = "unconfirmed" if not cell.problem.files() else "stale"
        return anew(status, f"{what_changed(files)} changed: {few(files)}", file=file)
    # (e)
    stored = file.replicates
    if cell.problem.files() and (why := lacking(cell, min(stored, wanted), file, folder)):
        return anew("incomplete", why, file=file)
    warning = _mixture(file.metadata["arithmetic"])
    if stored < wanted:
        reason = f"{stored} of {wanted} replicates"
        return CellPlan(cell, "incomplete", reason, range(stored, wanted), stored, file, warning)
    kept = f"{counted(stored, 'replicate')} stored, {wanted} asked for: all kept"
    reason = "up to date" if stored == wanted else kept
    reason += f", confirmed by {stamp.confirmed}" if stamp.confirmed else ""
    return CellPlan(cell, "current", reason, range(0), stored, file, warning)


def _deployed(cell: Cell, folder: Folder, manifest: dict[str, Any]) -> CellPlan | None:
    """The plan of a cell that a deployment has released: it is kept, and never computed again unasked."""
    faults: list[str] = []

    def found(read: Callable[[Folder, str], T], place: str) -> T | None:
        try:
            return read(folder, cell.cell_id)
        except (FileNotFoundError, Damaged) as error:
            faults.append(str(error) if isinstance(error, Damaged) else f"{place}/{cell.cell_id}.parquet is missing")
            return None

    # every further run is a further release of the same records, so any sign of a deployment counts: in the trajectory,
    # in the model or in the manifest
    file, model = found(stored_cell_file, "trajectories"), found(stored_model, "models")
    told = manifest["computed_from"].get(cell.cell_id, {}).get("deployment")
    when = (file and file.deployment.get("at")) or (model and model.deployment) or told
    if not when:
        return None
    if file is not None and model is not None and not (file.deployment and model.belongs_to(file)):
        faults.append(f"models/{cell.cell_id}.parquet is not of the run whose numbers are stored")
    # what was released and cannot be read may be brought back from a copy: the run is refused
    if faults or file is None:
        why = f"released by a deployment on {when}, but {'; '.join(faults)}"
        return CellPlan(cell, "damaged", why, range(0), 0, None, refused=why)
    now = code_of(cell)
    since = changed(file.code, {name: now[name] for name in now if name not in data_of(cell)})
    # the hash of the records is keyed; where the key is another one nothing can be said
    then = file.deployment.get("records", {})
    if then and (held := records_in(cell.problem.places())) != then and held["key"] == then["key"]:
        since += list(cell.problem.files())
    reason = f"released by a deployment on {when}, and kept"
    reason += f" ({what_changed(since)} changed since: {few(since)})" if since else ""
    return CellPlan(cell, "deployed", reason, range(0), file.replicates, file)


def _mixture(stored: dict[str, Any]) -> str:
    """Which parts of the arithmetic differ from those that the cell was computed with."""
    now = arithmetic()
    differing = [f"{name} {stored.get(name)} (now {now[name]})" for name in now if stored.get(name) != now[name]]
    return f"computed with {', '.join(differing)}" if differing else ""
