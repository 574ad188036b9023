"""Files of results, in which no damaged byte goes unnoticed; `dpexp.core.files` writes them whole or not at all.

(a) A table that `manifest.json` names is decoded only after all of it has the SHA-256 that stands there. (b) Other
tables prove themselves: their metadata carry a checksum, and what they hold is compared with a digest among these.
(c) A JSON document carries the SHA-256 of its content under "checksum".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.digests import digest
from dpexp.core.files import MOST_OF_DOCUMENT, Damaged, atomically, read_ordinary

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 2
"""of everything in a results folder; files of another version are refused with a word, and computed again"""
_KEY = b"dpexp"
SUBFOLDERS = ("trajectories", "models", "orphaned", "partial")
"""of an experiment's folder"""
Filter = tuple[str, str, Any]
"""column, one of `_COMPARISONS`, value"""
_COMPARISONS = {"==": "equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


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
        stated = document.pop("checksum", None)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise Damaged(f"{path.name} is damaged ({type(error).__name__})") from None
    if document.get("schema_version") != SCHEMA_VERSION:
        raise Damaged(f"{path.name} was written by another version of dpexp, or is damaged")
    # (c)
    if stated != digest(document, 64):
        raise Damaged(f"{path.name} is damaged (its checksum does not agree)")
    return document


def _content(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file. Raises Damaged, and FileNotFoundError also where a file is in the place of its folder."""
    # a link may lead anywhere, whoever made it; the folder of an experiment may be one that the user named
    if path.is_symlink() or (path.parent.is_symlink() and path.parent.name in SUBFOLDERS):
        raise Damaged(f"{path.name} is a link, or in one")
    try:
        return read_ordinary(path, most)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from None


@dataclass(frozen=True)
class TableFile:
    """The bytes of a parquet file of ours, and its metadata."""

    name: str
    data: bytes
    metadata: dict[str, Any]

    def table(self, columns: Sequence[str] | None = None, filters: Sequence[Filter] = ()) -> pa.Table:
        """Its rows, those for which all filters hold. Raises KeyError for a column that is not there, Damaged."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            file = pq.ParquetFile(pa.BufferReader(self.data), pre_buffer=False)
            names = file.schema_arrow.names
            needed = list(names if columns is None else columns)
            needed += [name for name, _, _ in filters if name not in needed]
            # by this thread: a process that ends while pyarrow's own threads are about can be aborted
            found = file.read(columns=[name for name in needed if name in names], use_threads=False)
        except Exception as error:  # of bytes that are no table anything may be said
            raise Damaged(f"{self.name} is damaged ({type(error).__name__})") from None
        return select(found, self.name, columns, filters)


def select(
    table: pa.Table, name: str, columns: Sequence[str] | None = None, filters: Sequence[Filter] = ()
) -> pa.Table:
    """Columns of a table, and the rows for which all filters hold. Raises KeyError for a column that is not there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = list(table.column_names if columns is None else columns)
    if absent := [one for one in [*wanted, *(one for one, _, _ in filters)] if one not in table.column_names]:
        raise KeyError(f"{name} has no column {', '.join(absent)}")
    for one, comparison, value in filters:
        column = table[one]
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        table = table.filter(getattr(pc, _COMPARISONS[comparison])(plain, value))
    return table.select(wanted)


def coded(codes: np.ndarray, labels: Sequence[str]) -> pa.Array:
    """A column of texts, by the place of each among the labels: these are kept once."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(column(codes.astype(np.int32)), column(list(labels)))


def table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table, with the columns in the order in which they are first met; a row may lack some."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row)) or ["cell_id", "status"]
    return pa.table({name: column([row.get(name) for row in rows]) for name in names})


def column(values: np.ndarray | Sequence[Any]) -> pa.Array:
    """`pyarrow.array` of plain values."""
    import pyarrow as pa

    # pyarrow's own imports pandas to look at what it is given: a tenth of the time of a small run
    there = None
    if isinstance(values, np.ndarray) and values.dtype != object:
        numbers = values
    else:
        present = [value for value in values if value is not None]
        kinds = {type(value) for value in present}
        if not kinds:
            return pa.nulls(len(values))
        wide = kinds == {int} and not -(2**63) <= min(present) <= max(present) < 2**63
        if len(kinds) > 1 or wide or not kinds <= {bool, int, float, str}:
            return pa.array(values)
        (kind,) = kinds
        filled = [kind() if value is None else value for value in values]
        if len(present) < len(values):
            there = pa.py_buffer(np.packbits([value is not None for value in values], bitorder="little"))
        if kind is str:
            texts = [value.encode() for value in filled]
            ends = np.cumsum([0, *map(len, texts)])
            # places of that many bytes do not fit into an offset
            if ends[-1] >= 2**31:
                return pa.array(values)
            offsets = pa.py_buffer(ends.astype(np.int32))
            return pa.StringArray.from_buffers(len(texts), offsets, pa.py_buffer(b"".join(texts)), there)
        numbers = np.array(filled, dtype=kind)
    if numbers.dtype in (np.float64, np.int64, np.int32):
        content = [there, pa.py_buffer(np.ascontiguousarray(numbers))]
        return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), content)
    if numbers.dtype == bool:
        bits = np.packbits(numbers, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(numbers), [there, pa.py_buffer(bits)])
    return pa.array(values)


def write_table(path: Path, table: pa.Table, metadata: dict[str, Any]) -> str:
    """Write a parquet file with our metadata, and return its SHA-256."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    document = {"schema_version": SCHEMA_VERSION, **metadata}
    # (b)
    document |= {"checksum": digest(document, 64)} if metadata else {}
    stamped = table.replace_schema_metadata({_KEY: json.dumps(document).encode()})
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    buffer = pa.BufferOutputStream()
    # Floats are split by byte, which compresses them by a third; LZ4 makes files 3% larger than Zstandard does, in half
    # of the time. Whole numbers are in order, and written as differences. Smallest and largest values are not looked
    # for: it takes a quarter of the time, and nobody skips pages by them.
    pq.write_table(
        stamped,
        buffer,
        compression="lz4",
        use_dictionary=[name for name in table.column_names if name not in (*floats, *whole)],
        column_encoding={**dict.fromkeys(floats, "BYTE_STREAM_SPLIT"), **dict.fromkeys(whole, "DELTA_BINARY_PACKED")},
        write_statistics=False,
    )
    data = memoryview(buffer.getvalue())
    atomically(path, lambda temporary: temporary.write_bytes(data))
    return hashlib.sha256(data).hexdigest()


def read_table(path: Path, sha256: str | None = None) -> TableFile:
    """A parquet file of ours, which has this SHA-256 or proves itself. Raises Damaged, FileNotFoundError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = _content(path)
    # (a)
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise Damaged(f"{path.name} does not belong to manifest.json: a run was interrupted, or the file is damaged")
    try:
        metadata = json.loads((pq.read_schema(pa.BufferReader(data)).metadata or {})[_KEY])
        stated = metadata.pop("checksum", None)
    except Exception as error:  # of bytes that are no table anything may be said
        raise Damaged(f"{path.name} is damaged, or another program wrote it ({type(error).__name__})") from None
    # (b)
    if sha256 is None and len(metadata) > 1 and stated != digest(metadata, 64):
        raise Damaged(f"{path.name} is damaged, or another version of dpexp wrote it")
    return TableFile(path.name, data, metadata)
