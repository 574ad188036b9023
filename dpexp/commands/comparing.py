"""`dpexp diff`: final errors of two results, cell by cell."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.errors import UsageError
from dpexp.stats import paired_difference, t_quantile
from dpexp.store import Damaged, Folder, load_cells, load_summary
from dpexp.text import columns

_IDENTITY = ["problem", "algorithm", "schedule", "d", "alpha", "eta", "budget", "n"]
METRIC = "param_distance_sq"


def diff(a: Path, b: Path) -> tuple[dict[str, Any], str]:
    """Document and text. Cells are matched by their settings; paired where the random numbers agree.

    Raises UsageError for a folder without results, ResultsMissing for an incomplete one.
    """
    for path in (a, b):
        if not (path / "cells.parquet").exists():
            raise UsageError(f"{path} holds no results", "give two folders such as results/linear_d5")
    sides = [_final(path) for path in (a, b)]
    shared = [key for key in sides[0] if key in sides[1]]
    if not shared:
        raise UsageError(f"{a} and {b} have no setting in common", f"settings are matched by {', '.join(_IDENTITY)}")
    rows = [_compare(key, sides[0][key], sides[1][key], a, b) for key in shared]
    head = ["setting", "estimator", "A", "B", "A - B", "95% interval", "A / B", "how"]
    shown = [
        [r["setting"], r["estimator"], f"{r['a']:.4g}", f"{r['b']:.4g}", f"{r['difference']:+.3g}",
         f"[{r['ci'][0]:+.3g}, {r['ci'][1]:+.3g}]", f"{r['ratio']:.3f}", "paired" if r["paired"] else "unpaired"]
        for r in rows
    ]  # fmt: skip
    only = [len(side) - len(shared) for side in sides]
    text = f"mean {METRIC} at the last step; A = {a}, B = {b}\n\n" + columns(shown, head)
    if any(only):
        text += f"\n\n{only[0]} settings only in A, {only[1]} only in B"
    return {"a": str(a), "b": str(b), "metric": METRIC, "rows": rows}, text


def _final(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The last step's summary row of every setting and estimator."""
    summary = load_summary(path.parent, path.name)
    last = summary[(summary.metric == METRIC) & (summary.step == summary.groupby("cell_id").step.transform("max"))]
    seeds = dict(load_cells(path.parent, path.name).set_index("cell_id").seed)
    names = [name for name in _IDENTITY if name in last.columns]
    rows = [{str(k): v for k, v in row.items()} for row in last.to_dict("records")]
    return {
        (*(row[name] for name in names), row["estimator"]): {**row, "seed": seeds[row["cell_id"]], "names": names}
        for row in rows
    }


def _compare(key: tuple[Any, ...], a: dict[str, Any], b: dict[str, Any], left: Path, right: Path) -> dict[str, Any]:
    setting = " ".join(
        f"{name}={_short(value)}"
        for name, value in zip(a["names"], key, strict=False)
        if name in ("alpha", "budget", "d")
    )
    base = {"setting": setting, "estimator": a["estimator"], "a": a["mean"], "b": b["mean"]}
    values = [_replicates(side, path) for side, path in ((a, left), (b, right))]
    if a["seed"] == b["seed"] and values[0] is not None and values[1] is not None:
        n = min(map(len, (values[0], values[1])))
        d = paired_difference(values[0][:n], values[1][:n])
        return {**base, "difference": d.difference, "ci": [d.ci_lo, d.ci_hi], "ratio": d.ratio, "paired": True}
    difference = a["mean"] - b["mean"]
    half = t_quantile(int(min(a["n"], b["n"])) - 1) * math.hypot(a["se"], b["se"])
    ratio = a["mean"] / b["mean"] if b["mean"] else math.nan
    return {
        **base,
        "difference": difference,
        "ci": [difference - half, difference + half],
        "ratio": ratio,
        "paired": False,
    }


def _replicates(side: dict[str, Any], path: Path) -> np.ndarray | None:
    """Final values of the replicates, where the trajectories are stored."""
    try:
        data = Folder(path.parent, path.name).read_cell(side["cell_id"])
    except (FileNotFoundError, Damaged):
        return None
    return data.values[data.estimators.index(side["estimator"]), -1, data.metrics.index(METRIC)]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
