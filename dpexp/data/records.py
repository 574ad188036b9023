"""A user's table as it stands: names from its header, and every value of a record as a text of its own.

A record enters alone. What is public is the header: the first line of a csv or tsv file, the schema of a parquet or npz
file. It says how many columns there are, what they are called, what stands between them and, in a schema, their types.
Everything else is done to one record at a time, so that no record changes how another one is read.

(a) csv, tsv: a record is one line that is not blank; a quoted field ends on its line. The separator is the one of
, ; tab | that splits the header into most names.
(b) A line is decoded as UTF-8, or where it is none, as Windows-1252.
(c) A line that does not hold a value for each column has values that cannot be read (None).
(d) parquet, npz: a value is a number, a truth value, a day or a text by the schema.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.memory import require_readable
from dpexp.core.text import few, guess

TEXTS, SCHEMAS = (".csv", ".tsv"), (".parquet", ".npz")
FORMATS = (*TEXTS, *SCHEMAS)
Kind = Literal["number", "truth", "day", "text", "unknown", "other"]
"""what a column holds; a csv file says nothing of it, so that there it is unknown; other: lists, bytes and the like"""
Values = Sequence[str | None] | np.ndarray
"""of a column [n]: texts, None where a line could not be taken apart; or numbers by a schema, NaN for none"""
KINDS: dict[Kind, tuple[str, ...]] = {
    "number": ("integer", "floating", "decimal"), "truth": ("boolean",), "day": ("date", "timestamp"),
    "text": ("string", "large_string", "null"),
}  # fmt: skip
"""of the types of a schema"""
_SEPARATORS = "\t;|,"
_BOM = b"\xef\xbb\xbf"


class Header(NamedTuple):
    """What is public of a file without a look at its records."""

    kinds: Mapping[str, Kind]
    """of every column, by its name"""
    separator: str = ""
    """of a csv or tsv file"""

    def require(self, names: Sequence[str], where: str, speaker: str = "") -> None:
        """Raises DataError where a column is not there; `speaker` is who speaks of it."""
        absent = next((name for name in names if name not in self.kinds), None)
        if absent is not None:
            spoken = f"{speaker} speaks of it; " if speaker else ""
            hint = f"{spoken}{guess(absent, self.kinds)}columns: {few(list(self.kinds), 12)}"
            raise DataError(f"{where}: no column {absent!r}", hint)


@dataclass(frozen=True)
class Table:
    """The records of a file or of a frame."""

    where: str
    """the file's name in messages"""
    header: Header
    columns: Mapping[str, Values]
    lines: Sequence[int] | None = None
    """numbers of the lines of a csv file [n]"""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def decimal_comma(self) -> bool:
        """Whether 1,5 is a number: where commas do not separate columns."""
        return self.header.separator not in ("", ",")

    def place(self, k: int) -> str:
        """Where record k stands."""
        return f"{self.where}:{self.lines[k]}" if self.lines is not None else f"{self.where}, row {k + 1}"


def read_header(path: Path) -> Header:
    """Names of columns and what else is public; no record is read. Raises DataError."""
    if path.suffix not in FORMATS:
        raise DataError(f"{path}: the format must be one of {', '.join(FORMATS)}")
    if not path.is_file():
        raise DataError(f"{path}: {'is a folder, not a table' if path.is_dir() else 'no such file'}")
    require_readable(path)
    if path.suffix in TEXTS:
        with path.open("rb") as file:
            return _header_line(file.readline(), path)
    if path.suffix == ".npz":
        arrays = _arrays(path).items()
        return _once([(name, "number" if isinstance(v, np.ndarray) else "text") for name, v in arrays], str(path))
    import pyarrow.parquet

    with _readable(path):
        fields = pyarrow.parquet.read_schema(path)
    # pandas writes its index beside the columns
    index = "__index_level_"
    return _once([(one.name, _kind_of_type(one)) for one in fields if not one.name.startswith(index)], str(path))


def read_table(path: Path | Any) -> Table:
    """The records of a file or of a pandas frame, each by itself.

    Raises DataError for what is wrong with its header, or for no records.
    """
    if not isinstance(path, Path):
        return _of_frame(path)
    header = read_header(path)
    if path.suffix in TEXTS:
        table = _read_lines(path, header)
    elif path.suffix == ".npz":
        table = Table(str(path), header, _arrays(path))
    else:
        import pyarrow.parquet

        with _readable(path):
            frame = pyarrow.parquet.read_table(path)
        columns = {name: _of_type(frame.column(name), kind) for name, kind in header.kinds.items()}
        table = Table(str(path), header, columns)
    if not len(table):
        raise DataError(f"{path}: holds no records, only a header", "one record a line")
    return table


def _of_frame(frame: Any) -> Table:
    """The records of a pandas frame as a csv file would have them: every value by itself."""
    # what type a column got may be due to one value of one record, so it is no public kind
    header = _once([(str(name), "unknown") for name in frame.columns], "frame")
    if not len(frame):
        raise DataError("the frame holds no records", "one record a row")
    columns = {name: _of_series(frame.iloc[:, k]) for k, name in enumerate(header.kinds)}
    return Table("frame", header, columns)


def _of_series(column: Any) -> Values:
    """The values of a column of a frame."""
    # where all of them are floating-point numbers their texts would say the same
    if column.dtype.kind == "f":
        return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    return ["" if gone else str(value) for value, gone in zip(column.tolist(), column.isna(), strict=True)]


# --- csv and tsv ----------------------------------------------------------------------------------------------------


def _header_line(line: bytes, path: Path) -> Header:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}:1: is UTF-16 text", "save the file as UTF-8")
    text = _decoded(line.removeprefix(_BOM).rstrip(b"\r\n"))
    if "\r" in text:
        raise DataError(f"{path}:1: lines end with CR alone", "save the file with the line ends of Unix or Windows")
    if not text.strip():
        raise DataError(f"{path}:1: the first line is blank", "the first line names the columns")
    separators = "\t" if path.suffix == ".tsv" else _SEPARATORS
    # (a)
    split = {separator: _fields_of(text, separator) or [] for separator in separators}
    separator = max(separators, key=lambda one: len(split[one]))
    if not split[separator]:
        raise DataError(f"{path}:1: a quoted name does not end on its line", "the first line names the columns")
    return _once([(name, "unknown") for name in split[separator]], f"{path}:1", separator)


def _read_lines(path: Path, header: Header) -> Table:
    lines, rows = [], []
    width = len(header.kinds)
    # (c); such a line keeps its place: that it is there changes no other
    unread: list[str | None] = [None] * width
    for number, raw in _lines(path):
        fields = _fields_of(_decoded(raw), header.separator)
        lines.append(number)
        rows.append(fields if fields is not None and len(fields) == width else unread)
    columns = dict(zip(header.kinds, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(header.kinds, ())
    return Table(str(path), header, columns, lines)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Every line below the header that is not blank, and its number."""
    with path.open("rb") as file:
        next(file, None)
        for number, line in enumerate(file, 2):
            if line.strip(b" \r\n"):
                yield number, line.rstrip(b"\r\n")


def _decoded(line: bytes) -> str:
    # (b), line by line, so that one record in another encoding does not decide how the others are read
    for encoding in ("utf-8", "cp1252"):
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            continue
    return line.decode("latin-1")


def _fields_of(text: str, separator: str) -> list[str] | None:
    """The values of one line without the blanks around them; None where its quotes do not match."""
    # without quotes, which is nearly always, splitting says the same as the parser
    if '"' not in text:
        return [field.strip() for field in text.split(separator)]
    try:
        (fields,) = csv.reader([text], delimiter=separator, skipinitialspace=separator != "\t", strict=True)
    except csv.Error:
        return None
    return [field.strip() for field in fields]


def _once(kinds: Sequence[tuple[str, Kind]], where: str, separator: str = "") -> Header:
    names = [name for name, _ in kinds]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"{where}: repeated columns {', '.join(repeated)}", "give every column a name of its own")
    return Header(dict(kinds), separator)


# --- schemas --------------------------------------------------------------------------------------------------------


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    # each reader has its own family of errors
    except Exception as error:
        raise DataError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error


def _arrays(path: Path) -> dict[str, Values]:
    """Columns of an npz file; those of an array x [n, k] are x[0], x[1] and so on."""
    with _readable(path), np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    lengths = {array.shape[:1] for array in arrays.values()}
    if len(lengths) != 1 or any(array.ndim not in (1, 2) for array in arrays.values()):
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
        raise DataError(f"{path}: arrays must be [n] or [n, k] with one n, not {shapes}")
    columns: dict[str, Values] = {}
    for name, array in arrays.items():
        numbers = array.dtype.kind in "iuf"
        values = array.astype(np.float64) if numbers else array.astype(str)
        parts = {name: values} if array.ndim == 1 else {f"{name}[{k}]": values[:, k] for k in range(array.shape[1])}
        columns |= parts if numbers else {key: part.tolist() for key, part in parts.items()}
    return columns


def _kind_of_type(field: Any) -> Kind:
    """What a column of a schema holds."""
    import pyarrow.types as types

    # (d); the type of a dictionary is that of the values it stands for
    kind = field.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    return next(
        (name for name, ways in KINDS.items() if any(getattr(types, f"is_{way}")(kind) for way in ways)), "other"
    )


def _of_type(column: Any, kind: Kind) -> Values:
    """The values of a column of a schema: numbers, or texts in which a value that is not there is empty."""
    import pyarrow as pa

    if kind == "number" and not pa.types.is_dictionary(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    return ["" if value is None else str(value) for value in column.to_pylist()]
