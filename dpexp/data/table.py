"""A user's own table: csv, parquet or npz with a target column. Everything that is wrong is reported at once.

Text, boolean and categorical columns become one 0/1 entry for each category, in sorted order; numbers stay as they are
or, where `ranges` gives (low, high), become (v - low) / (high - low) cut to [0, 1]. No mean, scale or other statistic
of the records is used. Categories and class names that are read off the data are not private: state them with
`categories` (the note of the data set says which were not).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.data.dataset import DataError, Dataset

MOST_CATEGORIES = 100
"""a text column with more different values is taken for free text, and refused"""
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
    frame = _frame(path)
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
        if _is_number(column):
            values = column.to_numpy(np.float64)[:, None]
            if name in ranges:
                low, high = ranges[name]
                values = np.clip((values - low) / (high - low), 0, 1)
            names["ranges" if name in ranges else "raw"].append(name)
        else:
            levels = np.array(_levels(column, stated.get(name)), dtype=object)
            values = column.astype(str).to_numpy(dtype=object)[:, None] == levels
            names["categories"].append(name)
            seen += [] if name in stated else [name]
        columns.append(values.astype(np.float32))
    features = np.concatenate(columns, axis=1)
    return Dataset(path.stem, features, labels, classes, "the user's", _note(path, names, seen))


def _frame(path: Path) -> Any:
    """The file as a pandas frame."""
    import pandas as pd

    if path.suffix not in FORMATS:
        raise DataError(f"{path}: the format must be one of {', '.join(FORMATS)}")
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        if path.suffix == ".csv":
            return pd.read_csv(path, skipinitialspace=True)
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


def _problems(frame: Any, target: str, ranges: dict[str, Any], categories: dict[str, list[str]]) -> list[str]:
    """Everything that forbids to use the frame, in the order of its columns."""
    found = []
    if target not in frame.columns:
        found.append(f"no column {target!r} (columns: {', '.join(map(str, frame.columns))})")
    if frame.columns.duplicated().any():
        return [*found, f"repeated columns {', '.join(sorted(set(frame.columns[frame.columns.duplicated()])))}"]
    unknown = [name for name in (*ranges, *categories) if name not in frame.columns]
    found += [f"no column {name!r} for its range or categories" for name in unknown]
    if len(frame) < 2 or len(frame.columns) < 2:
        return [*found, f"{len(frame)} records and {len(frame.columns)} columns are too few"]
    for name in frame.columns:
        column = frame[name]
        missing = int(column.isna().sum())
        if missing:
            found.append(f"{name}: {missing} missing values")
        if column.nunique() <= 1:
            found.append(f"{name}: constant")
        elif _is_number(column):
            found += _number_problems(name, column, ranges, name == target)
        elif column.dtype.kind in "mM":
            found.append(f"{name}: dates are not understood")
        elif name in categories:
            strange = sorted(set(column.dropna().astype(str)) - set(categories[name]))
            found += [f"{name}: values outside its categories: {', '.join(strange[:5])}"] if strange else []
        elif column.nunique() > MOST_CATEGORIES:
            found.append(f"{name}: text with {column.nunique()} different values (at most {MOST_CATEGORIES})")
    return found


def _number_problems(name: str, column: Any, ranges: dict[str, Any], is_target: bool) -> list[str]:
    values = column.dropna().to_numpy(np.float64)
    found = []
    if not np.isfinite(values).all():
        found.append(f"{name}: {int((~np.isfinite(values)).sum())} infinite values")
    if is_target and (np.any(values != np.rint(values)) or column.nunique() > MOST_CATEGORIES):
        found.append(f"{name}: a target of classes cannot have fractions or more than {MOST_CATEGORIES} values")
    if name in ranges and not ranges[name][0] < ranges[name][1]:
        found.append(f"{name}: its range must be (low, high) with low < high")
    return found


def _is_number(column: Any) -> bool:
    return column.dtype.kind in "iuf"


def _levels(column: Any, stated: list[str] | None) -> list[str]:
    return stated if stated is not None else sorted(set(column.astype(str)))


def _labels(column: Any, stated: list[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels in the order of the stated classes, else of their numbers or names."""
    if _is_number(column):
        column = column.astype(np.int64)
        levels = stated if stated is not None else [str(v) for v in sorted(set(column.tolist()))]
    else:
        levels = _levels(column, stated)
    place = {name: k for k, name in enumerate(levels)}
    text = column.astype(str)
    strange = sorted(set(text) - set(place))
    if strange:
        raise DataError(f"{column.name}: values outside its categories: {', '.join(strange[:5])}")
    return np.array([place[value] for value in text], np.int64), tuple(levels)


def _note(path: Path, names: dict[str, list[str]], seen: list[str]) -> str:
    said = {"ranges": "scaled by stated ranges", "raw": "used as they are", "categories": "one entry a category"}
    parts = [f"{', '.join(map(str, names[kind]))}: {text}" for kind, text in said.items() if names[kind]]
    cost = f" Read off the records, so not private: the values of {', '.join(map(str, seen))}." if seen else ""
    return f"{path.name}. {'; '.join(parts)}. No statistic of the records is used.{cost}"
