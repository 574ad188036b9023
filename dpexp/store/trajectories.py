"""A cell's trajectory file: its numbers, and in its metadata what they were computed from.

It is the source of truth of a cell, so it proves itself: every byte is under the file's seal, and its name is the hash
of the parameters inside it. A copy of another cell's file is therefore not taken for this cell's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.digests import digest
from dpexp.core.files import Damaged
from dpexp.engine.result import CellData
from dpexp.store.files import Sealed, read_sealed, write_table
from dpexp.store.folder import Folder
from dpexp.store.summaries import with_distance


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
    """A trajectory file of a cell that has been checked; its numbers are read, and checked again, when asked for."""

    path: Path
    seal: str
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
    def deployment(self) -> dict[str, Any]:
        """When a deployment computed it, and the row of cells.parquet that it had then; empty for other runs."""
        return dict(self.metadata.get("deployment") or {})

    def open(self) -> Sealed:
        """The file's bytes. Raises Damaged, also where another file has taken its place."""
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


def write_cell(
    folder: Folder,
    parameters: dict[str, Any],
    data: CellData,
    diverged: np.ndarray,
    metadata: dict[str, Any],
    at: Path | None = None,
) -> Stored:
    """Write a trajectory file, and return what a reader will find; `diverged` bool [estimators, K, replicates].

    `at` is where it waits until its cell is released.
    """
    import pyarrow as pa

    e, k, _, r = data.values.shape
    rows = e * k * r
    cell_id = id_of(parameters)

    def names(codes: np.ndarray, values: Sequence[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(values)))

    columns = {
        "cell_id": names(np.zeros(rows, np.int32), [cell_id]),
        "replicate": np.tile(np.arange(r, dtype=np.int32), e * k),
        "step": np.tile(np.repeat(data.steps, r), e),
        "estimator": names(np.repeat(np.arange(e, dtype=np.int32), k * r), data.estimators),
        **{name: column.ravel() for name, column in with_distance(data)},
        "diverged": diverged.ravel(),
    }
    stated = {
        **metadata,
        "parameters": parameters,
        "estimators": data.estimators,
        "metrics": data.metrics,
        "steps": data.steps.tolist(),
        "replicates": r,
        "numbers": digest_of(data),
    }
    path, table = folder.trajectory(cell_id), pa.table(columns)
    # No entry is missing. A file that says so needs no list of those that are there: a quarter of the time of writing.
    complete = pa.schema([field.with_nullable(False) for field in table.schema])
    seal = write_table(at or path, pa.Table.from_arrays(table.columns, schema=complete), stated)
    return Stored(path, seal, json.loads(json.dumps(stated)))  # lists where there were tuples, as a reader sees it


def stored_cell_file(folder: Folder, cell_id: str) -> Stored:
    """The checked trajectory file of a cell, also one that was set aside. Raises Damaged, FileNotFoundError."""
    path = folder.trajectory(cell_id)
    if not path.exists() and folder.orphan(cell_id).exists():
        path = folder.orphan(cell_id)
    sealed = read_sealed(path)
    if id_of(sealed.metadata.get("parameters", {})) != cell_id:
        raise Damaged(f"{path.name} holds another cell's numbers")
    return Stored(path, sealed.seal, sealed.metadata)
