"""The files of a cell: its trajectory and, on a user's own records, the parameters that it releases.

The trajectory file is the source of truth of a cell, so it proves itself: (a) what it holds has the digest that stands
in it, or all of it the SHA-256 that provenance.json has, (b) its name is the hash of the parameters inside it, and its
metadata say what the numbers were computed from. A copy of another cell's file is therefore not taken for this cell's.
A file of released parameters proves itself in the same way. (c) Only what the privacy statement counts is in it: the
estimators that a guarantee covers, of the replicates that `run.release` names. (d) It also
holds the digest of the trajectory that the same run wrote, so that a model beside another run's numbers is not taken
for theirs. It is written before the trajectory: a run that dies in between leaves a model that nobody accepts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.digests import digest
from dpexp.core.files import Damaged
from dpexp.engine.result import CellData
from dpexp.store.files import Filter, coded, column, read_table, select, write_table
from dpexp.store.fingerprint import code_of
from dpexp.store.folder import Folder
from dpexp.store.stats import too_far, with_distance

if TYPE_CHECKING:
    import pyarrow as pa

    from dpexp.config.cells import Cell
    from dpexp.store.files import TableFile


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
    sha256: str
    metadata: dict[str, Any]
    numbers_read: CellData | None = None
    """None where they are read, and checked again, when they are asked for"""

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

    def data(self) -> CellData:
        """Its numbers. Raises Damaged, also where another file has taken its place."""
        if self.numbers_read is not None:
            return self.numbers_read
        try:
            file = read_table(self.path)
        except FileNotFoundError:
            raise Damaged(f"{self.path.name} has vanished") from None
        if file.metadata.get("numbers") != self.numbers:
            raise Damaged(f"{self.path.name} was replaced while it was being read")
        return _numbers(file)

    def table(self, columns: Sequence[str] | None = None, filters: Sequence[Filter] = ()) -> pa.Table:
        """Its rows, as they are in the file. Raises Damaged, and KeyError for a column that is not there."""
        # but for the numbers nothing is taken from the file: all else follows from them
        found = _rows(self.path.stem, self.data(), float(self.metadata["diverged_above"]))
        return select(found, self.path.name, columns, filters)


def _numbers(file: TableFile) -> CellData:
    """What a trajectory file holds. Raises Damaged where it has not the digest that stands in it."""
    try:
        m = file.metadata
        table, shape = file.table(m["metrics"]), (len(m["estimators"]), len(m["steps"]), m["replicates"])
        values = np.stack([table[name].to_numpy().reshape(shape) for name in m["metrics"]], axis=2)
        data = CellData(np.array(m["steps"], np.int64), tuple(m["estimators"]), tuple(m["metrics"]), values)
    except (KeyError, ValueError, TypeError) as error:
        raise Damaged(f"{file.name} is damaged ({type(error).__name__})") from None
    # (a)
    if digest_of(data) != m["numbers"]:
        raise Damaged(f"{file.name} is damaged (its numbers have another digest)")
    return data


def _rows(cell_id: str, data: CellData, diverged_above: float) -> pa.Table:
    """The table of a cell's numbers: a row for each estimator, step and replicate."""
    import pyarrow as pa

    e, k, _, r = data.values.shape
    columns = {
        "cell_id": coded(np.zeros(e * k * r), [cell_id]),
        "replicate": column(np.tile(np.arange(r, dtype=np.int32), e * k)),
        "step": column(np.tile(np.repeat(data.steps, r), e)),
        "estimator": coded(np.repeat(np.arange(e), k * r), data.estimators),
        **{name: column(values.ravel()) for name, values in with_distance(data)},
        "diverged": column(too_far(data, diverged_above).ravel()),
    }
    return pa.table(columns)


def write_cell(folder: Folder, cell: Cell, data: CellData, made: dict[str, Any]) -> Stored:
    """Write a trajectory file, and return what a reader will find; `made` is what it was computed from."""
    import pyarrow as pa

    # (b)
    stated = {
        **made,
        "parameters": cell.parameters,
        "estimators": data.estimators,
        "metrics": data.metrics,
        "steps": data.steps.tolist(),
        "replicates": data.values.shape[-1],
        "diverged_above": cell.run.diverged_above,
        "numbers": digest_of(data),
    }
    path, table = folder.trajectory(cell.cell_id), _rows(cell.cell_id, data, cell.run.diverged_above)
    # No entry is missing. A file that says so needs no list of those that are there: a quarter of the time of writing.
    complete = pa.schema([field.with_nullable(False) for field in table.schema])
    sha256 = write_table(path, pa.Table.from_arrays(table.columns, schema=complete), stated)
    # lists where there were tuples, as a reader sees it
    return Stored(path, sha256, json.loads(json.dumps(stated)))


def stored_cell_file(folder: Folder, cell_id: str, with_content: bool = False) -> Stored:
    """The checked trajectory file of a cell, also one that was set aside. Raises Damaged, FileNotFoundError.

    `with_content` keeps its numbers, for who reads them now and not those of many files.
    """
    path = folder.trajectory(cell_id)
    if not path.exists() and folder.orphan(cell_id).exists():
        path = folder.orphan(cell_id)
    file = read_table(path)
    # (b)
    if id_of(file.metadata.get("parameters", {})) != cell_id:
        raise Damaged(f"{path.name} holds another cell's numbers")
    # (a): to decode the numbers takes fifteen times as long as to hash the file
    sha256 = hashlib.sha256(file.data).hexdigest()
    known = sha256 == folder.hash_of_trajectory(cell_id)
    data = None if known and not with_content else _numbers(file)
    return Stored(path, sha256, file.metadata, data if with_content else None)


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
        return _digest_of_parameters(self.estimators, self.values[:, :count])


def _digest_of_parameters(estimators: tuple[str, ...], values: np.ndarray) -> str:
    hashed = hashlib.sha256(repr((estimators, values.shape, values.dtype.str)).encode())
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
) -> None:
    """Write released parameters [estimators, replicates, ...], no more than are due.

    `metadata` has `numbers` and `code` of the run, and the `deployment` and its `records`.
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
        "digest": _digest_of_parameters(wanted.estimators, kept),
    }
    write_table(folder.model(cell.cell_id), pa.table(columns), {**metadata, **more})


def stored_model(folder: Folder, cell_id: str) -> Model:
    """The checked parameters of a cell. Raises Damaged, FileNotFoundError."""
    path = folder.model(cell_id)
    file = read_table(path)
    if id_of(file.metadata.get("parameters", {})) != cell_id:
        raise Damaged(f"models/{path.name} holds another cell's parameters")
    try:
        values = file.table(columns=["value"])["value"].to_numpy().reshape(file.metadata["shape"])
    except (KeyError, ValueError, TypeError) as error:
        raise Damaged(f"models/{path.name} is damaged ({type(error).__name__})") from None
    model = Model(path, file.metadata, values)
    if model.of_first(values.shape[1]) != file.metadata["digest"]:
        raise Damaged(f"models/{path.name} is damaged (its parameters have another digest)")
    return model


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
    if model is None:
        return
    wanted = due(cell, replicates, model)
    if not wanted.estimators:
        path.unlink(missing_ok=True)
    elif wanted.replicates < model.values.shape[1] or wanted.estimators != model.estimators:
        chosen = [model.estimators.index(name) for name in wanted.estimators]
        same = {name: model.metadata[name] for name in ("numbers", "code", "deployment", "records")}
        write_model(folder, cell, wanted, model.values[chosen], same)
