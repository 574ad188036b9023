"""Files of results, in which no damaged byte goes unnoticed; `dpexp.core.files` writes them whole or not at all.

(a) A parquet file of ours carries a seal: a marker and the SHA-256 of everything else in the file, between the last
page and the footer. A parquet reader finds the footer from the end of the file and the pages by their offsets from its
start, so the file stays an ordinary parquet file. (b) It is decoded only after every byte of it has been checked.
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
_MARKER = b"dpexp-seal-sha256:"
_MAGIC = b"PAR1"
_TAIL = 8
"""bytes after a parquet footer: its length (4, little-endian) and the magic number"""
_SEAL = len(_MARKER) + hashlib.sha256().digest_size
SUBFOLDERS = ("trajectories", "models", "orphaned", "partial", "released")
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
class Sealed:
    """The bytes of a parquet file of ours, checked."""

    name: str
    data: bytes
    seal: str
    """hexadecimal digest of the file"""
    metadata: dict[str, Any]

    def table(self, columns: Sequence[str] | None = None, filters: Sequence[Filter] = ()) -> pa.Table:
        """Its rows, those for which all filters hold. Raises KeyError for a column that is not there."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        file = pq.ParquetFile(pa.BufferReader(self.data), pre_buffer=False)
        names = file.schema_arrow.names
        wanted = list(names if columns is None else columns)
        needed = [*wanted, *(name for name, _, _ in filters if name not in wanted)]
        absent = [name for name in needed if name not in names]
        if absent:
            raise KeyError(f"{self.name} has no column {', '.join(absent)}")
        # by this thread: a process that ends while pyarrow's own threads are about can be aborted
        table = file.read(columns=needed, use_threads=False)
        for name, comparison, value in filters:
            column = table[name]
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
    """Write a sealed parquet file with our metadata, and return its seal."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    document = json.dumps({"schema_version": SCHEMA_VERSION, **metadata}).encode()
    stamped = table.replace_schema_metadata({_KEY: document})
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
    pieces, seal = _sealed(memoryview(buffer.getvalue()))

    def write(temporary: Path) -> None:
        with temporary.open("wb") as handle:
            handle.writelines(pieces)

    atomically(path, write)
    return seal


def _sealed(data: memoryview) -> tuple[list[memoryview | bytes], str]:
    """The pieces of a parquet file with its seal in place, and the seal in hexadecimal."""
    # (a): the footer begins at `cut`
    cut = len(data) - _TAIL - int.from_bytes(data[-_TAIL:-4], "little")
    hashed = hashlib.sha256(data[:cut])
    hashed.update(data[cut:])
    return [data[:cut], _MARKER, hashed.digest(), data[cut:]], hashed.hexdigest()


def read_sealed(path: Path) -> Sealed:
    """A parquet file of ours with every byte checked before anything is decoded. Raises Damaged, FileNotFoundError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = _content(path)
    view = memoryview(data)
    cut = len(data) - _TAIL - int.from_bytes(view[-_TAIL:-4], "little")
    if cut < len(_MAGIC) + _SEAL or data[-4:] != _MAGIC or data[cut - _SEAL : cut - 32] != _MARKER:
        raise Damaged(f"{path.name} is damaged, or was written by another version of dpexp or another program")
    # (b): until here nothing but the length of the footer was believed, and a wrong one finds no marker
    hashed = hashlib.sha256(view[: cut - _SEAL])
    hashed.update(view[cut:])
    if hashed.digest() != data[cut - 32 : cut]:
        raise Damaged(f"{path.name} is damaged (its checksum does not agree)")
    metadata = json.loads((pq.read_schema(pa.BufferReader(data)).metadata or {})[_KEY])
    if metadata.get("schema_version") != SCHEMA_VERSION:
        raise Damaged(f"{path.name} was written by another version of dpexp")
    return Sealed(path.name, data, hashed.hexdigest(), metadata)
