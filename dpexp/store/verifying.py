"""Compare fresh results with the published ones: summaries, cells and verdicts, with one tolerance for each kind.

Published is what the last commit has, or another folder. Iterates have the same bits on all processors; integrals, fits
and privacy numbers are sums whose order the processor chooses.
"""

from __future__ import annotations

import io
import json
import math
import subprocess
import tarfile
from collections.abc import Iterator
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


class Published(NamedTuple):
    """Files by their path below the results folder, and where they are from, in words."""

    files: dict[str, bytes]
    source: str


def published(results: Path, against: Path | None = None) -> Published:
    """The published results. Raises UsageError where there are none."""
    if against is not None:
        if not against.is_dir():
            raise UsageError(f"--against {against}: no such folder", "name a results folder")
        paths = (path for name in TOLERANCE for path in sorted(against.rglob(name)))
        return Published({path.relative_to(against).as_posix(): path.read_bytes() for path in paths}, str(against))
    try:
        command = ["git", "-C", str(results), "archive", "HEAD", "."]
        archive = subprocess.run(command, capture_output=True, timeout=120, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            members = ((member.name.removeprefix("./"), member) for member in tar if member.isfile())
            files = {name: tar.extractfile(member) for name, member in members if Path(name).name in TOLERANCE}
            return Published({name: file.read() for name, file in files.items() if file}, "the last commit")
    except (OSError, subprocess.SubprocessError, tarfile.TarError):
        hint = "--against DIR names published results"
        raise UsageError(f"{results} is not in git: there is nothing to compare with", hint) from None


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
        if kind == "claims.json":
            parts = _numbers(json.loads(fresh), json.loads(published))
        else:
            parts = _columns(fresh, published)
        largest, detail = max((_difference(kind, *part) for part in parts), default=(0.0, ""))
    except (ValueError, KeyError, TypeError, OSError) as error:
        return FileComparison("different", str(error) if isinstance(error, Unlike) else f"cannot be read ({error})")
    if largest == 0:
        return FileComparison("identical", "the same numbers in other bytes")
    return FileComparison("within tolerance" if largest <= 1 else "different", detail)


class Unlike(ValueError):
    """Two files differ in more than numbers."""


Part = tuple[str, np.ndarray, np.ndarray]
"""what numbers are called, the fresh ones and the published ones"""


def _difference(kind: str, name: str, x: np.ndarray, y: np.ndarray) -> tuple[float, str]:
    """The largest difference as a share of the tolerance, inf where only one side is a number; and it in words."""
    least = 1e-3 * np.max(np.abs(y[np.isfinite(y)]), initial=0.0) if kind == "summary.parquet" else 0.0
    allowed = TOLERANCE[kind] * np.maximum(np.abs(y), least) + (FLOOR if kind == "claims.json" else 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        share = np.nan_to_num(np.abs(x - y) / allowed, nan=math.inf)
    share = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, share)
    at = int(np.argmax(share))
    words = f"{name} {x[at]:.17g}, published {y[at]:.17g}; allowed: {TOLERANCE[kind]:g} relative"
    return float(share[at]), words


def _columns(fresh: bytes, published: bytes) -> Iterator[Part]:
    """The numbers of two tables, by metric and estimator. Raises Unlike where they differ in more."""
    import pandas as pd

    a, b = (pd.read_parquet(io.BytesIO(data)) for data in (fresh, published))
    if list(a) != list(b) or len(a) != len(b):
        raise Unlike(f"{len(a):,} rows, published {len(b):,}, or other columns")
    groups: dict[Any, Any] = a.groupby(["metric", "estimator"]).indices if "metric" in a else {(): np.arange(len(a))}
    for name in a:
        if a[name].dtype == b[name].dtype == np.float64:
            for group, rows in groups.items():
                yield " ".join([*group, str(name)]), a[name].to_numpy()[rows], b[name].to_numpy()[rows]
        elif not a[name].equals(b[name]):
            raise Unlike(f"column {name}")


def _numbers(x: Any, y: Any, path: str = "") -> Iterator[Part]:
    """The numbers of two documents. Raises Unlike where they differ in more."""
    if isinstance(x, dict) and isinstance(y, dict):
        if x.keys() != y.keys():
            raise Unlike(f"{path or 'the document'} has other keys: {', '.join(sorted(x.keys() ^ y.keys())[:3])}")
        for key in x.keys() - DIGESTS:
            yield from _numbers(x[key], y[key], f"{path}.{key}".strip("."))
    elif isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        for k, pair in enumerate(zip(x, y, strict=True)):
            yield from _numbers(*pair, f"{path}[{k}]")
    elif isinstance(x, int | float) and isinstance(y, int | float) and float in (type(x), type(y)):
        yield path, np.array([float(x)]), np.array([float(y)])
    elif x != y:
        raise Unlike(f"{path}: {str(x)[:60]}, published {str(y)[:60]}")
