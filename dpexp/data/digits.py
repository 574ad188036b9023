"""`digits`: 1797 handwritten digits of 8 x 8 pixels, small enough for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpexp.data.dataset import Dataset

FILE = Path(__file__).parent / "files" / "digits.npz"
LICENCE = (
    "BSD-3-Clause as shipped with scikit-learn; CC BY 4.0: Alpaydin and Kaynak (1998), Optical Recognition of "
    "Handwritten Digits, UCI Machine Learning Repository, doi 10.24432/C50P49"
)
NOTE = "The 1797 records of scikit-learn's digits (the test part of the UCI set), pixels 0 .. 16 divided by 16."


def read(path: Path = FILE) -> Dataset:
    """All records, in the published order."""
    with np.load(path) as stored:
        features, labels = stored["features"].astype(np.float32) / 16, stored["labels"].astype(np.int64)
    return Dataset("digits", features, labels, tuple("0123456789"), LICENCE, NOTE)
