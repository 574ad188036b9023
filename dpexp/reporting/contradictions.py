"""Whether what is stored of a cell agrees with itself: its row, parameters and numbers. Nothing is computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpexp.config.cells import Cell, is_noisy
from dpexp.engine.result import CellData

ROUNDING = 1e-9
"""relative to the largest gap: losses are means of up to a million terms, each right to 1e-16"""


def contradiction(cell: Cell, row: Mapping[str, Any], data: CellData) -> str:
    """What of a stored cell contradicts the rest, in words; empty where nothing does."""
    replicates = data.values.shape[-1]
    if int(row["replicates"]) != replicates:
        return f"its row counts {int(row['replicates'])} replicates, and {replicates} are stored"
    if int(data.steps[-1]) != cell.run.n:
        return f"its last step is {int(data.steps[-1]):,}, and it was run for {cell.run.n:,}"
    for name, value in cell.columns().items():
        if name not in row or not _same(row[name], value):
            return f"its row has {name} = {row.get(name, 'nothing')}, and its parameters {value}"
    if "loss_gap" in data.metrics:
        gaps = data.values[:, :, data.metrics.index("loss_gap")]
        finite = gaps[np.isfinite(gaps)]
        if finite.size and finite.min() < -ROUNDING * max(1.0, float(finite.max())):
            return f"a loss is {-float(finite.min()):.3g} below the least one"
    return repeated(data) if is_noisy(cell) else ""


def repeated(data: CellData) -> str:
    """Which replicates have the same numbers bit for bit, in words; empty where none have."""
    seen: dict[bytes, int] = {}
    for r in range(data.values.shape[-1]):
        first = seen.setdefault(np.ascontiguousarray(data.values[..., r]).tobytes(), r)
        if first != r:
            return f"replicates {first} and {r} are the same, bit for bit"
    return ""


def _same(stored: Any, own: Any) -> bool:
    """A parameter and its column. What a cell does not have is empty there; whole numbers may come back as floats."""
    if _empty(own):
        return _empty(stored)
    if isinstance(own, float):
        return isinstance(stored, int | float | np.number) and math.isclose(float(stored), own, rel_tol=1e-12)
    return bool(stored == own)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))
