"""A user's own table as covariates and a response in the units of the computation, and the way back.

A covariate is z = (value - centre) / (scale sqrt d) and the response (y - centre) / scale, with public centres and
scales, so that |x|^2 = 1 + |z|^2 is about 2 and hardly any record loses weight. Each record is transformed by itself:
no statistic of the records is used. What is wrong with the table is reported at once, each fault at its line.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.text import few, guess
from dpexp.data.columns import is_number, words
from dpexp.data.dataset import DataError
from dpexp.data.public_inputs import Entry, PublicInputs, entries_of_levels, entries_of_numbers
from dpexp.data.separators import separated_otherwise
from dpexp.data.table import read_frame

FARTHEST = 1e6
"""a value farther than so many scales from its centre counts as that far: its weight is next to nothing either way"""
_SHOWN = 5
"""faults that a message lists"""


@dataclass(frozen=True)
class Roles:
    """Which column is what."""

    target: str
    mu: str | None = None
    person: str | None = None

    @property
    def named(self) -> list[str]:
        return [name for name in (self.target, self.mu, self.person) if name is not None]


@dataclass(frozen=True)
class Units:
    """Covariates and the response as the computation sees them; public."""

    entries: tuple[Entry, ...]
    target: str
    centre: float
    """of the response"""
    scale: float
    """of the response: the guess of the standard deviation of the errors; 1 for a binary response"""
    has_scale: bool
    """whether the last parameter is the scale of the errors"""
    notes: tuple[str, ...] = ()
    """what had to be assumed"""

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return ["(intercept)", *(entry.name for entry in self.entries), *(["(scale)"] if self.has_scale else [])]

    def to_user(self) -> tuple[np.ndarray, np.ndarray]:
        """L [p, p] and o [p]: the parameters on the user's scale are L theta + o, so their covariance is L C L'.

        y = centre_y + s0 (beta_0 + sum_j beta_j (col_j - centre_j) / (scale_j sqrt d)) + s0 s e.
        """
        d, p = len(self.entries), len(self.names)
        matrix, offset = np.zeros((p, p)), np.zeros(p)
        matrix[0, 0], offset[0] = self.scale, self.centre
        for j, entry in enumerate(self.entries, 1):
            matrix[j, j] = self.scale / (entry.scale * math.sqrt(d))
            matrix[0, j] = -matrix[j, j] * entry.centre
        if self.has_scale:
            matrix[-1, -1] = self.scale
        return matrix, offset


@dataclass(frozen=True)
class Records:
    """A table that was read."""

    units: Units
    x: np.ndarray
    """covariates [n, d]"""
    y: np.ndarray
    """[n]"""
    mu: np.ndarray | None
    """budgets [n], where a column has them"""
    person: np.ndarray | None
    """whom a record is of, as numbers [n]"""


def units_of(kinds: dict[str, str], roles: Roles, public: PublicInputs, binary: bool) -> Units:
    """The covariates of a table of which only names and kinds of columns are known ("number", "truth" or "text").

    Raises DataError for columns that public inputs must speak of, or that are not there.
    """
    used = [name for name in kinds if name not in roles.named and name not in public.leave_out]
    if any(name not in kinds for name in (*roles.named, *public.named)):
        absent = next(name for name in (*roles.named, *public.named) if name not in kinds)
        spoken = "" if absent in roles.named else f"{public.where} speaks of it; "
        hint = f"{spoken}{separated_otherwise(kinds)}{guess(absent, kinds)}columns: {few(list(kinds), 12)}"
        raise DataError(f"no column {absent!r}", hint)
    wrong: list[str] = []
    entries: list[Entry] = []
    unranged: list[str] = []
    for name in used:
        if name in public.categories:
            entries += entries_of_levels(name, public.categories[name], public)
        elif kinds[name] == "truth":
            entries += entries_of_levels(name, ("False", "True"), public)
        elif kinds[name] == "number" or name in public.ranges:
            entries += entries_of_numbers(name, public)
            unranged += [] if name in public.ranges else [name]
        else:
            wrong.append(f"{name} is text, and no categories are stated")
    if wrong:
        raise DataError(
            "; ".join(wrong), "state categories in a file for --public; dpexp init --data FILE --public drafts one"
        )
    if not entries:
        raise DataError("there is no column besides the target", "a regression needs a covariate")
    notes = (
        [f"no range is stated of {few(unranged, 6)}: most values are taken to lie between -2 and 2"] if unranged else []
    )
    if binary:
        return Units(tuple(entries), roles.target, 0.0, 1.0, False, tuple(notes))
    centre, scale = 0.0, public.error_scale
    if roles.target in public.ranges:
        low, high = public.ranges[roles.target]
        centre, scale = (low + high) / 2, scale or (high - low) / 4
    else:
        said = "its values are taken to lie around 0" + (
            "" if scale else ", and errors to have a standard deviation of about 1"
        )
        notes.append(f"no range is stated of {roles.target}, the target: {said}")
    return Units(tuple(entries), roles.target, centre, scale or 1.0, not public.error_scale_is_known, tuple(notes))


def kinds_of(frame: Any) -> dict[str, str]:
    """The kind of every column: "number", "truth" or "text"."""
    kinds = {}
    for name in frame.columns:
        column = frame[name]
        kinds[str(name)] = (
            "truth" if column.dtype.kind == "b" else "number" if is_number(column) or column.isna().all() else "text"
        )
    return kinds


def names_of(path: Path) -> list[str]:
    """The names of a file's columns; none of its records is read."""
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.suffix == ".parquet":
        import pyarrow.parquet

        try:
            return [str(name) for name in pyarrow.parquet.read_schema(path).names]
        except Exception as error:  # pyarrow has a family of errors
            raise DataError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [name.strip() for name in next(csv.reader(file, skipinitialspace=True), [])]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def read_records(path: Path, roles: Roles, public: PublicInputs, binary: bool) -> Records:
    """The records of a file. Raises DataError with every fault, each at its line."""
    frame = read_frame(path)
    frame.columns = [str(name) for name in frame.columns]
    repeated = sorted({name for name in frame.columns if list(frame.columns).count(name) > 1})
    if repeated:
        raise DataError(f"{path}: repeated columns {', '.join(repeated)}", "give every column a name of its own")
    if frame.empty:
        raise DataError(f"{path}: holds no records, only a header", "one record a line")
    kinds = kinds_of(frame)
    for name in [name for name, kind in kinds.items() if kind == "text" and name not in public.categories]:
        _slips(frame[name], path, len(frame), unused=name in (*public.leave_out, roles.person))
    try:
        units = units_of(kinds, roles, public, binary)
    except DataError as error:
        raise DataError(f"{path}: {error.message}", error.hint) from None
    faults = Faults(path, len(frame))
    y = _response(frame[roles.target], public, binary, faults)
    d = len(units.entries)
    x = np.empty((len(frame), d))
    columns: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for j, entry in enumerate(units.entries):
        if entry.column not in columns:
            columns[entry.column] = _values(frame[entry.column], entry, public, faults)
        values, missing = columns[entry.column]
        if entry.of_missing:
            raw = missing.astype(np.float64)
        elif entry.level is None:
            raw = values
        else:
            raw = (values == entry.level).astype(np.float64)
        with np.errstate(over="ignore"):
            z = np.clip((raw - entry.centre) / entry.scale, -FARTHEST, FARTHEST)
        x[:, j] = (z if entry.of_missing else np.where(missing, 0.0, z)) / math.sqrt(d)
    mu = None if roles.mu is None else _budgets(frame[roles.mu], faults)
    person = None if roles.person is None else _persons(frame[roles.person], faults)
    faults.raise_if_any()
    with np.errstate(over="ignore"):
        response = y if binary else np.clip((y - units.centre) / units.scale, -FARTHEST, FARTHEST)
    return Records(units, x, response, mu, person)


def _slips(column: Any, path: Path, n: int, unused: bool) -> None:
    """Raises DataError at the first value that is no number, in a column where most values are."""
    import pandas as pd

    known = ~column.isna().to_numpy()
    slips = known & pd.to_numeric(column, errors="coerce").isna().to_numpy()
    if not unused and 0 < slips.sum() < known.sum() / 2:
        faults = Faults(path, n)
        hint = "write numbers like 1000 or 0.5, or state the column's categories in the file for --public"
        faults.add(slips, f"{column.name} is not a number: {{value}}", column, hint)
        faults.raise_if_any()


def read_budgets(path: Path, column: str) -> np.ndarray:
    """The budgets of a file, which are public; nothing else of its records is used."""
    frame = read_frame(path)
    names = list(map(str, frame.columns))
    if column not in frame.columns:
        raise DataError(
            f"{path}: no column {column!r}",
            f"{separated_otherwise(names)}{guess(column, names)}columns: {few(names, 12)}",
        )
    faults = Faults(path, len(frame))
    mu = _budgets(frame[column], faults)
    faults.raise_if_any()
    return mu


class Faults:
    """What is wrong with single records, each at its line of the file."""

    def __init__(self, path: Path, n: int) -> None:
        self.path, self.n = path, n
        self.found: list[tuple[str, np.ndarray, Any, str]] = []

    def add(self, rows: np.ndarray, what: str, column: Any, hint: str) -> None:
        """`rows` [n] says which records have this fault; `what` may hold {value}."""
        if rows.any():
            self.found.append((what, np.flatnonzero(rows), column, hint))

    def raise_if_any(self) -> None:
        if not self.found:
            return
        lines = _lines(self.path, self.n)
        said = []
        for what, rows, column, _ in self.found[:_SHOWN]:
            value = repr(str(column.iloc[rows[0]])[:40])
            more = f" (and in {len(rows) - 1:,} more records)" if len(rows) > 1 else ""
            said.append(f"{self.path}{lines(int(rows[0]))}: {what.format(value=value)}{more}")
        more = f"; and {len(self.found) - _SHOWN} more faults" if len(self.found) > _SHOWN else ""
        raise DataError("; ".join(said) + more, "; ".join(dict.fromkeys(fault[3] for fault in self.found[:_SHOWN])))


def _lines(path: Path, n: int) -> Any:
    """A function from the number of a record to its place in the file: quoted fields may hold line breaks."""
    if path.suffix != ".csv":
        return lambda row: f", row {row + 1}"
    starts: list[int] = []
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = csv.reader(file, skipinitialspace=True)
        before = 0
        for row in reader:
            if row:
                starts.append(before + 1)
            before = reader.line_num
    if len(starts) != n + 1:
        return lambda row: f", row {row + 1}"
    return lambda row: f":{starts[row + 1]}"


CENTRE = "or let them count as the centre: missing: [COLUMN] in the file for --public"


def _numbers(column: Any, name: str, faults: Faults) -> np.ndarray:
    """A column as float64, NaN where there is nothing; what is no number is a fault."""
    import pandas as pd

    missing = column.isna().to_numpy()
    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    faults.add(
        np.isnan(values) & ~missing, f"{name} is not a number: {{value}}", column, "write numbers like 1000 or 0.5"
    )
    faults.add(np.isinf(values), f"{name} is infinite", column, "leave such records out")
    return values


def _values(column: Any, entry: Entry, public: PublicInputs, faults: Faults) -> tuple[np.ndarray, np.ndarray]:
    """Values of a column, as numbers or as words, and where they are missing."""
    name, missing = entry.column, column.isna().to_numpy()
    if name not in public.centred_if_missing:
        faults.add(missing, f"{name} is missing", column, f"fill missing values in, {CENTRE.replace('COLUMN', name)}")
    levels = public.categories.get(name) or (("False", "True") if column.dtype.kind == "b" else None)
    if levels is None:
        if column.dtype.kind in "mM" or (column.dtype == object and _is_dates(column)):
            faults.add(~missing, f"{name} is a date: {{value}}", column, "turn dates into numbers")
            return np.zeros(len(column)), missing
        return _numbers(column, name, faults), missing
    texts = words(column).to_numpy(dtype=object)
    unknown = ~np.isin(texts.astype(str), list(levels)) & ~missing
    if "other" in levels:
        texts = np.where(unknown, "other", texts)
    else:
        hint = f"list every level of {name} under categories, or one called other"
        faults.add(unknown, f"{name} is {{value}}, which is not among its categories", column, hint)
    return texts, missing


def _is_dates(column: Any) -> bool:
    known = column.dropna()
    return len(known) > 0 and not isinstance(known.iloc[0], str | bool | int | float | np.generic)


def _response(column: Any, public: PublicInputs, binary: bool, faults: Faults) -> np.ndarray:
    name, missing = str(column.name), column.isna().to_numpy()
    faults.add(missing, f"{name}, the target, is missing", column, "leave these records out beforehand")
    levels = public.categories.get(name)
    if not binary:
        if column.dtype.kind == "b":
            return column.to_numpy(np.float64)
        return _numbers(column, name, faults)
    if column.dtype.kind == "b":
        return column.to_numpy(np.float64)
    if levels is not None:
        if len(levels) != 2:
            raise DataError(
                f"{public.where}: {name} has {len(levels)} categories; a binary target has 2, the second counts as 1"
            )
        texts = words(column).to_numpy(dtype=object).astype(str)
        faults.add(
            ~np.isin(texts, levels) & ~missing, f"{name} is {{value}}, not {levels[0]!r} or {levels[1]!r}", column, ""
        )
        return (texts == levels[1]).astype(np.float64)
    values = _numbers(column, name, faults) if is_number(column) else np.full(len(column), np.nan)
    strange = ~np.isin(values, (0.0, 1.0)) & ~missing
    hint = f"state categories: {{{name}: [ONE, OTHER]}} in the file for --public, or take --model huber-linear"
    faults.add(strange, f"{name} is {{value}}, and a binary target is 0 or 1", column, hint)
    return values


def _budgets(column: Any, faults: Faults) -> np.ndarray:
    import pandas as pd

    name = str(column.name)
    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    faults.add(
        ~(values > 0),
        f"{name} is {{value}}, and a budget mu is a number above 0, or inf",
        column,
        "leave out users who spend nothing",
    )
    return values


def _persons(column: Any, faults: Faults) -> np.ndarray:
    import pandas as pd

    faults.add(
        column.isna().to_numpy(), f"{column.name}, the person, is missing", column, "every record is of somebody"
    )
    codes, _ = pd.factorize(column)
    return np.asarray(codes)


def one_record_a_person(person: np.ndarray, order: Sequence[int] | np.ndarray) -> np.ndarray:
    """The places of the records of `order` that are the first of their person, in that order."""
    _, first = np.unique(person[np.asarray(order)], return_index=True)
    return np.asarray(order)[np.sort(first)]
