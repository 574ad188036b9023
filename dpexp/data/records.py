"""A user's table without interpretation: names from its header, and every value of a record as a text of its own.

A record enters alone. What is public is the header: the first line of a csv or tsv file, the schema of a parquet or npz
file. The header has the number of columns, their names, the separator and, in a schema, their types.
Everything else is done to one record at a time, so that no record changes how another one is read.

(a) csv, tsv: a record is one line that is not blank; a quoted field ends on its line. A line of separators alone is
blank. The separator is the one of , ; tab | that splits the header into most names, or that of a first line `sep=;`,
which Excel writes.
(b) A line is decoded as UTF-8, or where it is none, as Windows-1252.
(c) A line that does not hold a value for each column has values that cannot be read (None).
(d) parquet, npz: a value is a number, a truth value, a day or a text by the schema.
(e) A column without a name, such as the index that pandas writes, is no column: the header has its place.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.memory import require_readable
from dpexp.core.text import few, guess

if TYPE_CHECKING:
    import pandas as pd

TEXTS, SCHEMAS = (".csv", ".tsv"), (".parquet", ".npz")
FORMATS = (*TEXTS, *SCHEMAS)
ColumnKind = Literal["number", "truth", "day", "text", "unknown", "other"]
"""what a column holds; a csv file says nothing of it, so that there it is unknown; other: lists, bytes and the like"""
Value = str | float | None
"""a text, empty where there is none; a number that is no text; None where a line could not be taken apart"""
Values = Sequence[Value] | np.ndarray
"""of a column [n]; an array of numbers has NaN for none"""
KINDS: dict[ColumnKind, tuple[str, ...]] = {
    "number": ("integer", "floating", "decimal"), "truth": ("boolean",), "day": ("date", "timestamp"),
    "text": ("string", "large_string", "null"),
}  # fmt: skip
"""of the types of a schema"""
_SEPARATORS = "\t;|,"
_BOM = b"\xef\xbb\xbf"
_STATED = re.compile(r"\"?sep=(.)\"?", re.IGNORECASE)
_UNNAMED = re.compile(r"Unnamed: \d+(_level_\d+)?")


class Header(NamedTuple):
    """What is public of a file without a look at its records."""

    kinds: Mapping[str, ColumnKind]
    """of every column, by its name"""
    separator: str = ""
    """of a csv or tsv file"""
    line: int = 1
    """of the names, in a csv or tsv file"""
    unnamed: tuple[int, ...] = ()
    """numbers of the columns without a name, from 1"""

    @property
    def notes(self) -> list[str]:
        """Parts of the header that are not used."""
        if not self.unnamed:
            return []
        *rest, last = map(str, self.unnamed)
        which = f"columns {', '.join(rest)} and {last} have" if rest else f"column {last} has"
        index = " (pandas writes its index so)" * (self.unnamed == (1,))
        return [f"{which} no name{index}, and {'are' if rest else 'is'} left out"]

    def require(self, names: Sequence[str], where: str, speaker: str = "") -> None:
        """Raises DataError where a column is not there; `speaker` is who speaks of it."""
        absent = next((name for name in names if name not in self.kinds), None)
        if absent is not None:
            spoken = f"{speaker} speaks of it; " if speaker else ""
            hint = f"{spoken}{guess(absent, self.kinds)}columns: {few(list(self.kinds), 12)}"
            raise DataError(f"{where}{': ' * bool(where)}no column {absent!r}", hint)


@dataclass(frozen=True)
class RecordTable:
    """The records of a file or of a frame."""

    where: str
    """the file's name in messages"""
    header: Header
    columns: Mapping[str, Values]
    lines: Sequence[int] | None = None
    """numbers of the lines of a csv file [n]"""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def place(self, k: int) -> str:
        """The line of record k."""
        return f"{self.where}:{self.lines[k]}" if self.lines is not None else f"{self.where}, row {k + 1}"


def read_header(path: Path) -> Header:
    """Names of columns and what else is public; no record is read. Raises DataError."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise DataError(f"{path}: the format must be one of {', '.join(FORMATS)}")
    if not path.is_file():
        raise DataError(f"{path}: {'is a folder, not a table' if path.is_dir() else 'no such file'}")
    require_readable(path)
    if suffix in TEXTS:
        with path.open("rb") as file:
            return _header_line([file.readline(), file.readline()], path)
    if suffix == ".npz":
        arrays = _arrays(path).items()
        return _once([(name, "number" if isinstance(v, np.ndarray) else "text") for name, v in arrays], str(path))
    import pyarrow.parquet

    with _readable(path):
        fields = pyarrow.parquet.read_schema(path)
    # pandas writes its index beside the columns
    index = "__index_level_"
    return _once(
        [(field.name, _kind_of_type(field)) for field in fields if not field.name.startswith(index)], str(path)
    )


def read_record_table(source: Path | object) -> RecordTable:
    """The records of a file, or of what holds columns in memory, each by itself.

    In memory: a frame of pandas, polars or pyarrow, a Series, a mapping of columns, or an array [n, k] whose columns
    are x[0], x[1] and so on. Raises DataError for what is wrong with the header, or for no records.
    """
    if not isinstance(source, Path):
        return _of_memory(source)
    header, suffix = read_header(source), source.suffix.lower()
    if suffix in TEXTS:
        table = _read_lines(source, header)
    elif suffix == ".npz":
        table = RecordTable(str(source), header, _arrays(source))
    else:
        import pyarrow.parquet

        with _readable(source):
            frame = pyarrow.parquet.read_table(source)
        columns = {name: _of_type(frame.column(name), kind) for name, kind in header.kinds.items()}
        table = RecordTable(str(source), header, columns)
    if not len(table):
        raise DataError(f"{source}: holds no records, only a header", "one record a line")
    return table


# --- in memory ------------------------------------------------------------------------------------------------------


def _of_memory(data: object) -> RecordTable:
    """The records of a frame as a csv file would have them: every value by itself."""
    names, columns = _columns_in_memory(data)
    # what type a column got may be due to one value of one record, so it is no public kind; pandas calls a column
    # without a name `Unnamed: 0`
    named = [bool(name) and not _UNNAMED.fullmatch(name) for name in names]
    unnamed = tuple(k for k, own in enumerate(named, 1) if not own)
    kinds: list[tuple[str, ColumnKind]] = [(name, "unknown") for name, own in zip(names, named, strict=True) if own]
    header = _once(kinds, "frame")._replace(unnamed=unnamed)
    values = [column for column, own in zip(columns, named, strict=True) if own]
    if not values or not len(values[0]):
        raise DataError("the frame holds no records", "one record a row")
    return RecordTable("frame", header, dict(zip(header.kinds, _without_blank(values), strict=True)))


def _columns_in_memory(data: object) -> tuple[list[str], list[Values]]:
    """Names and values."""
    import pandas as pd

    if isinstance(data, pd.Series):
        data = data.to_frame()
    if isinstance(data, np.ndarray):
        if data.dtype.names is None and data.ndim not in (1, 2):
            raise DataError(f"an array of shape {list(data.shape)} holds no records", "an array [n, k]")
        width = data.shape[1] if data.ndim > 1 else 1
        data = pd.DataFrame(data, columns=None if data.dtype.names else [f"x[{k}]" for k in range(width)])
    if isinstance(data, Mapping):
        lengths = {len(values) for values in data.values()}
        if len(lengths) > 1:
            raise DataError(f"columns have {' and '.join(map(str, sorted(lengths)))} values", "one of every record")
        data = pd.DataFrame(dict(data))
    if isinstance(data, pd.DataFrame):
        return [_name(name) for name in data.columns], [_of_series(data.iloc[:, k]) for k in range(data.shape[1])]
    import pyarrow as pa

    try:
        # polars, pyarrow, duckdb and others by the Arrow interface
        table = pa.table(data)
    except (TypeError, ValueError, pa.ArrowInvalid):
        hint = "a path, a frame (pandas, polars, pyarrow), a mapping of columns, or an array [n, k]"
        raise DataError(f"no table can be read from a {type(data).__name__}", hint) from None
    numbers = (pa.types.is_floating(column.type) for column in table.columns)
    kinds: list[ColumnKind] = ["number" if own else "unknown" for own in numbers]
    return table.column_names, [_of_type(column, kind) for column, kind in zip(table.columns, kinds, strict=True)]


def _name(label: object) -> str:
    """Of a column of a frame; empty where it has none."""
    return "" if label is None or label != label else str(label)


def _of_series(column: pd.Series) -> Values:
    """The values of a column of a frame."""
    # where all of them are floating-point numbers their texts would say the same
    if column.dtype.kind == "f":
        return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    return ["" if gone else _value(value) for value, gone in zip(column.tolist(), column.isna(), strict=True)]


def _value(value: object) -> Value:
    """A value in memory: a number stays one, since no public key defines how a text of it is spelled."""
    return float(value) if isinstance(value, float | Decimal) else "" if value is None else str(value)


def _without_blank(columns: list[Values]) -> list[Values]:
    """The rows that hold a value, as (a) has it for lines."""
    blank = np.ones(len(columns[0]), dtype=bool)
    for values in columns:
        places = np.flatnonzero(blank).tolist()
        if isinstance(values, np.ndarray):
            blank[places] = np.isnan(values[places])
        else:
            blank[places] = [not str(values[k]).strip() for k in places]
        if not blank.any():
            return columns
    places = np.flatnonzero(~blank).tolist()
    return [v[places] if isinstance(v, np.ndarray) else [v[k] for k in places] for v in columns]


# --- csv and tsv ----------------------------------------------------------------------------------------------------


def _header_line(lines: Sequence[bytes], path: Path) -> Header:
    if lines[0].startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}:1: is UTF-16 text", "save the file as UTF-8")
    text, number = _decoded(lines[0].removeprefix(_BOM).rstrip(b"\r\n")), 1
    separators = "\t" if path.suffix.lower() == ".tsv" else _SEPARATORS
    if match := _STATED.fullmatch(text):
        separators, text, number = match[1], _decoded(lines[1].rstrip(b"\r\n")), 2
    where = f"{path}:{number}"
    if "\r" in text:
        raise DataError(f"{where}: lines end with CR alone", "save the file with the line ends of Unix or Windows")
    if not text.strip():
        raise DataError(f"{where}: the {'first' if number == 1 else 'second'} line is blank", "it names the columns")
    split = {separator: _fields_of(text, separator) or [] for separator in separators}
    separator = max(separators, key=lambda mark: len(split[mark]))
    names = split[separator]
    if not names:
        raise DataError(f"{where}: a quoted name does not end on its line", "this line names the columns")
    # (e)
    unnamed = tuple(k for k, name in enumerate(names, 1) if not name or _UNNAMED.fullmatch(name))
    kinds: list[tuple[str, ColumnKind]] = [(name, "unknown") for k, name in enumerate(names, 1) if k not in unnamed]
    if not kinds:
        raise DataError(f"{where}: no column has a name", "this line names the columns")
    return _once(kinds, where, separator)._replace(line=number, unnamed=unnamed)


def _read_lines(path: Path, header: Header) -> RecordTable:
    lines, rows = [], []
    width = len(header.kinds) + len(header.unnamed)
    places = [k for k in range(width) if k + 1 not in header.unnamed]
    # (c); such a line keeps its place: that it is there changes no other
    unread: list[str | None] = [None] * len(places)
    for number, raw in _record_lines(path, header.line):
        fields = _fields_of(_decoded(raw), header.separator)
        # (a)
        if fields is not None and not any(fields):
            continue
        lines.append(number)
        fits = fields is not None and len(fields) == width
        rows.append([fields[k] for k in places] if fits and fields else unread)
    columns = dict(zip(header.kinds, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(header.kinds, ())
    return RecordTable(str(path), header, columns, lines)


def _record_lines(path: Path, header: int) -> Iterator[tuple[int, bytes]]:
    """Every line below the header that is not blank, and its number."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if number > header and line.strip(b" \r\n"):
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


def _once(kinds: Sequence[tuple[str, ColumnKind]], where: str, separator: str = "") -> Header:
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


def _kind_of_type(field: Any) -> ColumnKind:
    """What a column of a schema holds."""
    import pyarrow.types as types

    # (d); the type of a dictionary is that of the values it stands for
    kind = field.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    return next(
        (name for name, ways in KINDS.items() if any(getattr(types, f"is_{way}")(kind) for way in ways)), "other"
    )


def _of_type(column: Any, kind: ColumnKind) -> Values:
    """The values of a column of a schema: numbers, or texts in which a value that is not there is empty."""
    import pyarrow as pa

    # an integer stays a text: ids have more digits than a float
    if kind == "number" and pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    return [_value(value) for value in column.to_pylist()]
