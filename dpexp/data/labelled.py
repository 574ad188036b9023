"""A user's own table as labelled records: numbers in a record's own entries, classes that are stated.

A number is one entry, as it is or, with a stated range (low, high), as (v - low) / (high - low) cut to [0, 1]. A column
of categories is one 0/1 entry for each of them. A column whose values may be missing has one more entry, 1 for a
missing value; the others are 0 then. A record with an unreadable value is marked as unusable: its entries are 0, and
its class is the last one, so that among held-out records it counts as predicted wrongly. All of it is a function of
this record and of what is public: no statistic of the records is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.text import few
from dpexp.data.dataset import Dataset
from dpexp.data.encode import columns_of, encoded
from dpexp.data.public_inputs import PublicColumn, PublicInputs
from dpexp.data.records import Header, RecordTable, read_header, read_record_table


def columns_of_file(
    header: Header, where: str, target: str, public: PublicInputs
) -> tuple[list[PublicColumn], PublicColumn]:
    """The columns that a model learns from, and that of the classes. Raises DataError."""
    header.require([target], where)
    header.require(public.named, where, "the config")
    used = [name for name in header.kinds if name != target and name not in public.leave_out]
    if target not in public.categories and header.kinds[target] != "truth":
        hint = f"categories: {{{target}: [ONE, OTHER]}}; to explain a number, dpexp fit DATA --target {target}"
        raise DataError(f"{where}: the classes of {target} are not stated", hint)
    if len(public.categories.get(target, "two")) < 2:
        raise DataError(f"{where}: {target} has one class", "state two or more")
    if not used:
        raise DataError(f"{where}: there is no column besides the target", "a class needs a feature that predicts it")
    try:
        *columns, classes = columns_of(header, [*used, target], public)
    except DataError as error:
        raise DataError(f"{where}: {error.message}", error.hint) from None
    return columns, classes


def read_labelled(path: Path, target: str, public: PublicInputs) -> Dataset:
    """The records of a file. Raises DataError for what is wrong with its header or with what is stated of it."""
    # the header first, which costs little
    columns, classes = columns_of_file(read_header(path), str(path), target, public)
    table = read_record_table(path)
    features, read = encode_features(table, columns)
    labels, levels = encoded(table, classes), classes.levels or ()
    usable = read & labels.read & ~np.isnan(labels.values)
    features[~usable] = 0
    # features of 0 predict the first class, so that the last one is wrong
    codes = np.where(usable, labels.values, len(levels) - 1).astype(np.int64)
    names_by_use = {
        "scaled by stated ranges": [c.name for c in columns if c.limits is not None],
        "used as they are": [c.name for c in columns if c.limits is None and c.levels is None],
        "one entry a category": [c.name for c in columns if c.levels is not None],
    }
    parts = [*table.header.notes, *(f"{few(names, 12)}: {how}" for how, names in names_by_use.items() if names)]
    note = f"{path.name}. {'; '.join(parts)}. Each record is read by itself, and one with an unreadable value adds "
    note += "nothing. No statistic of the records is used."
    return Dataset(path.stem, features, codes, levels, note, tuple(columns), usable=usable)


def encode_features(table: RecordTable, columns: Sequence[PublicColumn]) -> tuple[np.ndarray, np.ndarray]:
    """The entries of every record float32 [n, entries], and whether all its values could be read [n]."""
    entries, usable = [], np.ones(len(table), dtype=bool)
    for column in columns:
        values, read, _ = encoded(table, column)
        usable &= read
        missing = np.isnan(values)
        if column.levels is not None:
            entries += [values == k for k in range(len(column.levels))]
        else:
            low, high = column.limits or (0.0, 1.0)
            scaled = (values - low) / (high - low)
            entries.append(np.where(missing, 0, scaled if column.limits is None else np.clip(scaled, 0, 1)))
        entries += [missing] * column.may_miss
    return np.stack(entries, axis=1).astype(np.float32), usable
