"""The results folder of an experiment: where everything is, who may write to it, and files that show any damage.

(a) A table that `manifest.json` names is decoded only if all of it has the SHA-256 in the manifest. (b) A trajectory or
model proves itself: its metadata carry a checksum, and a digest of its numbers. (c) A JSON document carries the SHA-256
of its content under "checksum".
(d) The process that has the lock of a file writes to a folder; the lock ends with the process. No link is entered for
writing, since it would lead to the user's other files, and only names of ours are written or deleted.
(e) A deployment is a folder of its own, `<experiment>.deployed-<time>`, and is never written to again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.errors import UsageError
from dpexp.core.files import MOST_OF_DOCUMENT, Damaged, Held, atomically, digest, lock, read_ordinary

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 2
"""of everything in a results folder; files of another version are refused, and computed again"""
SUBFOLDERS = ("trajectories", "models", "partial")
"""of an experiment's folder"""
_KEY = b"dpexp"
LOCK = ".lock"
DEPLOYED = r".+\.deployed-\d{8}T\d{6}Z"
"""the name of a deployment's folder: no experiment is called so"""


class Folder:
    """results/<experiment>/."""

    def __init__(self, results: Path, experiment: str) -> None:
        self.root = results / experiment
        self.experiment = experiment
        self.cells = self.root / "cells.parquet"
        self.summary = self.root / "summary.parquet"
        self.manifest = self.root / "manifest.json"
        self.provenance = self.root / "provenance.json"
        self.partial = self.root / "partial"

    def trajectory(self, cell_id: str) -> Path:
        return self.root / "trajectories" / f"{cell_id}.parquet"

    def model(self, cell_id: str) -> Path:
        return self.root / "models" / f"{cell_id}.parquet"

    def remove_partial(self) -> None:
        """Delete the chunks of a run that has ended well, and their folder where nothing else is in it."""
        for path in self.partial.glob("[0-9a-f]" * 20 + ".chunk"):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.partial.rmdir()

    def require_real(self) -> None:
        """Raises UsageError where the folder, or what is ours in it, is a link."""
        # (d)
        for path in (self.root, *(self.root / name for name in (*SUBFOLDERS, LOCK))):
            if path.is_symlink():
                message = f"{path} is a link, and dpexp writes only into real folders"
                raise UsageError(message, "remove the link, or use --results DIR for another folder")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for writing. Raises UsageError where another process writes to it, or none can."""
        self.require_real()
        with ExitStack() as stack:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                # (d)
                stack.enter_context(lock(self.root / LOCK))
            except OSError as error:
                held = isinstance(error, Held)
                why = "is being written by another process" if held else f"cannot be written: {error.strerror}"
                hint = "wait for it, or " * held + "use --results DIR for another folder"
                raise UsageError(f"{self.root} {why}", hint) from None
            yield


def own_folders(results: Path) -> list[Path]:
    """The folders in a results folder, sorted, but for links."""
    if not results.is_dir():
        return []
    names = (path for path in results.iterdir() if path.name.isprintable() and not path.name.startswith("."))
    return sorted(path for path in names if path.is_dir() and not path.is_symlink())


def holds_results(path: Path) -> bool:
    """Whether a folder looks like the results of an experiment, whole or not."""
    return any((path / name).exists() for name in ("manifest.json", "cells.parquet", "trajectories"))


def experiments_in(results: Path) -> list[str]:
    """Names of the experiments that have results in a folder, whole or not."""
    return [path.name for path in own_folders(results) if holds_results(path)]


# --- files ---


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, with a newline at its end."""
    atomically(path, lambda temporary: temporary.write_text(text + "\n", encoding="utf-8"))


def write_document(path: Path, document: dict[str, Any]) -> None:
    """Write a JSON document whole, with its checksum."""
    write_text(path, json.dumps({**document, "checksum": digest(document, 64)}, indent=2))


def read_document(path: Path) -> dict[str, Any]:
    """A JSON document that `write_document` wrote. Raises Damaged, FileNotFoundError."""
    content = _content(path, MOST_OF_DOCUMENT)
    try:
        document: dict[str, Any] = json.loads(content)
        checksum = document.pop("checksum", None)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise Damaged(f"{path.name} is damaged ({type(error).__name__})") from None
    if document.get("schema_version") != SCHEMA_VERSION:
        raise Damaged(f"{path.name} was made by another version of dpexp, or is damaged")
    # (c)
    if checksum != digest(document, 64):
        raise Damaged(f"{path.name} is damaged (its checksum does not agree)")
    return document


def _content(path: Path, limit: int | None = None) -> bytes:
    """The bytes of a file. Raises Damaged, and FileNotFoundError also where its folder is a file."""
    # a link may lead anywhere, whoever made it
    if path.is_symlink() or (path.parent.is_symlink() and path.parent.name in SUBFOLDERS):
        raise Damaged(f"{path.name} is a link, or in one")
    try:
        return read_ordinary(path, limit)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from None


@dataclass(frozen=True)
class TableFile:
    """The bytes of a parquet file of ours."""

    name: str
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def metadata(self) -> dict[str, Any]:
        """What a trajectory or model says of itself. Raises Damaged."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            metadata: dict[str, Any] = json.loads((pq.read_schema(pa.BufferReader(self.data)).metadata or {})[_KEY])
            checksum = metadata.pop("checksum", None)
        except Exception as error:  # of bytes that are no table
            raise Damaged(f"{self.name} is damaged, or another program wrote it ({type(error).__name__})") from None
        # (b)
        if checksum != digest(metadata, 64) or metadata.get("schema_version") != SCHEMA_VERSION:
            raise Damaged(f"{self.name} is damaged, or another version of dpexp wrote it")
        return metadata

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Its rows. Raises KeyError for a column that it does not have, Damaged."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # by this thread: a process that ends while pyarrow's own threads are about can be aborted
            table = pq.ParquetFile(pa.BufferReader(self.data), pre_buffer=False).read(use_threads=False)
        except Exception as error:
            raise Damaged(f"{self.name} is damaged ({type(error).__name__})") from None
        return table if columns is None else table.select(list(columns))


def read_table(path: Path, sha256: str = "") -> TableFile:
    """A parquet file of ours, with this SHA-256 unless that is empty. Raises Damaged, FileNotFoundError."""
    file = TableFile(path.name, _content(path))
    # (a)
    if sha256 and file.sha256 != sha256:
        raise Damaged(f"{path.name} does not belong to manifest.json: a run was interrupted, or the file is damaged")
    return file


def table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table, with columns in the order of their first appearance; a row may lack some of them."""
    import pyarrow as pa

    columns = dict[str, list[Any]]()
    for name in dict.fromkeys(name for row in rows for name in row) or ["cell_id", "status"]:
        values = [row.get(name) for row in rows]
        # of coefficients, say, a number in one cell and a list in another: one type, text
        text = any(isinstance(value, str) for value in values)
        columns[name] = [str(value) if text and value is not None else value for value in values]
    return pa.table(columns)


def write_table(path: Path, table: pa.Table, metadata: dict[str, Any]) -> str:
    """Write a parquet file with our metadata, and return its SHA-256."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    document = {"schema_version": SCHEMA_VERSION, **metadata}
    document |= {"checksum": digest(document, 64)} if metadata else {}
    fields, types = table.schema, pa.types
    encodings = dict.fromkeys((f.name for f in fields if types.is_integer(f.type)), "DELTA_BINARY_PACKED")
    encodings |= dict.fromkeys((f.name for f in fields if types.is_floating(f.type)), "BYTE_STREAM_SPLIT")
    buffer = pa.BufferOutputStream()
    # Floats are split by byte, which compresses them by a third; LZ4 makes files 3% larger than Zstandard does, in half
    # of the time. Statistics take a quarter of the time, and no reader skips pages by them.
    pq.write_table(
        table.replace_schema_metadata({_KEY: json.dumps(document).encode()}), buffer, compression="lz4",
        use_dictionary=[name for name in table.column_names if name not in encodings], column_encoding=encodings,
        write_statistics=False,
    )  # fmt: skip
    data = memoryview(buffer.getvalue())
    atomically(path, lambda temporary: temporary.write_bytes(data))
    return hashlib.sha256(data).hexdigest()
