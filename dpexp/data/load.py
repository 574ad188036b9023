"""DATASETS: labelled records to learn from, shipped or the user's own, prepared without their statistics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpexp.core.seeds import generator
from dpexp.data import adult, fashion
from dpexp.data.dataset import TEST, Dataset, DataShape, Split, load_shipped, split, split_by_draws, with_draws
from dpexp.data.labelled import read_labelled
from dpexp.data.public_inputs import PublicInputs

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
    source: str | Path, target: str = "", public: PublicInputs | None = None, *,
    records: int | None = None, test_fraction: float | None = None, seed: int = 0,
) -> Split:  # fmt: skip
    """A shipped data set by its name, or a table with a target by its path, each record prepared (`dataset.prepare`).

    `public` holds what is known of a table's columns without the records, the classes of the target among it. Without
    `test_fraction` the test part is the published one, or, where there is none, a random fifth; with it, that share of
    all records, drawn with the seed. With `records`, a public count, each record is drawn into its part by itself
    (`dataset.split_by_draws`). Raises DataError.
    """
    shipped = DATASETS[source] if isinstance(source, str) else None
    data = shipped.read() if shipped else read_labelled(Path(source), target, public or PublicInputs())
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
