"""A file of users' budgets: csv or parquet with the columns mu and, if there, uses and group.

A budget that is read wrongly is a false guarantee, so nothing is guessed: a csv row must have exactly the fields of the
header, and a number is digits with a point and an exponent, or inf. Everything else is an error at its line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.text import guess

COLUMNS = ("mu", "uses", "group")
EVERYONE = "all"
"""the row of all users together, so no group can be called so"""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|\+?inf(inity)?", re.IGNORECASE)
_SHOWN = 5
"""faults that a message lists"""


class Users(NamedTuple):
    """One entry a user."""

    mu: np.ndarray
    uses: np.ndarray | None
    groups: Any
    """text [N], or None"""


class Table(NamedTuple):
    """A file as columns of text or numbers, and where its rows stand."""

    columns: dict[str, Any]
    """lists of text (csv), or series (parquet)"""
    lines: Sequence[int]
    """line of the file, or number of the row, of every entry"""
    where: str
    """`users.csv:` or `users.parquet, row `, to which a line is appended"""


def read_users(path: Path) -> Users:
    """The users of a file. Raises UsageError that names the file and the lines that are wrong."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file of users")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    table = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    faults: list[str] = []
    mu = _numbers(table, "mu", faults)
    uses = _numbers(table, "uses", faults) if "uses" in table.columns else None
    groups = _groups(table, faults) if "group" in table.columns else None
    if faults:
        more = f" (and {len(faults) - _SHOWN} more)" if len(faults) > _SHOWN else ""
        raise UsageError("; ".join(faults[:_SHOWN]) + more, "a number is written like 0.5, 2e-1 or inf")
    return Users(mu, uses, groups)


def _csv(path: Path) -> Table:
    """Rows of exactly as many fields as the header has; blank lines at the end do not count."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{line}: is not UTF-8 text", "save the file as UTF-8 csv") from None
    if not text.strip():
        raise UsageError(f"{path}:1: is empty", "the first line names the columns: mu, and if there uses and group")
    reader = csv.reader(io.StringIO(text.rstrip("\r\n \t"), newline=""), strict=True, skipinitialspace=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    before = 0
    try:
        for row in reader:
            rows.append(row)
            lines.append(before + 1)
            before = reader.line_num
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: is not csv: {error}", "check its quotes") from None
    header, rows, lines = [name.strip() for name in rows[0]], rows[1:], lines[1:]
    _known(header, f"{path}:1")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            found = f"{len(row)} fields" if row else "a blank line"
            hint = "a comma inside a number? write 1000 for 1,000" if len(row) > len(header) else ""
            raise UsageError(f"{path}:{line}: {found} where the header has {len(header)}", hint)
    if not rows:
        raise UsageError(f"{path}:1: holds no users, only a header")
    columns = {name: [row[k].strip() for row in rows] for k, name in enumerate(header)}
    return Table(columns, lines, f"{path}:")


def _parquet(path: Path) -> Table:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except Exception as error:  # pyarrow has a family of errors
        raise UsageError(f"{path}: is not readable as parquet: {str(error).splitlines()[0]}") from None
    _known([str(name) for name in frame.columns], str(path))
    if frame.empty:
        raise UsageError(f"{path}: holds no users")
    return Table({str(name): frame[name] for name in frame.columns}, range(1, len(frame) + 1), f"{path}, row ")


def _known(header: Sequence[str], where: str) -> None:
    """Raises UsageError for columns that are unknown, named twice or missing."""
    for name in header:
        if name not in COLUMNS:
            separator = next((s for s in ";\t|" if s in name), None)
            if separator:
                raise UsageError(f"{where}: is separated by {separator!r}, not by commas", "save the file as csv")
            raise UsageError(
                f"{where}: no column {name!r} is known", f"{guess(name, COLUMNS)}columns: {', '.join(COLUMNS)}"
            )
        if header.count(name) > 1:
            raise UsageError(f"{where}: the column {name!r} appears twice", "keep one of them")
    if "mu" not in header:
        raise UsageError(f"{where}: needs a column mu")


def _numbers(table: Table, name: str, faults: list[str]) -> np.ndarray:
    """A column as numbers >= 0; whole and finite where they are uses."""
    entries = table.columns[name]
    if isinstance(entries, list):
        read = [bool(_NUMBER.fullmatch(text)) for text in entries]
        values = np.array([float(text) if ok else np.nan for text, ok in zip(entries, read, strict=True)])
        overflow = np.isinf(values) & np.array(["inf" not in text.lower() for text in entries])
    else:
        numeric = entries.dtype.kind in "iuf"
        values = entries.to_numpy(np.float64, na_value=np.nan) if numeric else np.full(len(entries), np.nan)
        overflow = np.zeros(len(values), dtype=bool)
    rules = [
        (np.isnan(values), "is not a number"),
        (overflow, "is too large"),
        (values < 0, "must not be negative"),
    ]
    if name == "uses":
        with np.errstate(invalid="ignore"):
            rules.append((~np.isnan(values) & (np.isinf(values) | (values != np.floor(values))), "must be whole"))
    for wrong, words in rules:
        for k in np.flatnonzero(wrong)[: _SHOWN + 1]:
            faults.append(f"{table.where}{table.lines[k]}: {name} {words}, got {_shown(entries, int(k))}")
    return values


def _groups(table: Table, faults: list[str]) -> np.ndarray:
    """Group labels as text, none of them missing or called as everyone's row is."""
    entries = list(table.columns["group"])
    for k, entry in enumerate(entries):
        missing = entry is None or entry != entry or str(entry) == ""
        if missing or str(entry) == EVERYONE:
            reason = "is missing" if missing else f"cannot be {EVERYONE!r}: that is the row of all users"
            faults.append(f"{table.where}{table.lines[k]}: group {reason}")
            if len(faults) > _SHOWN:
                break
    return np.array([str(entry) for entry in entries], dtype=object)


def _shown(entries: Any, k: int) -> str:
    entry = entries[k] if isinstance(entries, list) else entries.iloc[k]
    if entry is None or str(entry) in ("", "nan", "<NA>"):
        return "nothing"
    return repr(str(entry)[:40])
