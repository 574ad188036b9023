"""A user's own table: csv, parquet or npz with a target column. Everything that is wrong is reported at once.

Text, boolean and categorical columns become one 0/1 entry for each category, in sorted order; numbers stay as they are
or, where `ranges` gives (low, high), become (v - low) / (high - low) cut to [0, 1]. No mean, scale or other statistic
of the records is used. Categories and class names that are read off the data are not private: state them with
`categories` (the note of the data set says which were not). A column of numbers whose categories are stated is encoded
by them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.memory import require_readable
from dpexp.data.columns import faults, is_number, words
from dpexp.data.dataset import DataError, Dataset
from dpexp.data.encoding import Column

FORMATS = (".csv", ".parquet", ".npz")


def read_table(
    path: Path,
    target: str,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> Dataset:
    """The records of a file. Raises DataError that lists every problem found.

    npz: arrays of n rows, `target` names the labels; columns of a 2-dimensional array `x` are x[0], x[1] and so on.
    """
    frame = read_frame(path)
    ranges = dict(ranges or {})
    stated = {name: [str(v) for v in values] for name, values in (categories or {}).items()}
    problems = _problems(frame, target, ranges, stated)
    if problems:
        raise DataError(f"{path}: " + "; ".join(problems), "clean or drop these columns, then load the file again")
    labels, classes = _labels(frame[target], stated.get(target))
    columns, seen = [], [] if target in stated else [target]
    names: dict[str, list[str]] = {"ranges": [], "raw": [], "categories": []}
    for name in frame.columns.drop(target):
        column = frame[name]
        if is_number(column) and name not in stated:
            columns.append(Column(str(name), ranges.get(name)))
            names["ranges" if name in ranges else "raw"].append(name)
        else:
            columns.append(Column(str(name), levels=tuple(_levels(column, stated.get(name)))))
            names["categories"].append(name)
            seen += [] if name in stated else [name]
    features = np.concatenate(
        [column.encoded(frame[name]) for column, name in zip(columns, frame.columns.drop(target), strict=True)], axis=1
    )
    note = _note(path, names, seen)
    return Dataset(path.stem, features, labels, classes, "the user's", note, tuple(columns))


def read_frame(path: Path) -> Any:
    """The file as a pandas frame."""
    import pandas as pd

    if path.suffix not in FORMATS:
        raise DataError(f"{path}: the format must be one of {', '.join(FORMATS)}")
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    require_readable(path)
    try:
        if path.suffix == ".csv":
            return _csv(path)
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception as error:  # each reader has its own family of errors
        raise DataError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    lengths = {name: array.shape[:1] for name, array in arrays.items()}
    if len(set(lengths.values())) != 1 or any(array.ndim not in (1, 2) for array in arrays.values()):
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
        raise DataError(f"{path}: arrays must be [n] or [n, k] with one n, not {shapes}")
    columns = {name: array for name, array in arrays.items() if array.ndim == 1}
    for name, array in arrays.items():
        if array.ndim == 2:
            columns |= {f"{name}[{k}]": array[:, k] for k in range(array.shape[1])}
    return pd.DataFrame(columns)


def _csv(path: Path) -> Any:
    """A csv file under the names of its first line, also where two are the same; raises for lines that are too long."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(path, skipinitialspace=True, index_col=False)
    head = pd.read_csv(path, skipinitialspace=True, header=None, nrows=1, dtype=str).iloc[0]
    return frame.set_axis([h if isinstance(h, str) else name for h, name in zip(head, frame, strict=True)], axis=1)


def _problems(frame: Any, target: str, ranges: dict[str, Any], categories: dict[str, list[str]]) -> list[str]:
    """Everything that forbids to use the frame, in the order of its columns."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        return [f"repeated columns {', '.join(sorted({name for name in names if names.count(name) > 1}))}"]
    if len(names) < 2:
        separator = next((f"; it is separated by {s!r}, not by commas" for s in ";\t|" if s in names[0]), "")
        return [f"{len(frame)} records and {len(names)} columns are too few{separator}"]
    found = []
    if target not in names:
        close = get_close_matches(target, names, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        found.append(f"no column {target!r} (columns: {', '.join(names[:20])}{', ...' * (len(names) > 20)}{meant})")
    found += [f"no column {name!r} for its range or categories" for name in (*ranges, *categories) if name not in names]
    if len(frame) < 2:
        return [*found, f"{len(frame)} records and {len(names)} columns are too few"]
    for name in frame.columns:
        found += [
            f"{name}: {fault}" for fault in faults(frame[name], ranges.get(name), categories.get(name), name == target)
        ]
    return found


def _levels(column: Any, stated: list[str] | None) -> list[str]:
    return stated if stated is not None else sorted(set(words(column)))


def _labels(column: Any, stated: list[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels in the order of the stated classes, else of their numbers or names."""
    if is_number(column) and stated is None:
        stated = [str(v) for v in sorted(set(column.astype(np.int64).tolist()))]
    levels = _levels(column, stated)
    place = {name: k for k, name in enumerate(levels)}
    return np.array([place[value] for value in words(column)], np.int64), tuple(levels)


def _note(path: Path, names: dict[str, list[str]], seen: list[str]) -> str:
    said = {"ranges": "scaled by stated ranges", "raw": "used as they are", "categories": "one entry a category"}
    parts = [f"{_listed(names[kind])}: {text}" for kind, text in said.items() if names[kind]]
    cost = f" Read off the records, so not private: the values of {_listed(seen)}." if seen else ""
    return f"{path.name}. {'; '.join(parts)}. No statistic of the records is used.{cost}"


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
