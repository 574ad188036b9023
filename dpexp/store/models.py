"""The parameters that a cell on a user's own records releases: one sealed file, tied to the run that it comes from.

Only what the privacy statement counts is in it: the estimators that a guarantee covers, of the replicates that
`run.release` names. The file proves itself as a trajectory file does: its name is the hash of the parameters inside it.
It also holds the digest of the trajectory that the same run wrote, so that a model beside another run's numbers is not
taken for theirs. It is written before the trajectory: a run that dies in between leaves a model that nobody accepts.
Those of a deployment come into being together (`Folder.finish_releases`), since a budget is spent with them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.digests import digest
from dpexp.core.files import Damaged
from dpexp.store.files import read_sealed, write_table
from dpexp.store.fingerprint import statement_of
from dpexp.store.trajectories import Stored, id_of

if TYPE_CHECKING:
    from dpexp.config.cells import Cell
    from dpexp.store.folder import Folder


class Due(NamedTuple):
    """What a cell releases today."""

    estimators: tuple[str, ...]
    """none where the cell has no guarantee, or no records of a user"""
    replicates: int
    """so many of the first ones"""


@dataclass(frozen=True)
class Model:
    """A file of released parameters that has been checked."""

    path: Path
    metadata: dict[str, Any]
    values: np.ndarray
    """[estimators, replicates, ...]"""

    @property
    def estimators(self) -> tuple[str, ...]:
        return tuple(self.metadata["estimators"])

    @property
    def deployment(self) -> str:
        """When a deployment released it; empty for a reproducible run."""
        return str(self.metadata["deployment"] or "")

    @property
    def earlier(self) -> tuple[str, ...]:
        """When deployments released the same setting before, into this folder."""
        return tuple(self.metadata.get("earlier", ()))

    @property
    def legend(self) -> dict[str, Any]:
        """What the parameters mean, as the problem said when they were computed."""
        return dict(self.metadata["legend"])

    def belongs_to(self, stored: Stored) -> bool:
        """Whether the same run wrote this trajectory."""
        return bool(self.metadata["numbers"] == stored.numbers and self.metadata["code"] == stored.code)

    def of_first(self, count: int) -> str:
        """Digest of the parameters of the first replicates, the same wherever the same bits were computed."""
        values = self.values[:, :count]
        hashed = hashlib.sha256(repr((self.estimators, values.shape, values.dtype.str)).encode())
        hashed.update(np.ascontiguousarray(values).data)
        return hashed.hexdigest()[:32]


def due(cell: Cell, replicates: int, model: Model | None) -> Due:
    """What a cell releases today; a stored model of today's statement says so without asking the algorithm."""
    count = replicates if cell.run.release == "all" else 1
    if not cell.problem.files():
        return Due((), 0)
    if model is not None and model.metadata["statement"] == digest(statement_of(cell)):
        return Due(model.estimators, count)
    names = cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    return Due(tuple(names), count if names else 0)


def lacking(cell: Cell, replicates: int, file: Stored, folder: Folder) -> str:
    """Why the parameters to release have to be computed, though the numbers are stored; empty where they are there."""
    try:
        model = stored_model(folder, cell.cell_id)
    except FileNotFoundError:
        return "" if not due(cell, replicates, None).estimators else "the parameters to release are not stored"
    except Damaged as error:
        return str(error)
    wanted = due(cell, replicates, model)
    if not wanted.estimators:
        return ""
    if not model.belongs_to(file):
        return f"models/{model.path.name} is not of the run whose numbers are stored"
    missing = wanted.replicates > model.values.shape[1] or not set(wanted.estimators) <= set(model.estimators)
    return "not all parameters to release are stored" if missing else ""


def write_model(
    folder: Folder,
    cell: Cell,
    wanted: Due,
    values: np.ndarray,
    metadata: dict[str, Any],
    at: Path | None = None,
) -> None:
    """Write released parameters [estimators, replicates, ...], no more than are due.

    `metadata` has `numbers` and `code` of the run, and `deployment` and `earlier` ones. `at` is where the file waits
    until its cell is released.
    """
    import pyarrow as pa

    kept = values[:, : wanted.replicates]
    e, r = kept.shape[:2]
    each = int(np.prod(kept.shape[2:]))
    codes = pa.array(np.repeat(np.arange(e, dtype=np.int32), r * each))
    estimators = pa.DictionaryArray.from_arrays(codes, pa.array(list(wanted.estimators)))
    columns = {
        "estimator": estimators,
        "replicate": np.tile(np.repeat(np.arange(r, dtype=np.int32), each), e),
        "parameter": np.tile(np.arange(each, dtype=np.int32), e * r),
        "value": kept.ravel(),
    }
    more = {
        "parameters": cell.parameters,
        "estimators": list(wanted.estimators),
        "shape": list(kept.shape),
        "statement": None if metadata["deployment"] else digest(statement_of(cell)),  # it depends on the records
        "legend": dict(cell.problem.legend()),
    }
    write_table(at or folder.model(cell.cell_id), pa.table(columns), {**metadata, **more})


def stored_model(folder: Folder, cell_id: str) -> Model:
    """The checked parameters of a cell. Raises Damaged, FileNotFoundError."""
    path = folder.model(cell_id)
    sealed = read_sealed(path)
    if id_of(sealed.metadata.get("parameters", {})) != cell_id:
        raise Damaged(f"models/{path.name} holds another cell's parameters")
    values = sealed.table(columns=["value"])["value"].to_numpy()
    return Model(path, sealed.metadata, values.reshape(sealed.metadata["shape"]))


def model_if_whole(folder: Folder, cell_id: str) -> Model | None:
    """The parameters of a cell, where a file of them is there and undamaged."""
    try:
        return stored_model(folder, cell_id)
    except (FileNotFoundError, Damaged):
        return None


def keep_what_is_due(folder: Folder, cell: Cell, replicates: int) -> None:
    """Take parameters off the disk that are not released any more. What is missing is not this function's question."""
    path = folder.model(cell.cell_id)
    model = model_if_whole(folder, cell.cell_id)
    if model is None or model.deployment:  # what a deployment released is out, whatever the config asks for now
        return
    wanted = due(cell, replicates, model)
    if not wanted.estimators:
        path.unlink(missing_ok=True)
    elif wanted.replicates < model.values.shape[1] or wanted.estimators != model.estimators:
        chosen = [model.estimators.index(name) for name in wanted.estimators]
        same = {name: model.metadata[name] for name in ("numbers", "code", "deployment", "earlier")}
        write_model(folder, cell, wanted, model.values[chosen], same)
