"""One file of fresh results beside the published one: the same, within its tolerance, or different."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np

from dpexp.store import tolerances
from dpexp.store.tolerances import Tolerance

Status = Literal["identical", "within tolerance", "different", "missing"]
NAMES = frozenset({"seals", "checksum", "numbers", "results", "unchanged", "witness", "confirmed"})
"""keys of documents whose values are digests of other files' numbers, which are compared themselves, or say how often
these were computed"""
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


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
    kind = PurePosixPath(name).suffix
    try:
        return _BY_KIND.get(kind, _bytes)(fresh, published)
    except (ValueError, KeyError, TypeError, OSError) as error:
        return Compared("different", f"cannot be read ({type(error).__name__})")


def _bytes(fresh: bytes, published: bytes) -> Compared:
    return Compared("different", f"{len(fresh):,} bytes, published {len(published):,}")


# --- tables ---


def _tables(fresh: bytes, published: bytes) -> Compared:
    import pyarrow as pa
    import pyarrow.parquet as pq

    one, other = (pq.read_table(pa.BufferReader(data), use_threads=False) for data in (fresh, published))
    if one.column_names != other.column_names or one.num_rows != other.num_rows:
        return Compared("different", f"{one.num_rows:,} rows, published {other.num_rows:,}, or other columns")
    metrics = np.array(one["metric"].to_pylist()) if "metric" in one.column_names else np.full(one.num_rows, "")
    worst: list[tuple[float, str]] = []
    for column in one.column_names:
        a, b = one[column], other[column]
        if not pa.types.is_floating(a.type) or not pa.types.is_floating(b.type):
            if a.to_pylist() != b.to_pylist():
                return Compared("different", f"column {column}")
            continue
        x, y = (v.to_numpy(zero_copy_only=False) for v in (a, b))
        for metric in np.unique(metrics):
            rows = metrics == metric
            known = tolerances.BY_METRIC.get(str(metric), tolerances.LONG)  # that of long runs for a plug-in's
            allowed = known if metric else tolerances.STATED
            worst.append(_off(x[rows], y[rows], allowed, f"{metric} {column}".strip()))
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
    told = [f"{allowed.relative:g} relative"] * bool(allowed.relative) + [f"{allowed.absolute:g}"] * bool(
        allowed.absolute
    )
    return float(share[place]), f"{what} {x[place]:.17g}, published {y[place]:.17g}; allowed: {' or '.join(told)}"


def _verdict(worst: Sequence[tuple[float, str]]) -> Compared:
    share, words = max(worst, default=(0.0, ""), key=lambda one: one[0])
    if share == 0:
        return Compared("identical", "the same numbers in other bytes")
    return Compared("within tolerance" if share <= 1 else "different", words)


# --- documents and texts ---


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
            digests = key in NAMES and not (key == "numbers" and isinstance(y[key], dict))
            if not digests and (wrong := _walk(x[key], y[key], f"{path}.{key}".strip("."), worst)):
                return wrong
        return ""
    if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        return next((w for k in range(len(x)) if (w := _walk(x[k], y[k], f"{path}[{k}]", worst))), "")
    if _is_number(x) and _is_number(y):
        worst.append(_off(np.array([float(x)]), np.array([float(y)]), tolerances.EVIDENCE, path))
        return ""
    return "" if x == y else f"{path}: {str(x)[:60]}, published {str(y)[:60]}"


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool))


def _texts(fresh: bytes, published: bytes) -> Compared:
    """Words must be the same, and printed numbers to one unit in their last place: rounding can go either way."""
    one, other = fresh.decode().splitlines(), published.decode().splitlines()
    if len(one) != len(other):
        return Compared("different", f"{len(one):,} lines, published {len(other):,}")
    for number, (x, y) in enumerate(zip(one, other, strict=True), 1):
        if " ".join(_NUMBER.sub("#", x).split()) != " ".join(_NUMBER.sub("#", y).split()):
            return Compared("different", f"line {number}")
        for a, b in zip(_NUMBER.findall(x), _NUMBER.findall(y), strict=True):
            unit = max(Decimal(1).scaleb(int(Decimal(v).as_tuple().exponent)) for v in (a, b))
            if abs(Decimal(a) - Decimal(b)) > unit:
                return Compared("different", f"line {number}: {a}, published {b}")
    return Compared("within tolerance", "printed numbers to one unit in their last place")


_BY_KIND: dict[str, Callable[[bytes, bytes], Compared]] = {
    ".parquet": _tables,
    ".json": _documents,
    ".md": _texts,
    ".txt": _texts,
}
