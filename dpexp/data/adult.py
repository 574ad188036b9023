"""`adult`: the census income data (48842 records, 1994), the sensitive tabular example.

Encoded with the published codebook and fixed ranges, never with statistics of the records: 5 numbers in [0, 1] and one
0/1 entry for each category that the codebook lists (an unknown value has no entry): 104 numbers.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.data.dataset import Dataset, load_shipped

FILE = Path(__file__).parent / "files" / "adult.npz"
SHA256 = "d736b2dbef2dfec45e1c598c399a5fd65cd45823efa95ca34f0d921e864fe516"
PUBLISHED_TEST = 16_281
CLASSES = ("<=50K", ">50K")
NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
RANGES = {"age": 100, "education-num": 16, "capital-gain": 99_999, "capital-loss": 9_999, "hours-per-week": 100}
"""largest values by the codebook's formats; gains and losses enter as log(1 + v) / log(1 + largest)"""
CATEGORIES = {
    "workclass": 8, "education": 16, "marital-status": 7, "occupation": 14, "relationship": 6, "race": 5, "sex": 2,
    "native-country": 41,
}  # fmt: skip
"""how many the codebook lists for each text column; a code is a place in that list from 1 (`tools/rebuild_adult.py`)"""
MARRIED = 1  # code of a spouse who is no member of the armed forces
LICENCE = "CC BY 4.0: Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, doi 10.24432/C5XW20"
NOTE = (
    "Census income, the published 32561 + 16281 records, the sampling weight left out. Categories are those of the "
    "published codebook, numbers are divided by fixed ranges (capital gain and loss on a log scale), unknown values "
    "have no category: no statistic of the records is used. Rebuilt by python -m tools.rebuild_adult."
)


def encode_adult(numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Features [n, 104] float32 of numbers int [n, 5] and category codes [n, 8] (0 unknown)."""
    columns = []
    for name, values in zip(NUMBERS, numbers.T, strict=True):
        # gains and losses are nearly all 0, and range over five decades where they are not
        log = name.startswith("capital")
        columns.append((np.log1p(values) / math.log1p(RANGES[name]) if log else values / RANGES[name])[:, None])
    for count, values in zip(CATEGORIES.values(), codes.T, strict=True):
        columns.append(values[:, None] == np.arange(1, 1 + count))
    return np.concatenate(columns, axis=1).astype(np.float32)


def read() -> Dataset:
    """All 48842 records, the published test part last."""
    with load_shipped(FILE, SHA256) as stored:
        features, labels = encode_adult(stored["numbers"], stored["codes"]), stored["labels"].astype(np.int64)
    return Dataset("adult", features, labels, CLASSES)


def census() -> Any:
    """The records as a frame for private regression: three numbers, two categories, and 1 for incomes above 50,000."""
    import pandas as pd

    with load_shipped(FILE, SHA256) as stored:
        numbers, codes, labels = stored["numbers"], stored["codes"], stored["labels"]
    code = dict(zip(CATEGORIES, codes.T, strict=True))
    return pd.DataFrame(
        {
            "age": numbers[:, 0], "education": numbers[:, 1], "hours": numbers[:, 4],
            "sex": np.array(["", "Female", "Male"])[code["sex"]],
            "married": np.where(code["marital-status"] == MARRIED, "yes", "no"), "over_50k": labels,
        }
    )  # fmt: skip
