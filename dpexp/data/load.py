"""Loading a data set by its name or from a path, split and prepared."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.seeds import generator
from dpexp.data import adult, fashion
from dpexp.data.dataset import TEST, Builtin, Dataset, DataShape, Split, load_shipped, split, split_by_draws, with_draws
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
    return Dataset("digits", features, labels, tuple("0123456789"), DIGITS_LICENCE, DIGITS_NOTE)


DATASETS: dict[str, Builtin] = {
    "adult": Builtin(adult.read, adult.PUBLISHED_TEST, DataShape(48_842, 104, 2), adult.LICENCE, adult.NOTE),
    "digits": Builtin(digits, 0, DataShape(1797, 64, 10), DIGITS_LICENCE, DIGITS_NOTE),
    "fashion": Builtin(fashion.read, fashion.PUBLISHED_TEST, DataShape(70_000, 256, 10), fashion.LICENCE, fashion.NOTE),
}
TEST_FRACTION = 0.2


def load_split(
    name: str | None = None,
    *,
    path: str | Path | None = None,
    target: str | None = None,
    public: PublicInputs | None = None,
    records: int | None = None,
    test_fraction: float | None = None,
    seed: int = 0,
    prepared: bool = True,
) -> Split:
    """A shipped data set by name, or a table with a target by path.

    `public` holds what is known of a table's columns without the records, the classes of the target among it.

    Without `test_fraction` the test part is the published one, or, where there is none, a random fifth; with it, that
    share of all records, drawn with the seed. Prepared records have norm 1 and a bias entry (`dataset.prepare`). With
    `records`, a public count, each record is drawn into its part by itself (`dataset.split_by_draws`).
    Raises DataError, a ValueError, which lists everything that is wrong.
    """
    if (name is None) == (path is None):
        raise DataError("give either the name of a data set or a path")
    if name is not None:
        if name not in DATASETS:
            raise DataError(f"no data set {name!r}", f"shipped: {', '.join(DATASETS)}; or give a path")
        source = DATASETS[name]
    else:
        place = Path(os.path.expanduser(str(path)))
        if target is None:
            raise DataError(f"{place}: which column is the target?", "give target=")
        table = read_labelled(place, target, public or PublicInputs())
        source = Builtin(lambda: table, 0)
    data = source.read()
    # with `records` no count of the file enters: each record draws its own part
    fraction = TEST_FRACTION if test_fraction is None else test_fraction
    if records is not None:
        parts = split_by_draws(with_draws(data, seed), fraction, TEST)
    elif test_fraction is None and source.published_test:
        cut = len(data) - source.published_test
        parts = Split(data.rows(slice(cut)), data.rows(slice(cut, None)))
    else:
        parts = split(data, fraction, generator(seed, 0, "data"))
    return Split(parts.train.prepared, parts.test.prepared) if prepared else parts
