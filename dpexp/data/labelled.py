"""DATASETS: labelled records to learn from, shipped or of a user's own table, split and prepared.

Of a table a number is one entry, as it is or, with a stated range (low, high), as (v - low) / (high - low) cut to
[0, 1]; a column of categories is one 0/1 entry for each. A column whose values may be missing has one more entry, 1 for
a missing value; the others are 0 then. A record with an unreadable value is unusable: its entries are 0, and its class
is the last one, so that it counts as predicted wrongly where it is held out. No statistic of the records is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.seeds import generator
from dpexp.core.text import few
from dpexp.data import adult, fashion
from dpexp.data.dataset import TEST, Dataset, DataShape, Split, load_shipped, split, split_by_draws, with_draws
from dpexp.data.encode import columns_of, encoded
from dpexp.data.public_inputs import PublicColumn, PublicInputs
from dpexp.data.records import Header, RecordTable, read_header, read_record_table

DIGITS = Path(__file__).parent / "files" / "digits.npz"
DIGITS_SHA256 = "0d464708788fc3b5fba6acd51327d3df6c4b4b82345584f2142cc27b937b3314"
DIGITS_LICENCE = (
    "BSD-3-Clause as shipped with scikit-learn; CC BY 4.0: Alpaydin and Kaynak (1998), Optical Recognition of "
    "Handwritten Digits, UCI Machine Learning Repository, doi 10.24432/C50P49"
)
DIGITS_NOTE = "The 1797 records of scikit-learn's digits (the test part of the UCI set), pixels 0 .. 16 divided by 16."


def digits() -> Dataset:
    """`digits`: 1797 handwritten digits of 8 x 8 pixels, small enough for tests, in the published order."""
    with load_shipped(DIGITS, DIGITS_SHA256) as stored:
        features, labels = stored["features"].astype(np.float32) / 16, stored["labels"].astype(np.int64)
    return Dataset("digits", features, labels, tuple("0123456789"))


class Shipped(NamedTuple):
    """A data set that ships with the package."""

    read: Callable[[], Dataset]
    published_test: int  # so many of the last records are its published test part; 0: there is none
    shape: DataShape
    licence: str
    note: str


DATASETS = {
    "adult": Shipped(adult.read, adult.PUBLISHED_TEST, DataShape(48_842, 104, 2), adult.LICENCE, adult.NOTE),
    "digits": Shipped(digits, 0, DataShape(1797, 64, 10), DIGITS_LICENCE, DIGITS_NOTE),
    "fashion": Shipped(fashion.read, fashion.PUBLISHED_TEST, DataShape(70_000, 256, 10), fashion.LICENCE, fashion.NOTE),
}
TEST_FRACTION = 0.2


def load_split(
    source: str | Dataset, *, records: int | None = None, test_fraction: float | None = None, seed: int = 0
) -> Split:
    """A shipped data set by its name, or the records of a table, each record prepared (`dataset.prepare`).

    The test part is the published one; without one, or with `test_fraction`, a seeded share of all records.
    With `records`, a public count, each record finds its part by itself (`split_by_draws`). Raises DataError.
    """
    shipped = DATASETS[source] if isinstance(source, str) else None
    data = source if isinstance(source, Dataset) else DATASETS[source].read()
    # with `records` no count of the file enters: each record draws its own part
    fraction = TEST_FRACTION if test_fraction is None else test_fraction
    if records is not None:
        parts = split_by_draws(with_draws(data, seed), fraction, TEST)
    elif test_fraction is None and shipped and shipped.published_test:
        cut = len(data) - shipped.published_test
        parts = Split(data.rows(slice(cut)), data.rows(slice(cut, None)))
    else:
        parts = split(data, fraction, generator(seed, 0, "data"))
    return Split(parts.train.prepared, parts.test.prepared)


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
