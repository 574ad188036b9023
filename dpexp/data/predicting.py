"""Records of a user's table that a model has never seen, encoded as those it learnt from, or refused at their line."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.text import guess
from dpexp.data.columns import is_number, words
from dpexp.data.dataset import DataError
from dpexp.data.encoding import Column
from dpexp.data.table import read_frame

MOST_SHOWN = 5
"""faults that a message lists"""


def read_records(table: Path | Any, columns: Sequence[Column]) -> np.ndarray:
    """The features of every row of a file or a frame, float32 [n, entries]; other columns do not count.

    Raises DataError that lists, with their lines, columns and values that are missing or not understood.
    """
    path = table if isinstance(table, Path) else Path("frame")
    frame = read_frame(path) if isinstance(table, Path) else table
    names = [str(name) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    repeated = sorted({c.name for c in columns if names.count(c.name) > 1})
    absent = [c.name for c in columns if c.name not in names]
    where = f"{path}:1" if path.suffix == ".csv" else str(path)
    faults = [f"{where}: the column '{name}' appears twice" for name in repeated]
    faults += [f"{where}: no column '{name}'" for name in absent]
    if faults:
        # A column is often there under a slightly different name.
        close = guess(absent[0], [n for n in names if n not in {c.name for c in columns}]) if absent else ""
        raise DataError("\n".join(faults), f"{close}the model needs: {', '.join(c.name for c in columns)}")
    if not len(frame):
        raise DataError(f"{where}: there are no records, only a header", "one line for each record to predict")
    found = sorted((k, c.name, what) for c in columns for k, what in _faults(frame[c.name], c))
    if found:
        lines = _lines(path, len(frame))
        faults = [f"{lines[k]}: {name}: {what}" for k, name, what in found]
        more = [f"and {len(faults) - MOST_SHOWN} more"] if len(faults) > MOST_SHOWN else []
        limited = [c for c in columns if c.levels is not None and any(f": {c.name}: " in fault for fault in faults)]
        known = "; ".join(f"{c.name}: {', '.join((c.levels or ())[:20])}" for c in limited)
        raise DataError(
            "\n".join([*faults[:MOST_SHOWN], *more]),
            f"the model knows {known}" if known else "a number like 0.5 or 2e3",
        )
    return np.concatenate([column.encoded(_as_read(frame[column.name], column)) for column in columns], axis=1)


def _faults(values: Any, column: Column) -> list[tuple[int, str]]:
    """Rows of a column that cannot be encoded, and why."""
    missing = values.isna().to_numpy()
    found = [(int(k), "is missing") for k in np.flatnonzero(missing)]
    if column.levels is None:
        for k, value in enumerate(values):
            if not missing[k] and not _is_finite(value):
                found.append((k, f"{str(value)[:40]!r} is not a finite number"))
    else:
        known = set(column.levels)
        texts = words(_as_read(values[~missing], column))
        rows = np.flatnonzero(~missing)
        strange = [(int(k), text) for k, text in zip(rows, texts, strict=True) if text not in known]
        found += [(k, f"unknown category {text[:40]!r}") for k, text in strange]
    return found


def _is_finite(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    try:
        return math.isfinite(float(value)) and abs(float(value)) <= float(np.finfo(np.float32).max)
    except (TypeError, ValueError, OverflowError):
        return False


def _as_read(values: Any, column: Column) -> Any:
    """Values in the type that the column had when the model learnt.

    Which type a file is read as depends on all of its values: 3 beside 2.5 is 3.0, and alone it is 3.
    """
    if column.levels is None:
        return values.astype(np.float64)
    if not is_number(values):
        return values
    spelled = {float(level): level for level in column.levels if _is_finite(level)}
    return values.astype(object).map(lambda v: spelled.get(float(v), v)).where(values.isin(spelled), words(values))


def _lines(path: Path, count: int) -> list[str]:
    """Where every record stands: its line in a csv file, else the number of its row."""
    numbered = [f"{path}, row {k + 1}" for k in range(count)]
    if path.suffix != ".csv":
        return numbered
    reader = csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), skipinitialspace=True)
    starts, before = [], 0
    for row in reader:
        if row:  # a blank line is no record
            starts.append(before + 1)
        before = reader.line_num
    return [f"{path}:{line}" for line in starts[1:]] if len(starts) == count + 1 else numbered
