"""The files of a cell: its trajectory and, on a user's own records, the parameters that it releases.

The trajectory file is the source of truth of a cell, and both files prove themselves: (a) what a file holds has the
digest that stands in it, or all of it the SHA-256 that provenance.json has; (b) its name is the hash of the parameters
inside it, so that a copy of another cell's file is not taken for this cell's. (c) A trajectory has the digest of the
parameters that the same run released, which are written first: a run that dies in between leaves a model that nobody
accepts. A released file holds only what the privacy statement counts: the estimators that a guarantee covers, of the
replicates that `run.release` names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.digests import digest
from dpexp.core.files import Damaged
from dpexp.engine.result import CellData
from dpexp.store.documents import read_table, select, write_table
from dpexp.store.folder import Folder
from dpexp.store.stats import too_far, with_distance

if TYPE_CHECKING:
    import pyarrow as pa

    from dpexp.config.cells import Cell
    from dpexp.store.documents import TableFile


def _id_of(parameters: dict[str, Any]) -> str:
    from dpexp.config.cells import ID_LENGTH  # with all that a config names, which a reader of verdicts does not need

    return digest(parameters, ID_LENGTH)


def _digest(head: object, values: np.ndarray) -> str:
    hashed = hashlib.sha256(json.dumps(head).encode())
    hashed.update(np.ascontiguousarray(values).data)
    return hashed.hexdigest()[:32]


def digest_of(data: CellData) -> str:
    """Hash of a cell's numbers, the same wherever and whenever the same bits were computed."""
    return _digest(
        [data.estimators, data.metrics, data.steps.tolist(), data.values.shape], data.values.astype("<f8", copy=False)
    )


@dataclass(frozen=True)
class Stored:
    """A trajectory file of a cell that has been checked."""

    path: Path
    sha256: str
    metadata: dict[str, Any]

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
    def released(self) -> dict[str, Any]:
        """What a cell on a user's own records releases: estimators, replicates and digest; empty for other cells."""
        return dict(self.metadata.get("released") or {})

    def data(self) -> CellData:
        """Its numbers, read now. Raises Damaged, also where another file has taken its place."""
        try:
            file = read_table(self.path)
        except FileNotFoundError:
            raise Damaged(f"{self.path.name} has vanished") from None
        if file.metadata.get("numbers") != self.numbers:
            raise Damaged(f"{self.path.name} was replaced while it was being read")
        return _numbers(file)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Its rows, as they are in the file. Raises Damaged, and KeyError for a column that is not there."""
        # but for the numbers nothing is taken from the file: all else follows from them
        rows = _rows(self.path.stem, self.data(), float(self.metadata["diverged_above"]))
        return rows if columns is None else select(rows, self.path.name, columns)


def _numbers(file: TableFile) -> CellData:
    """What a trajectory file holds. Raises Damaged where it has not the digest that stands in it."""
    try:
        m = file.metadata
        table, shape = file.table(m["metrics"]), (len(m["estimators"]), len(m["steps"]), m["replicates"])
        values = np.stack([table[name].to_numpy().reshape(shape) for name in m["metrics"]], axis=2)
        data = CellData(np.array(m["steps"], np.int64), tuple(m["estimators"]), tuple(m["metrics"]), values)
        right = digest_of(data) == m["numbers"]
    except (KeyError, ValueError, TypeError) as error:
        raise Damaged(f"{file.name} is damaged ({type(error).__name__})") from None
    # (a)
    if not right:
        raise Damaged(f"{file.name} is damaged (its numbers have another digest)")
    return data


def _rows(cell_id: str, data: CellData, diverged_above: float) -> pa.Table:
    """The table of a cell's numbers: a row for each estimator, step and replicate."""
    import pyarrow as pa

    e, k, _, r = data.values.shape

    def labels(codes: np.ndarray, names: Sequence[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(names)))

    return pa.table(
        {
            "cell_id": labels(np.zeros(e * k * r), [cell_id]),
            "replicate": np.tile(np.arange(r, dtype=np.int32), e * k),
            "step": np.tile(np.repeat(data.steps, r), e),
            "estimator": labels(np.repeat(np.arange(e), k * r), data.estimators),
            **{name: values.ravel() for name, values in with_distance(data)},
            "diverged": too_far(data, diverged_above).ravel(),
        }
    )


def write_cell(folder: Folder, cell: Cell, data: CellData, made: dict[str, Any]) -> Stored:
    """Write a trajectory file, and return what a reader will find; `made` is what it was computed from."""
    import pyarrow as pa

    metadata = {
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
    sha256 = write_table(path, pa.Table.from_arrays(table.columns, schema=complete), metadata)
    # lists where there were tuples, as a reader sees it
    return Stored(path, sha256, json.loads(json.dumps(metadata)))


def stored_cell_file(folder: Folder, cell_id: str) -> Stored:
    """The checked trajectory file of a cell. Raises Damaged, FileNotFoundError."""
    file = read_table(path := folder.trajectory(cell_id))
    # (b)
    if _id_of(file.metadata.get("parameters", {})) != cell_id:
        raise Damaged(f"{path.name} holds another cell's numbers")
    # (a): to decode the numbers takes fifteen times as long as to hash the file
    sha256 = hashlib.sha256(file.data).hexdigest()
    if sha256 != folder.hash_of_trajectory(cell_id):
        _numbers(file)
    return Stored(path, sha256, file.metadata)


# --- released parameters ---


@dataclass(frozen=True)
class Model:
    """A file of released parameters that has been checked."""

    path: Path
    metadata: dict[str, Any]
    """`estimators`, the `legend` of the parameters as the problem said when they were computed, and of a `deployment`
    when it was and the `records` (`dpexp.store.receipts`)"""
    values: np.ndarray
    """[estimators, replicates, ...]"""

    @property
    def estimators(self) -> tuple[str, ...]:
        return tuple(self.metadata["estimators"])

    @property
    def deployment(self) -> str:
        """When a deployment released it; empty for a reproducible run."""
        return str(self.metadata["deployment"])


def write_model(folder: Folder, cell: Cell, values: np.ndarray, metadata: dict[str, Any]) -> dict[str, Any]:
    """Write released parameters [estimators, replicates, ...]: what the cell's trajectory file says of them.

    `metadata` has the `estimators`, the `code`, and of a `deployment` when it was and the `records`.
    """
    import pyarrow as pa

    e, r = values.shape[:2]
    each = int(np.prod(values.shape[2:]))
    columns = {
        "estimator": np.repeat(np.array(metadata["estimators"], object), r * each),
        "replicate": np.tile(np.repeat(np.arange(r, dtype=np.int32), each), e),
        "parameter": np.tile(np.arange(each, dtype=np.int32), e * r),
        "value": values.ravel(),
    }
    own = {"estimators": list(metadata["estimators"]), "digest": _digest_of_model(metadata["estimators"], values)}
    facts = {"parameters": cell.parameters, "shape": list(values.shape), "legend": dict(cell.problem.legend())}
    write_table(folder.model(cell.cell_id), pa.table(columns), {**metadata, **facts, **own})
    return {**own, "replicates": r, "rule": cell.run.release}


def _digest_of_model(estimators: Sequence[str], values: np.ndarray) -> str:
    return _digest([list(estimators), values.shape, values.dtype.str], values)


def model_of(folder: Folder, cell_id: str, released: dict[str, Any]) -> Model:
    """The parameters that a run has released, by what is `released`. Raises Damaged, FileNotFoundError."""
    path = folder.model(cell_id)
    file = read_table(path)
    if _id_of(file.metadata.get("parameters", {})) != cell_id:
        raise Damaged(f"models/{path.name} holds another cell's parameters")
    try:
        values = file.table(["value"])["value"].to_numpy().reshape(file.metadata["shape"])
        right = _digest_of_model(file.metadata["estimators"], values) == file.metadata["digest"]
    except (KeyError, ValueError, TypeError) as error:
        raise Damaged(f"models/{path.name} is damaged ({type(error).__name__})") from None
    if not right:
        raise Damaged(f"models/{path.name} is damaged (its parameters have another digest)")
    # (c)
    if file.metadata["digest"] != released.get("digest"):
        raise Damaged(f"models/{path.name} is not of the run whose numbers are stored")
    return Model(path, file.metadata, values)


def model_to_compute(folder: Folder, cell: Cell, file: Stored) -> str:
    """Why the released parameters have to be computed, though the numbers are stored; empty where they are right."""
    if file.released.get("rule") != cell.run.release:
        return f"run.release is now {cell.run.release}"
    try:
        if file.released["estimators"]:
            model_of(folder, cell.cell_id, file.released)
    except FileNotFoundError:
        return "the released parameters are not stored"
    except Damaged as error:
        return str(error)
    return ""
