"""The results folder of an experiment: what is written, how it is read back, and what is damaged.

`trajectories/<cell_id>.parquet` is the source of truth of a cell and says in its metadata what it was computed from;
`cells.parquet`, `summary.parquet` and `manifest.json` are derived. Files are written whole or not at all.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.errors import DpexpError, ResultsMissing
from dpexp.fingerprint import changed, closure
from dpexp.summaries import CellData, with_distance

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SCHEMA_VERSION = 1
_KEY = b"dpexp"


class Damaged(Exception):
    """A stored file that cannot be read, or is not what it claims to be."""


def atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{os.getpid()}.tmp"
    try:
        write(temporary)
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document whole."""
    write_text(path, json.dumps(document, indent=2))


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, with a newline at its end."""
    atomically(path, lambda temporary: temporary.write_text(text + "\n", encoding="utf-8"))


def write_table(path: Path, table: pa.Table, metadata: dict[str, Any]) -> None:
    """Write a parquet file with our metadata; floats are split by byte, which compresses them by a third."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    document = json.dumps({"schema_version": SCHEMA_VERSION, **metadata}).encode()
    stamped = table.replace_schema_metadata({_KEY: document})
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    options = {
        "compression": "zstd",
        "write_page_checksum": True,
        "use_dictionary": [name for name in table.column_names if name not in floats],
        "column_encoding": dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
    }
    atomically(path, lambda temporary: pq.write_table(stamped, temporary, **options))


def read_metadata(path: Path) -> dict[str, Any]:
    """Our metadata of a parquet file. Raises Damaged, FileNotFoundError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = json.loads((pq.read_schema(path).metadata or {})[_KEY])
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise Damaged(f"{path.name} is damaged ({type(error).__name__})") from None
    if metadata.get("schema_version") != SCHEMA_VERSION:
        raise Damaged(f"{path.name} has schema version {metadata.get('schema_version')}, not {SCHEMA_VERSION}")
    return metadata


class Folder:
    """results/<experiment>/."""

    def __init__(self, results: Path, experiment: str) -> None:
        self.root = results / experiment
        self.experiment = experiment

    @property
    def cells(self) -> Path:
        return self.root / "cells.parquet"

    @property
    def summary(self) -> Path:
        return self.root / "summary.parquet"

    @property
    def manifest(self) -> Path:
        return self.root / "manifest.json"

    @property
    def partial(self) -> Path:
        return self.root / "partial"

    def trajectory(self, cell_id: str) -> Path:
        return self.root / "trajectories" / f"{cell_id}.parquet"

    def orphan(self, cell_id: str) -> Path:
        return self.root / "orphaned" / f"{cell_id}.parquet"

    def set_aside(self, cell_id: str) -> None:
        """Rename a damaged trajectory file, so that the next run computes the cell anew."""
        path = self.trajectory(cell_id)
        path.replace(path.with_suffix(".damaged"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for writing; leftovers of a killed run are cleared. Raises DpexpError when held."""
        from filelock import FileLock, Timeout

        self.root.mkdir(parents=True, exist_ok=True)
        holder = self.root / ".lock-holder.json"
        lock = FileLock(self.root / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            try:
                by = json.loads(holder.read_text())
                who = f"process {by['pid']} on {by['host']} since {by['since']}"
            except (OSError, ValueError, KeyError):
                who = "another process"
            raise DpexpError(f"{self.root} is being written by {who}", "wait for it, or use --results DIR") from None
        try:
            for leftover in self.root.rglob(".*.tmp"):
                leftover.unlink(missing_ok=True)
            since = datetime.now(UTC).isoformat(timespec="seconds")
            holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}))
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()

    def write_cell(self, cell_id: str, data: CellData, diverged: np.ndarray, metadata: dict[str, Any]) -> None:
        """Write a trajectory file; `diverged` bool [estimators, K, replicates]."""
        import pyarrow as pa

        e, k, _, r = data.values.shape
        rows = e * k * r

        def names(codes: np.ndarray, values: Sequence[str]) -> pa.Array:
            return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(values)))

        columns = {
            "cell_id": names(np.zeros(rows), [cell_id]),
            "replicate": np.tile(np.arange(r, dtype=np.int32), e * k),
            "step": np.tile(np.repeat(data.steps, r), e),
            "estimator": names(np.repeat(np.arange(e), k * r), data.estimators),
            **{name: column.ravel() for name, column in with_distance(data)},
            "diverged": diverged.ravel(),
        }
        more = {"estimators": data.estimators, "metrics": data.metrics, "steps": data.steps.tolist(), "replicates": r}
        write_table(self.trajectory(cell_id), pa.table(columns), {**metadata, **more})

    def read_cell(self, cell_id: str, whole: bool = True) -> CellData:
        """Read a trajectory file back, with its checksums; only the metrics unless `whole`. Raises Damaged."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.trajectory(cell_id)
        metadata = read_metadata(path)
        shape = (len(metadata["estimators"]), len(metadata["steps"]), metadata["replicates"])
        try:
            columns = None if whole else list(metadata["metrics"])
            table = pq.read_table(path, columns=columns, page_checksum_verification=True)
            values = np.stack([table[name].to_numpy().reshape(shape) for name in metadata["metrics"]], axis=2)
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise Damaged(f"{path.name} is damaged ({type(error).__name__})") from None
        steps = np.array(metadata["steps"], np.int64)
        return CellData(steps, tuple(metadata["estimators"]), tuple(metadata["metrics"]), values)


SET_ASIDE = "set aside as .damaged: run again to compute the cell anew"


def _missing(folder: Folder, what: str) -> ResultsMissing:
    command = f"dpexp run configs/{folder.experiment}.yaml"
    default = Path("results") / folder.experiment
    if folder.root != default:
        command += f" --results {folder.root.parent}"
    return ResultsMissing(f"{folder.root}: {what}", f"run: {command}")


def not_as_configured(results: Path, experiment: str, what: str) -> ResultsMissing:
    """Results that were run with other settings than a figure or table needs."""
    return _missing(Folder(results, experiment), f"not the settings of the config: {what}")


def _load(folder: Folder, path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        read_metadata(path)
        return pd.read_parquet(path)
    except FileNotFoundError:
        raise _missing(folder, "no results yet") from None
    except (Damaged, OSError, ValueError) as error:
        raise _missing(folder, str(error)) from None


def load_cells(results: Path, experiment: str, needs: Sequence[str] = ()) -> pd.DataFrame:
    """cells.parquet of an experiment, a row a cell, with the columns `needs` among others.

    Raises ResultsMissing naming the command to run, also where cells are missing, failed or stale.
    """
    folder = Folder(results, experiment)
    cells = _load(folder, folder.cells)
    failed = cells[cells.status == "failed"]
    if len(failed):
        raise _missing(folder, f"{len(failed)} of {len(cells)} cells failed")
    try:
        manifest = json.loads(folder.manifest.read_text(encoding="utf-8"))
        wanted, code = set(manifest["cells"]), dict(manifest["code"])
    except (OSError, ValueError, KeyError, TypeError):
        raise _missing(folder, "manifest.json is missing or damaged") from None
    absent = wanted - set(cells.cell_id)
    if absent:
        raise _missing(folder, f"{len(absent)} of {len(wanted)} cells are not computed yet")
    code = {name: digest for name, digest in code.items() if not name.startswith("file ")}  # data may have moved
    stale = changed(code, {name: digest for name, digest in closure(tuple(code)).items() if name in code})
    if stale:
        raise _missing(folder, f"stale, code changed since: {', '.join(stale)}")
    lacking = [name for name in needs if name not in cells.columns]
    if lacking:
        raise not_as_configured(results, experiment, f"no column {', '.join(lacking)}")
    return cells


def load_parameters(results: Path, experiment: str) -> dict[str, dict[str, Any]]:
    """Resolved parameters of every cell, by cell id; for experiments whose cells have been loaded."""
    return json.loads(Folder(results, experiment).manifest.read_text(encoding="utf-8"))["cells"]


def load_summary(results: Path, experiment: str, needs: Sequence[str] = ()) -> pd.DataFrame:
    """summary.parquet joined with the columns of its cells, among them `needs`. Raises ResultsMissing."""
    folder = Folder(results, experiment)
    cells = load_cells(results, experiment, needs)
    summary = _load(folder, folder.summary)
    absent = set(cells.cell_id) - set(summary.cell_id)
    if absent:
        raise _missing(folder, f"{len(absent)} of {len(cells)} cells have no summary")
    shared = set(summary.columns) - {"cell_id"}
    return summary.merge(cells.drop(columns=[c for c in cells.columns if c in shared]), on="cell_id")


def load_trajectories(
    results: Path,
    experiment: str,
    cell_ids: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    filters: Any = None,
) -> pd.DataFrame:
    """Per-replicate rows of some cells (all by default). Raises ResultsMissing, also where only summaries are there."""
    import pandas as pd

    folder = Folder(results, experiment)
    wanted = list(load_cells(results, experiment).cell_id) if cell_ids is None else list(cell_ids)
    frames = []
    for cell_id in wanted:
        path = folder.trajectory(cell_id)
        try:
            read_metadata(path)
            frames.append(pd.read_parquet(path, columns=list(columns) if columns else None, filters=filters))
        except FileNotFoundError:
            raise _missing(folder, "the summaries are there, but not the trajectories that this needs") from None
        except (Damaged, OSError, ValueError) as error:
            raise _missing(folder, str(error)) from None
    return pd.concat(frames, ignore_index=True)
