"""Fresh results beside the published ones: where these are from, and how far a number may be from them, and why.

Published is what the last commit has, or another folder. Compared are numbers: summaries, rows of cells, and verdicts.
Runs have the same bits on every processor that was tried or played. What a library solves or integrates (a central fit,
an interval, a privacy number) it adds up in an order that the processor chooses, and another system's library may round
otherwise: these numbers have to agree within the tolerance of their metric.
"""

from __future__ import annotations

import io
import json
import math
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.store.rows import STATED as AGREEING

# --- what is published ---

COMPARED = ("summary.parquet", "cells.parquet", "claims.json")
"""by their names; figures, tables and pages are drawn from these"""


class Published(NamedTuple):
    """Files by their path below the results folder, and where they are from, in words."""

    files: dict[str, bytes]
    source: str


def published(results: Path, against: Path | None = None) -> Published:
    """The published results. Raises UsageError where there are none to be found."""
    if against is not None:
        if not against.is_dir():
            raise UsageError(f"--against {against}: no such folder", "name a results folder")
        paths = (path for name in COMPARED for path in sorted(against.rglob(name)))
        return Published({path.relative_to(against).as_posix(): path.read_bytes() for path in paths}, str(against))
    if files := _in_git(results):
        return Published(files, "the last commit")
    raise UsageError(
        f"{results} is not in git: there is nothing to compare with", "--against DIR names published results"
    )


def _in_git(results: Path) -> dict[str, bytes]:
    """What the last commit has of a folder; nothing where it has none, or where there is no git."""
    try:
        told = subprocess.run(["git", "-C", str(results), "archive", "HEAD", "."], capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if told.returncode != 0:
        return {}
    with tarfile.open(fileobj=io.BytesIO(told.stdout)) as archive:
        files = {one.name.removeprefix("./"): archive.extractfile(one) for one in archive if one.isfile()}
        return {name: file.read() for name, file in files.items() if file and name.split("/")[-1] in COMPARED}


# --- how far a number may be from it ---


class Tolerance(NamedTuple):
    """A number agrees if it differs by at most `relative` of its size, or of the largest number of its kind in the file
    where it is much smaller than that; or by at most `absolute`."""

    relative: float
    absolute: float
    why: str


SHORT = Tolerance(1e-12, 0.0, "short runs in 64 bits, which hardly amplify a rounding error")
INTEGRALS = Tolerance(1e-12, 1e-13, "a difference of integrals in 64 bits, whose values are of size 1")
LONG = Tolerance(1e-6, 0.0, "long runs in 64 bits, which amplify one")
SINGLE = Tolerance(1e-4, 0.0, "runs in 32 bits")
RECORDS = Tolerance(0.0, 2e-3, "a share of records, of which a few lie on the boundary between two classes")
INTERVALS = Tolerance(1e-6, 0.0, "lengths and errors of intervals, from small systems of equations in 64 bits")
RUNS = Tolerance(0.0, 1 / 64, "a share of runs, one of which may have its interval's end at the truth")
DIFFERENCE = Tolerance(1e-9, 0.0, "differences of numbers of short runs in 64 bits")
SOLVED = Tolerance(1e-9, 0.0, "parameters that a library solves for, in the order of the processor")
COORDINATES = ("intercept", "slopes", "first_slope", "last_slope", "last")
_OF_SHORT = ("param_distance_sq", "param_distance", "coef_distance_sq", "projections", "runs")
_OF_LONG = ("objective", "grad_norm", "mean_grad_norm", "direction_error", "lemma5_slack")
BY_METRIC = {
    **dict.fromkeys(_OF_SHORT, SHORT),
    **dict.fromkeys(_OF_LONG, LONG),
    "loss_gap": INTEGRALS,
    **dict.fromkeys(("param_distance_sq_controlled", "loss_gap_controlled"), DIFFERENCE),
    **dict.fromkeys(("param_norm_sq", "train_loss"), SINGLE),
    "test_accuracy": RECORDS,
    "score": Tolerance(0.0, 5.0, "a number of records, of which a few lie on the boundary between two classes"),
    "candidate": Tolerance(0.0, 1.0, "which candidate is the best can hang on a few records"),
    **{f"{what}_{name}": RUNS for what in ("covered", "bounded", "wald") for name in COORDINATES},
    **{f"{w}_{name}": INTERVALS for w in ("length", "length_over_bound", "error_over_bound") for name in COORDINATES},
}
SOLVING = frozenset({"central-newton"})
"""estimators that no recursion reaches: what is `SHORT` of a run is `SOLVED` of these"""
EVIDENCE = Tolerance(1e-6, 1e-9, "numbers behind a verdict, which follow from all of these")
STATED = Tolerance(AGREEING, 0.0, "parameters and privacy statements, which are sums and quadratures")


def tolerance(metric: str, estimator: str) -> Tolerance:
    """How far the numbers of a metric may be from the published ones; a plug-in's as those of long runs."""
    known = BY_METRIC.get(metric, LONG)
    return SOLVED if known is SHORT and estimator in SOLVING else known


# --- one file beside the published one ---

Status = Literal["identical", "within tolerance", "different", "missing"]
NAMES = frozenset({"seals", "checksum", "numbers", "results", "unchanged", "witness", "confirmed", "code"})
"""keys of documents whose values are digests of other files' numbers, which are compared themselves, or say with which
code these were computed and confirmed"""


class Compared(NamedTuple):
    """What was found of one file, and where it differs most."""

    status: Status
    detail: str = ""


def compare(name: str, fresh: bytes | None, published: bytes) -> Compared:
    """A file, by its path below the results folder; `fresh` is None where there is none."""
    if fresh is None:
        return Compared("missing")
    if fresh == published:
        return Compared("identical")
    try:
        return (_documents if name.endswith(".json") else _tables)(fresh, published)
    except (ValueError, KeyError, TypeError, OSError) as error:
        return Compared("different", f"cannot be read ({type(error).__name__})")


# --- tables ---


def _tables(fresh: bytes, published: bytes) -> Compared:
    import pyarrow as pa
    import pyarrow.parquet as pq

    one, other = (pq.read_table(pa.BufferReader(data), use_threads=False) for data in (fresh, published))
    if one.column_names != other.column_names or one.num_rows != other.num_rows:
        return Compared("different", f"{one.num_rows:,} rows, published {other.num_rows:,}, or other columns")
    rows: dict[tuple[str, str], list[int]] = {}
    for k, row in enumerate(one.select(["metric", "estimator"]).to_pylist() if "metric" in one.column_names else ()):
        rows.setdefault((row["metric"], row["estimator"]), []).append(k)
    worst: list[tuple[float, str]] = []
    for column in one.column_names:
        a, b = one[column], other[column]
        if not pa.types.is_floating(a.type) or not pa.types.is_floating(b.type):
            if a.to_pylist() != b.to_pylist():
                return Compared("different", f"column {column}")
            continue
        x, y = (v.to_numpy(zero_copy_only=False) for v in (a, b))
        if not rows:
            worst.append(_off(x, y, STATED, column))
        for (metric, estimator), own in rows.items():
            worst.append(_off(x[own], y[own], tolerance(metric, estimator), f"{metric} {column}"))
    return _verdict(worst)


def _off(x: np.ndarray, y: np.ndarray, allowed: Tolerance, what: str) -> tuple[float, str]:
    """The largest difference as a share of what is allowed, inf where a number is none on one side only; in words."""
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    if same.all():
        return 0.0, ""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        difference = np.abs(x - y)
        # a number that is small beside the others is what is left of them, and can be no more exact than these
        size = np.maximum(np.abs(y), 1e-3 * np.max(np.abs(y[np.isfinite(y)]), initial=0.0))
        share = np.where(same, 0.0, difference / (allowed.absolute + allowed.relative * size))
    share = np.where(np.isnan(share), math.inf, share)
    place = int(np.argmax(share))
    told = [f"{allowed.relative:g} relative"] * bool(allowed.relative)
    told += [f"{allowed.absolute:g}"] * bool(allowed.absolute)
    return float(share[place]), f"{what} {x[place]:.17g}, published {y[place]:.17g}; allowed: {' or '.join(told)}"


def _verdict(worst: Sequence[tuple[float, str]]) -> Compared:
    share, words = max(worst, default=(0.0, ""), key=lambda one: one[0])
    if share == 0:
        return Compared("identical", "the same numbers in other bytes")
    return Compared("within tolerance" if share <= 1 else "different", words)


# --- verdicts ---


def _documents(fresh: bytes, published: bytes) -> Compared:
    worst: list[tuple[float, str]] = []
    wrong = _walk(json.loads(fresh), json.loads(published), "", worst)
    if wrong:
        return Compared("different", wrong)
    if not any(share for share, _ in worst):
        return Compared("within tolerance", "digests of files that are compared themselves")
    return _verdict(worst)


def _walk(x: Any, y: Any, path: str, worst: list[tuple[float, str]]) -> str:
    """Compare two documents: where they differ in more than numbers; differences of numbers are collected."""
    if isinstance(x, dict) and isinstance(y, dict):
        if x.keys() != y.keys():
            return f"{path or 'the document'} has other keys: {', '.join(sorted(x.keys() ^ y.keys())[:3])}"
        for key in x:
            # `numbers` is a digest of a cell in a manifest, and what a verdict found in the ledger
            digests = key in NAMES and not (key == "numbers" and isinstance(y[key], dict))
            if not digests and (wrong := _walk(x[key], y[key], f"{path}.{key}".strip("."), worst)):
                return wrong
        return ""
    if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        return next((w for k in range(len(x)) if (w := _walk(x[k], y[k], f"{path}[{k}]", worst))), "")
    if _is_number(x) and _is_number(y):
        worst.append(_off(np.array([float(x)]), np.array([float(y)]), EVIDENCE, path))
        return ""
    return "" if x == y else f"{path}: {str(x)[:60]}, published {str(y)[:60]}"


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool))
