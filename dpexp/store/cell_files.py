"""The files of a cell: its trajectory and, on a user's own records, the parameters that it releases.

The trajectory file is the source of truth of a cell, so it proves itself: (a) every byte is under the file's seal, (b)
its name is the hash of the parameters inside it, and its metadata say what the numbers were computed from. A copy of
another cell's file is therefore not taken for this cell's. A file of released parameters proves itself in the same way.
(c) Only what the privacy statement counts is in it: the estimators that a guarantee covers, of the replicates that
`run.release` names. (d) It also holds the digest of the trajectory that the same run wrote, so that a model beside
another run's numbers is not taken for theirs. It is written before the trajectory: a run that dies in between leaves a
model that nobody accepts. Those of a deployment come into being together (`Folder.finish_releases`), since a budget is
spent with them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.digests import digest
from dpexp.core.files import Damaged
from dpexp.engine.result import CellData
from dpexp.store.files import Sealed, coded, column, read_sealed, write_table
from dpexp.store.fingerprint import code_of
from dpexp.store.folder import Folder
from dpexp.store.stats import too_far, with_distance

if TYPE_CHECKING:
    from dpexp.config.cells import Cell


def id_of(parameters: dict[str, Any]) -> str:
    """A cell's id: a hash of the parameters that determine its numbers."""
    from dpexp.config.cells import ID_LENGTH  # with all that a config names, which a reader of verdicts does not need

    return digest(parameters, ID_LENGTH)


def digest_of(data: CellData) -> str:
    """Hash of a cell's numbers, the same wherever and whenever the same bits were computed."""
    head = json.dumps([data.estimators, data.metrics, data.steps.tolist(), data.values.shape])
    hashed = hashlib.sha256(head.encode())
    hashed.update(np.ascontiguousarray(data.values, dtype="<f8").data)
    return hashed.hexdigest()[:32]


@dataclass(frozen=True)
class Stored:
    """A trajectory file of a cell that has been checked."""

    path: Path
    seal: str
    metadata: dict[str, Any]
    content: Sealed | None = None
    """its bytes; None where they are read, and checked again, when they are asked for"""

    @property
    def replicates(self) -> int:
        return int(self.metadata["replicates"])

    @property
    def numbers(self) -> str:
        """`digest_of` its numbers."""
        return str(self.metadata["numbers"])

    @property
    def code(self) -> dict[str, str]:
        """Hashes of the code and of the user's data that it was computed from."""
        return dict(self.metadata["code"])

    @property
    def deployment(self) -> dict[str, Any]:
        """When a deployment computed it, and the row of cells.parquet that it had then; empty for other runs."""
        return dict(self.metadata.get("deployment") or {})

    def open(self) -> Sealed:
        """The file's bytes. Raises Damaged, also where another file has taken its place."""
        if self.content is not None:
            return self.content
        try:
            sealed = read_sealed(self.path)
        except FileNotFoundError:
            raise Damaged(f"{self.path.name} has vanished") from None
        if sealed.seal != self.seal:
            raise Damaged(f"{self.path.name} was replaced while it was being read")
        return sealed

    def data(self) -> CellData:
        """Its numbers. Raises Damaged."""
        m = self.metadata
        shape = (len(m["estimators"]), len(m["steps"]), m["replicates"])
        table = self.open().table(columns=list(m["metrics"]))
        values = np.stack([table[name].to_numpy().reshape(shape) for name in m["metrics"]], axis=2)
        return CellData(np.array(m["steps"], np.int64), tuple(m["estimators"]), tuple(m["metrics"]), values)


def write_cell(folder: Folder, cell: Cell, data: CellData, made: dict[str, Any], at: Path | None = None) -> Stored:
    """Write a trajectory file, and return what a reader will find.

    `made` is what it was computed from, and `at` where it waits until its cell is released.
    """
    import pyarrow as pa

    e, k, _, r = data.values.shape
    columns = {
        "cell_id": coded(np.zeros(e * k * r), [cell.cell_id]),
        "replicate": column(np.tile(np.arange(r, dtype=np.int32), e * k)),
        "step": column(np.tile(np.repeat(data.steps, r), e)),
        "estimator": coded(np.repeat(np.arange(e), k * r), data.estimators),
        **{name: column(values.ravel()) for name, values in with_distance(data)},
        "diverged": column(too_far(data, cell.run.diverged_above).ravel()),
    }
    # (b)
    stated = {
        **made,
        "parameters": cell.parameters,
        "estimators": data.estimators,
        "metrics": data.metrics,
        "steps": data.steps.tolist(),
        "replicates": r,
        "numbers": digest_of(data),
    }
    path, table = folder.trajectory(cell.cell_id), pa.table(columns)
    # No entry is missing. A file that says so needs no list of those that are there: a quarter of the time of writing.
    complete = pa.schema([field.with_nullable(False) for field in table.schema])
    seal = write_table(at or path, pa.Table.from_arrays(table.columns, schema=complete), stated)
    # lists where there were tuples, as a reader sees it
    return Stored(path, seal, json.loads(json.dumps(stated)))


def stored_cell_file(folder: Folder, cell_id: str, with_content: bool = False) -> Stored:
    """The checked trajectory file of a cell, also one that was set aside. Raises Damaged, FileNotFoundError.

    `with_content` keeps its bytes, for who reads them now and not those of many files.
    """
    path = folder.trajectory(cell_id)
    if not path.exists() and folder.orphan(cell_id).exists():
        path = folder.orphan(cell_id)
    # (a), (b)
    sealed = read_sealed(path)
    if id_of(sealed.metadata.get("parameters", {})) != cell_id:
        raise Damaged(f"{path.name} holds another cell's numbers")
    return Stored(path, sealed.seal, sealed.metadata, sealed if with_content else None)


# --- released parameters ---


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
    def records(self) -> dict[str, str]:
        """What the records of a deployment are called (`dpexp.store.receipts`); empty for a reproducible run."""
        return dict(self.metadata.get("records") or {})

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
    # asking the algorithm may calibrate its noise first, which takes long
    if model is not None and model.metadata["statement"] == digest(code_of(cell)):
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
    # (d)
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

    `metadata` has `numbers` and `code` of the run, and the `deployment` and its `records`. `at` is where the file waits
    until its cell is released.
    """
    import pyarrow as pa

    # (c)
    kept = values[:, : wanted.replicates]
    e, r = kept.shape[:2]
    each = int(np.prod(kept.shape[2:]))
    columns = {
        "estimator": coded(np.repeat(np.arange(e), r * each), wanted.estimators),
        "replicate": np.tile(np.repeat(np.arange(r, dtype=np.int32), each), e),
        "parameter": np.tile(np.arange(each, dtype=np.int32), e * r),
        "value": kept.ravel(),
    }
    more = {
        "parameters": cell.parameters,
        "estimators": list(wanted.estimators),
        "shape": list(kept.shape),
        # it depends on the records, of which a deployment's file says nothing
        "statement": None if metadata["deployment"] else digest(code_of(cell)),
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
    # what a deployment released is out, whatever the config asks for now
    if model is None or model.deployment:
        return
    wanted = due(cell, replicates, model)
    if not wanted.estimators:
        path.unlink(missing_ok=True)
    elif wanted.replicates < model.values.shape[1] or wanted.estimators != model.estimators:
        chosen = [model.estimators.index(name) for name in wanted.estimators]
        same = {name: model.metadata[name] for name in ("numbers", "code", "deployment", "records")}
        write_model(folder, cell, wanted, model.values[chosen], same)
