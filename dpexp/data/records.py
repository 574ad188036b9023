"""A user's table without interpretation: names from its header, and every value of a record as a text of its own.

A record enters alone. Public is the header: the first line of a csv or tsv file, with the columns' number and
names and the separator, or the schema of a parquet file, with types. Everything else is done to one record at a time.

(a) csv, tsv: a record is one line that is not blank, as one of separators alone is; quoted fields end on it. The
separator is the one of , ; tab | that splits the header into most names, or that of Excel's first line `sep=;`.
(b) A line is decoded as UTF-8, or where it is none, as Windows-1252.
(c) A line that does not hold a value for each column has values that cannot be read (None).
(d) parquet: a value is a number, a truth value, a day or a text by the schema.
(e) A column without a name, such as the index that pandas writes, is no column: the header has its place.
(f) In memory a column has no public type, since one value of one record may decide it: 3, 3.0 and "3" are one value.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
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

FORMATS = (".csv", ".tsv", ".parquet")
ColumnKind = Literal["number", "truth", "day", "text", "unknown", "other"]
Value = str | float | None  # a text, empty for none; a number that is no text; None in a line that does not fit
Values = Sequence[Value] | np.ndarray  # of a column [n]; an array of numbers has NaN for none
KINDS: dict[ColumnKind, str] = {
    "number": "u?int|float|double|half|decimal", "truth": "bool", "day": "date|timestamp",
    "text": "string|large_string|null",
}  # fmt: skip
"""how the types of a schema begin; other: lists, bytes and the like, and unknown is all of what has no schema"""
_EXCEL_SEPARATOR = re.compile(r"\"?sep=(.)\"?", re.IGNORECASE)
_UNNAMED = re.compile(r"(Unnamed: \d+(_level_\d+)?)?")


class Header(NamedTuple):
    """What is public of a file without a look at its records."""

    kinds: Mapping[str, ColumnKind]  # of every column, by its name
    separator: str = ""  # of a csv or tsv file
    line: int = 1  # of the names, in a csv or tsv file
    unnamed: tuple[int, ...] = ()  # numbers of the columns without a name, from 1

    @property
    def notes(self) -> list[str]:
        """Parts of the header that are not used."""
        numbers = ", ".join(map(str, self.unnamed))
        return [f"columns without a name are left out: {numbers}"] if numbers else []

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

    where: str  # the file's name in messages
    header: Header
    columns: Mapping[str, Values]
    lines: Sequence[int] | None = None  # numbers of the lines of a csv file [n]

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
    if suffix != ".parquet":
        with path.open("rb") as file:
            return _header_line(file.readline(), file.readline(), path)
    # pandas writes its index beside the columns
    fields = [field for field in _parquet(path, "schema") if not field.name.startswith("__index_level_")]
    return _header([(field.name, _kind_of_type(field)) for field in fields], str(path))


def read_record_table(source: Path | object) -> RecordTable:
    """The records of a file, or of what holds columns in memory, each by itself.

    In memory: a frame of pandas, polars or pyarrow, a Series, a mapping of columns, or an array [n, k] whose columns
    are x[0], x[1] and so on. Raises DataError for what is wrong with the header, or for no records.
    """
    if not isinstance(source, Path):
        return _of_memory(source)
    header, suffix, lines = read_header(source), source.suffix.lower(), None
    if suffix == ".parquet":
        frame = _parquet(source, "records")
        columns = {name: _of_type(frame.column(name), kind) for name, kind in header.kinds.items()}
    else:
        lines, columns = read_lines(source, header)
    table = RecordTable(str(source), header, columns, lines)
    if not len(table):
        raise DataError(f"{source}: holds no records, only a header", "one record a line")
    return table


def _header(kinds: Sequence[tuple[str, ColumnKind]], where: str, separator: str = "", line: int = 1) -> Header:
    """The header of some columns. Raises DataError where two have one name."""
    # (e)
    unnamed = tuple(k for k, (name, _) in enumerate(kinds, 1) if _UNNAMED.fullmatch(name))
    kinds = [kind for k, kind in enumerate(kinds, 1) if k not in unnamed]
    names = [name for name, _ in kinds]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"{where}: repeated columns {', '.join(repeated)}", "give every column a name of its own")
    if not names:
        raise DataError(f"{where}: no column has a name", "this line names the columns")
    return Header(dict(kinds), separator, line, unnamed)


def _of_memory(data: object) -> RecordTable:
    """The records of a frame as a csv file would have them: every value by itself."""
    named = _columns_in_memory(data)
    lengths = {len(values) for _, values in named}
    if len(lengths) > 1:
        raise DataError(f"columns have {' and '.join(map(str, sorted(lengths)))} values", "one of every record")
    if not lengths or lengths == {0}:
        raise DataError("the frame holds no records", "one record a row")
    header = _header([(name, "unknown") for name, _ in named], "frame")
    columns = [values for k, (_, values) in enumerate(named, 1) if k not in header.unnamed]
    # a row without a value is none, as (a) has it for lines
    blank = list(range(lengths.pop()))
    for values in columns:
        blank = [k for k in blank if values[k] != values[k] or not str(values[k]).strip()]
    if blank:
        rows = np.delete(np.arange(len(columns[0])), blank).tolist()
        columns = [v[rows] if isinstance(v, np.ndarray) else [v[k] for k in rows] for v in columns]
    return RecordTable("frame", header, dict(zip(header.kinds, columns, strict=True)))


def _columns_in_memory(data: object) -> list[tuple[str, Values]]:
    """Names and values; a name is empty where there is none."""
    import pandas as pd

    hint = "a path, a frame (pandas, polars, pyarrow), a mapping of columns, or an array [n, k]"
    if isinstance(data, np.ndarray) and data.dtype.names is None:
        if data.ndim not in (1, 2):
            raise DataError(f"an array of shape {list(data.shape)} holds no records", hint)
        data = pd.DataFrame(data).rename(columns="x[{}]".format)
    if isinstance(data, Mapping):
        # a list has no type: one that follows from all of its values would change single ones
        types = {name: object if isinstance(values, list | tuple) else None for name, values in data.items()}
        return [(str(name), _of_series(pd.Series(values, dtype=types[name]))) for name, values in data.items()]
    if isinstance(data, pd.Series | np.ndarray):
        data = pd.DataFrame(data)
    if isinstance(data, pd.DataFrame):
        labels: list[object] = list(data.columns)
        names = ["" if label is None or label != label else str(label) for label in labels]
        return [(name, _of_series(data.iloc[:, k])) for k, name in enumerate(names)]
    import pyarrow as pa

    try:
        # polars, pyarrow, duckdb and others by the Arrow interface
        table = pa.table(data)
    except (TypeError, ValueError, pa.ArrowInvalid):
        raise DataError(f"no table can be read from a {type(data).__name__}", hint) from None
    return [(name, _of_type(table.column(k), "number")) for k, name in enumerate(table.column_names)]


def _of_series(column: pd.Series) -> Values:
    """The values of a column of a frame."""
    # where all of them are floating-point numbers their texts would say the same
    if column.dtype.kind == "f":
        return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    return ["" if gone else _value(value) for value, gone in zip(column.tolist(), column.isna(), strict=True)]


def _value(value: object) -> Value:
    """A value in memory: a number stays one, since no public key defines how a text of it is spelled."""
    if isinstance(value, float | np.floating | Decimal):
        return float(value)
    return "" if value is None else str(value)


def _header_line(first: bytes, second: bytes, path: Path) -> Header:
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}:1: is UTF-16 text", "save the file as UTF-8")
    text, number = _decoded(first.removeprefix(b"\xef\xbb\xbf")), 1
    separators = "\t" if path.suffix.lower() == ".tsv" else "\t;|,"
    if match := _EXCEL_SEPARATOR.fullmatch(text):
        separators, text, number = match[1], _decoded(second), 2
    where = f"{path}:{number}"
    if "\r" in text:
        raise DataError(f"{where}: lines end with CR alone", "save the file with the line ends of Unix or Windows")
    if not text.strip():
        raise DataError(f"{where}: the {'first' if number == 1 else 'second'} line is blank", "it names the columns")
    split = {separator: _fields_of(text, separator) or [] for separator in separators}
    separator = max(separators, key=lambda mark: len(split[mark]))
    if not split[separator]:
        raise DataError(f"{where}: a quoted name does not end on its line", "this line names the columns")
    return _header([(name, "unknown") for name in split[separator]], where, separator, number)


def read_lines(path: Path, header: Header) -> tuple[list[int], dict[str, Values]]:
    """The numbers of the lines, and the values of every column."""
    lines, rows = list[int](), []
    width = len(header.kinds) + len(header.unnamed)
    places = [k for k in range(width) if k + 1 not in header.unnamed]
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            # (a)
            if number <= header.line or not line.strip(b" \r\n"):
                continue
            fields = _fields_of(_decoded(line), header.separator)
            if fields is None or any(fields):
                lines.append(number)
                # (c); such a line keeps its place: that it is there changes no other
                fits = fields is not None and len(fields) == width
                rows.append([fields[k] for k in places] if fits and fields else [None] * len(places))
    columns = zip(*rows, strict=True) if rows else [()] * len(places)
    return lines, dict(zip(header.kinds, columns, strict=True))


def _decoded(line: bytes) -> str:
    """A line without its end."""
    line = line.rstrip(b"\r\n")
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


def _parquet(path: Path, part: Literal["schema", "records"]) -> Any:
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        return file.schema_arrow if part == "schema" else file.read()
    # its errors are of many families
    except Exception as error:
        raise DataError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error


def _kind_of_type(field: Any) -> ColumnKind:
    """What a column of a schema holds."""
    import pyarrow.types

    # (d); the type of a dictionary is that of the values it stands for
    name = str(field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type)
    return next((kind for kind, beginning in KINDS.items() if re.match(beginning, name)), "other")


def _of_type(column: Any, kind: ColumnKind) -> Values:
    """The values of a column of a schema: numbers, or texts in which a value that is not there is empty."""
    import pyarrow as pa

    # an integer stays a text: ids have more digits than a float
    if kind == "number" and pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    return [_value(value) for value in column.to_pylist()]
