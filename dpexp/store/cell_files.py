"""The files of a cell: its trajectory and, on a user's own records, the parameters that it releases.

The trajectory file is the source of truth of a cell, and both files prove themselves: (a) their numbers have the digest
in their metadata, or the file has the SHA-256 in provenance.json; (b) the name is the hash of the parameters inside, so
that a copy of another cell's file is not taken for this cell's. (c) A trajectory has the digest of the parameters that
the same run released, which are written first: a run that dies in between leaves a model that every reader refuses. A
released file holds only what the privacy statement counts: the estimators that a guarantee covers, of the replicates
that `run.release` names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.files import Damaged, State, digest, state_of
from dpexp.engine.result import CellData
from dpexp.store.folder import Folder, TableFile, read_document, read_table, write_table
from dpexp.store.stats import too_far, with_distance

if TYPE_CHECKING:
    import pyarrow as pa

    from dpexp.config.cells import Cell


def digest_of(data: CellData) -> str:
    """Hash of a cell's numbers, the same wherever and whenever the same bits were computed."""
    values = data.values.astype("<f8", copy=False)
    return _digest([data.estimators, data.metrics, data.steps.tolist(), values.shape], values)


def _digest(head: object, values: np.ndarray) -> str:
    return hashlib.sha256(json.dumps(head).encode() + np.ascontiguousarray(values).tobytes()).hexdigest()[:32]


def _metadata(file: TableFile, cell_id: str, content: str) -> dict[str, Any]:
    """The metadata of a file of this cell. Raises Damaged, also where it is another cell's."""
    from dpexp.config.cells import ID_LENGTH  # with all that a config names, which a reader of verdicts does not need

    metadata = file.metadata()
    # (b)
    if digest(metadata.get("parameters", {}), ID_LENGTH) != cell_id:
        raise Damaged(f"{file.name} holds another cell's {content}")
    return metadata


@dataclass(frozen=True)
class Stored:
    """A trajectory file of a cell that has been checked, and what it says of its numbers."""

    path: Path
    sha256: str
    replicates: int
    numbers: str
    """`digest_of` the numbers"""
    code: dict[str, str]
    """hashes of the code and of the user's data that it was computed from"""
    witness: dict[str, Any]
    """digests of the first replicates, by which other code proves itself"""
    released: dict[str, Any]
    """on a user's own records: estimators, replicates, rule and digest; else empty"""

    def data(self) -> CellData:
        """Its numbers, read now. Raises Damaged, also where another file has taken its place."""
        return self._read()[0]

    def table(self) -> pa.Table:
        """Its rows, which follow from the numbers. Raises Damaged."""
        data, metadata = self._read()
        run = metadata["parameters"]["run"]
        return _rows(self.path.stem, data, float(metadata["diverged_above"]), run.get("metrics", ()))

    def _read(self) -> tuple[CellData, dict[str, Any]]:
        with suppress(FileNotFoundError):
            data, metadata = _numbers(read_table(self.path))
            if metadata["numbers"] == self.numbers:
                return data, metadata
        raise Damaged(f"{self.path.name} has vanished, or was replaced while it was being read")


FACTS = [name for name in Stored.__annotations__ if name not in ("path", "sha256")]


def _numbers(file: TableFile) -> tuple[CellData, dict[str, Any]]:
    """What a trajectory file holds. Raises Damaged where its numbers have another digest."""
    m = file.metadata()
    try:
        table, shape = file.table(m["metrics"]), (len(m["estimators"]), len(m["steps"]), m["replicates"])
        values = np.stack([table[name].to_numpy().reshape(shape) for name in m["metrics"]], axis=2)
        data = CellData(np.array(m["steps"], np.int64), tuple(m["estimators"]), tuple(m["metrics"]), values)
        # (a)
        if digest_of(data) != m["numbers"]:
            raise Damaged(f"{file.name} is damaged (its numbers have another digest)")
        for facts in ("code", "witness", "released"):  # whoever changes a file can seal it anew
            dict(m[facts])
    except (KeyError, ValueError, TypeError) as error:
        raise Damaged(f"{file.name} is damaged ({type(error).__name__})") from None
    return data, m


def _rows(cell_id: str, data: CellData, diverged_above: float, own: Sequence[str]) -> pa.Table:
    """The table of a cell's numbers, with its own metrics: a row for each estimator, step and replicate."""
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
            "diverged": too_far(data, diverged_above, own).ravel(),
        }
    )


def write_cell(folder: Folder, cell: Cell, data: CellData, origin: dict[str, Any]) -> Stored:
    """Write a trajectory file; `origin` has its facts but for the numbers."""
    import pyarrow as pa

    metadata = {
        **origin,
        "parameters": cell.parameters,
        "estimators": data.estimators,
        "metrics": data.metrics,
        "steps": data.steps.tolist(),
        "replicates": data.values.shape[-1],
        "diverged_above": cell.run.diverged_above,
        "numbers": digest_of(data),
    }
    path = folder.trajectory(cell.cell_id)
    table = _rows(cell.cell_id, data, cell.run.diverged_above, cell.run.metrics)
    # no entry is missing: a file that says so is written in three quarters of the time
    complete = pa.schema([field.with_nullable(False) for field in table.schema])
    sha256 = write_table(path, pa.Table.from_arrays(table.columns, schema=complete), metadata)
    return Stored(path, sha256, **{name: metadata[name] for name in FACTS})


def stored_cell_file(folder: Folder, cell_id: str) -> Stored:
    """The checked trajectory file of a cell. Raises Damaged, FileNotFoundError."""
    file = read_table(path := folder.trajectory(cell_id))
    # (a): to decode the numbers takes fifteen times as long as to hash the file
    published = published_cells(folder).get(cell_id, {})
    if published.get("sha256") == file.sha256:
        with suppress(TypeError):  # anybody may have written it
            return Stored(path, **published)
    _metadata(file, cell_id, "numbers")
    _, metadata = _numbers(file)
    return Stored(path, file.sha256, **{name: metadata[name] for name in FACTS})


def published_cells(folder: Folder) -> dict[str, dict[str, Any]]:
    """By cell id, SHA-256 and facts of the trajectory files as they were published last."""
    return _published(folder.provenance, state_of(folder.provenance))


@lru_cache(maxsize=8)
def _published(provenance: Path, state: State) -> dict[str, dict[str, Any]]:
    with suppress(FileNotFoundError, Damaged, KeyError):
        return dict(read_document(provenance)["cells"])
    return {}


# --- released parameters ---


class ReleasedParameters(NamedTuple):
    """A file of released parameters that has been checked."""

    values: np.ndarray
    """[estimators, replicates, ...]"""
    metadata: dict[str, Any]
    """`estimators`, `code`, the `legend` of the parameters, and when a `deployment` released which `records`"""


def write_model(folder: Folder, cell: Cell, values: np.ndarray, metadata: dict[str, Any]) -> dict[str, Any]:
    """Write released parameters [estimators, replicates, ...]: what the cell's trajectory file says of them."""
    import pyarrow as pa

    (e, r), names = values.shape[:2], metadata["estimators"]
    each = int(np.prod(values.shape[2:]))
    columns = {
        "estimator": np.repeat(np.array(names, object), r * each),
        "replicate": np.tile(np.repeat(np.arange(r, dtype=np.int32), each), e),
        "parameter": np.tile(np.arange(each, dtype=np.int32), e * r),
        "value": values.ravel(),
    }
    own = {"estimators": names, "digest": _digest([names, values.shape, values.dtype.str], values)}
    facts = {"parameters": cell.parameters, "shape": list(values.shape), "legend": dict(cell.problem.legend())}
    write_table(folder.model(cell.cell_id), pa.table(columns), {**metadata, **facts, **own})
    return {**own, "replicates": r, "rule": cell.run.release}


def model_of(folder: Folder, cell_id: str, released: dict[str, Any]) -> ReleasedParameters:
    """The parameters that a run has released, by what is `released`. Raises Damaged, FileNotFoundError."""
    file = read_table(path := folder.model(cell_id))
    m, name = _metadata(file, cell_id, "parameters"), f"models/{path.name}"
    try:
        values = file.table(["value"])["value"].to_numpy().reshape(m["shape"])
        if _digest([m["estimators"], values.shape, values.dtype.str], values) != m["digest"]:
            raise Damaged(f"{name} is damaged (its parameters have another digest)")
    except (KeyError, ValueError, TypeError) as error:
        raise Damaged(f"{name} is damaged ({type(error).__name__})") from None
    # (c)
    if m["digest"] != released.get("digest"):
        raise Damaged(f"{name} is not of the run whose numbers are stored")
    return ReleasedParameters(values, m)


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
