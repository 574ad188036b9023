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
_CODEBOOK = """
workclass: Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked
education: Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th
  Doctorate 5th-6th Preschool
marital-status: Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse
occupation: Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners
  Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces
relationship: Wife Own-child Husband Not-in-family Other-relative Unmarried
race: White Asian-Pac-Islander Amer-Indian-Eskimo Other Black
sex: Female Male
native-country: United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece
  South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France
  Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia
  El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands
"""
CATEGORIES: dict[str, tuple[str, ...]] = {
    line.partition(":")[0]: tuple(line.partition(":")[2].split())
    for line in _CODEBOOK.replace("\n  ", " ").strip().splitlines()
}
"""the published codebook's values of every text column"""
LICENCE = "CC BY 4.0: Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, doi 10.24432/C5XW20"
NOTE = (
    "Census income, the published 32561 + 16281 records, the sampling weight left out. Categories are those of the "
    "published codebook, numbers are divided by fixed ranges (capital gain and loss on a log scale), unknown values "
    "have no category: no statistic of the records is used. Rebuilt by python -m tools.rebuild_adult."
)


def encode_adult(numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Features [n, 104] float32 of numbers int [n, 5] and category codes [n, 8] (0 unknown, then 1 + position)."""
    columns = []
    for name, values in zip(NUMBERS, numbers.T, strict=True):
        # gains and losses are nearly all 0, and range over five decades where they are not
        log = name.startswith("capital")
        columns.append((np.log1p(values) / math.log1p(RANGES[name]) if log else values / RANGES[name])[:, None])
    for levels, values in zip(CATEGORIES.values(), codes.T, strict=True):
        columns.append(values[:, None] == np.arange(1, 1 + len(levels)))
    return np.concatenate(columns, axis=1).astype(np.float32)


def read(path: Path = FILE) -> Dataset:
    """All 48842 records, the published test part last."""
    with load_shipped(path, SHA256 if path == FILE else "") as stored:
        features, labels = encode_adult(stored["numbers"], stored["codes"]), stored["labels"].astype(np.int64)
    return Dataset("adult", features, labels, CLASSES)


def census() -> Any:
    """The records as a frame for private regression: three numbers, two categories, and 1 for incomes above 50,000."""
    import pandas as pd

    with load_shipped(FILE, SHA256) as stored:
        numbers, codes, labels = stored["numbers"], stored["codes"], stored["labels"]
    code = dict(zip(CATEGORIES, codes.T, strict=True))
    spouse = 1 + CATEGORIES["marital-status"].index("Married-civ-spouse")
    return pd.DataFrame(
        {
            "age": numbers[:, 0], "education": numbers[:, 1], "hours": numbers[:, 4],
            "sex": np.array(["", *CATEGORIES["sex"]])[code["sex"]],
            "married": np.where(code["marital-status"] == spouse, "yes", "no"), "over_50k": labels,
        }
    )  # fmt: skip
