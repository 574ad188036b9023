"""Compare fresh results with the published ones: summaries, cells and verdicts, with one tolerance for each kind.

Published is what the last commit has. Iterates have the same bits on all processors; integrals, fits
and privacy numbers are sums whose order the processor chooses.
"""

from __future__ import annotations

import io
import json
import math
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError

TOLERANCE = {"summary.parquet": 1e-9, "cells.parquet": 1e-9, "claims.json": 1e-6}
"""by file: how far a number may be from the published one, as a share of it; in a summary a number that is small next
to others of its metric is a difference of these, and its size counts as a thousandth of theirs"""
FLOOR = 1e-9
"""of a number behind a verdict: an absolute difference that is none, since such a number may be a remainder"""
DIGESTS = frozenset({"checksum", "results", "code"})
"""keys of a document whose values are digests of files that are compared themselves, or of code"""


def published(results: Path) -> dict[str, bytes]:
    """The files of the last commit by their path below the results folder. Raises UsageError outside a repository."""
    try:
        command = ["git", "-C", str(results), "archive", "HEAD", "."]
        archive = subprocess.run(command, capture_output=True, timeout=120, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            members = [member for member in tar if Path(member.name).name in TOLERANCE]
            files = {member.name.removeprefix("./"): tar.extractfile(member) for member in members}
            return {name: file.read() for name, file in files.items() if file}
    except (OSError, subprocess.SubprocessError, tarfile.TarError):
        raise UsageError(f"{results} is not in git: there is nothing to compare with") from None


class FileComparison(NamedTuple):
    """The status of one file, and the largest difference in words."""

    status: Literal["identical", "within tolerance", "different", "missing"]
    detail: str = ""


def compare(name: str, fresh: bytes | None, published: bytes) -> FileComparison:
    """A file, by its path below the results folder, and the published one; `fresh` is None where there is none."""
    if fresh is None:
        return FileComparison("missing")
    if fresh == published:
        return FileComparison("identical")
    kind = Path(name).name
    try:
        (x, words), (y, words_published) = (_content(kind, data) for data in (fresh, published))
    except (ValueError, KeyError, TypeError, OSError) as error:
        return FileComparison("different", f"cannot be read ({error})")
    shapes, shapes_published = ({place: own.shape for place, own in side.items()} for side in (x, y))
    if shapes != shapes_published or words != words_published:
        return FileComparison("different", "other rows, columns, words or whole numbers")
    share, detail = max((_difference(kind, place, x[place], y[place]) for place in x), default=(0.0, ""))
    if share == 0:
        return FileComparison("identical", "the same numbers in other bytes")
    return FileComparison("within tolerance" if share <= 1 else "different", detail)


def _difference(kind: str, name: str, x: np.ndarray, y: np.ndarray) -> tuple[float, str]:
    """The largest difference as a share of the tolerance, inf where only one side is a number; and it in words."""
    least = 1e-3 * np.max(np.abs(y[np.isfinite(y)]), initial=0.0) if kind == "summary.parquet" else 0.0
    allowed = TOLERANCE[kind] * np.maximum(np.abs(y), least) + (FLOOR if kind == "claims.json" else 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        share = np.nan_to_num(np.abs(x - y) / allowed, nan=math.inf)
    share = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, share)
    at = int(np.argmax(share))
    return float(share[at]), f"{name} {x[at]:.17g}, published {y[at]:.17g}; allowed: {TOLERANCE[kind]:g} relative"


def _content(kind: str, data: bytes) -> tuple[dict[str, np.ndarray], list[Any]]:
    """The numbers of a file by their place, those of a summary by metric and estimator, and the rest."""
    numbers, rest = dict[str, np.ndarray](), list[Any]()

    def walk(value: Any, place: str) -> None:
        if isinstance(value, dict | list):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, inner in pairs:
                if key not in DIGESTS:
                    walk(inner, f"{place}.{key}")
        elif isinstance(value, float):
            numbers[place] = np.array([value])
        else:
            rest.append((place, value))

    if kind == "claims.json":
        walk(json.loads(data), "")
        return numbers, rest
    import pandas as pd

    table = pd.read_parquet(io.BytesIO(data))
    groups: dict[Any, Any] = {(): np.arange(len(table))}
    if "metric" in table:
        groups = table.groupby(["metric", "estimator"]).indices
    for name, column in table.items():
        if column.dtype == np.float64:
            numbers |= {" ".join([*group, str(name)]): column.to_numpy()[rows] for group, rows in groups.items()}
        else:
            rest.append((name, column.astype(object).where(column.notna(), None).tolist()))
    return numbers, rest
