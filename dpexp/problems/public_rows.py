"""Rows of a public table, from which users are drawn: `design: {rows: FILE}` of a population.

All columns of the table are numbers. Its content decides the cell: a population keeps the file's SHA-256 and the length
of its longest row, so that statements of stored results open no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.core.errors import DataError
from dpexp.core.files import FOLDER, place_of
from dpexp.data.records import read_record_table

MOST_ROWS, MOST_COLUMNS, LARGEST = 1_000_000, 1000, 1e6


def _hash(place: Path) -> str:
    return sha256(place.read_bytes()).hexdigest()


@kept_once(8)
def _read_rows(place: Path, digest: str) -> np.ndarray:
    if _hash(place) != digest:
        raise DataError(f"{place}: its content is not that of sha256 {digest[:12]}...", "leave out `sha256`")
    table = read_record_table(place)
    if len(table) > MOST_ROWS or len(table.columns) > MOST_COLUMNS:
        raise DataError(f"{place}: a design takes at most {MOST_ROWS:,} rows of {MOST_COLUMNS:,} columns")
    out = np.empty((len(table), len(table.columns)))
    for j, (name, values) in enumerate(table.columns.items()):
        for k, value in enumerate(values):
            try:
                out[k, j] = float("nan" if value is None else value)
            except ValueError:
                out[k, j] = np.nan
            if not abs(out[k, j]) <= LARGEST:
                raise DataError(f"{table.place(k)}: '{name}' is {value!r}, and no number of at most {LARGEST:g}")
    unit = np.insert(out, 0, 1.0, axis=1)
    unit /= np.maximum(np.linalg.norm(unit, axis=0), 1e-300)
    eigenvalues, vectors = np.linalg.eigh(unit.T @ unit)
    if eigenvalues[0] <= 1e-12 * eigenvalues[-1]:
        names = [
            name for name, own in zip(["the intercept", *table.columns], vectors[:, 0], strict=True) if abs(own) > 1e-3
        ]
        raise DataError(f"{place}: linearly dependent: {', '.join(names)}", "leave out one of these columns")
    out.setflags(write=False)
    return out


def public_rows(path: str, folder: Path | None, digest: str | None) -> np.ndarray:
    """The rows of a table [N, d]. Raises DataError for stored results, which open no table, and for changed tables."""
    if folder is None:
        raise DataError(f"{path}: the rows of stored results are not read", "dpexp run CONFIG reads them")
    place = place_of(path, folder)
    if not place.is_file():
        raise DataError(f"{path}: no such file (a path in a config starts at the config's folder)")
    return _read_rows(place, digest or _hash(place))


def with_content(design: Mapping[str, Any]) -> Mapping[str, Any]:
    """A design with the hash of its table and the length of the longest row (1, z); as it is where it cannot be read,
    which the design says at its place."""
    path, folder = design["rows"], FOLDER.get()
    if isinstance(path, str) and folder is not None and design.get("sha256") is None:
        with suppress(DataError):
            longest = float(np.sqrt(1 + np.max(np.sum(public_rows(path, folder, None) ** 2, axis=1))))
            return {**design, "sha256": _hash(place_of(path, folder)), "longest": longest}
    return design
