"""`dpexp diff`: final errors of two results, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.commands.fitted import fitting_columns
from dpexp.config.settings import Settings, Words, flat, named, varying
from dpexp.config.words import suggest
from dpexp.core.errors import UsageError
from dpexp.core.text import counted, guess
from dpexp.reporting.accuracies import said_of_records
from dpexp.store import (
    OnlySummaries,
    at_last_step,
    load_cell,
    load_cells,
    load_generation,
    load_parameters,
    load_summary,
)
from dpexp.store.folder import experiments_in, holds_results
from dpexp.store.stats import paired_difference, t_quantile

MAIN = "param_distance_sq"
"""compared where both have it, else every metric of both"""


def diff(a: Path, b: Path, metric: str | None = None) -> tuple[dict[str, Any], str]:
    """Document and text. Cells match that agree in what varies within A or B; paired where random numbers agree.

    Raises UsageError for a folder without results or an unknown metric, ResultsMissing for an incomplete folder.
    """
    a, b = (path if path.name not in ("", "..") else path.resolve() for path in (a, b))  # a folder without a name
    for path in (a, b):
        if not holds_results(path):
            near = guess(str(path), [str(path.parent / name) for name in experiments_in(path.parent)])
            raise UsageError(f"{path} holds no results", f"{near}give two folders such as results/NAME")
    settings = _sides((a, b))
    names = _varying(settings)
    words = Words(cell for side in settings for cell in side.values())
    sides = [_final(path, own, names) for path, own in zip((a, b), settings, strict=True)]
    metrics = _metrics(sides, metric)
    matched = [key for key in sides[0] if key in sides[1]]
    if not matched:
        by = f"settings are matched by {', '.join(names)}" if names else "they have no metric in common"
        raise UsageError(f"{a} and {b} have no setting in common", by)
    shared = [key for m in metrics for key in matched if key[-1] == m]
    rows = [
        _compare(words.setting(names, dict(zip(names, key, strict=False))), sides[0][key], sides[1][key], a, b)
        for key in shared
    ]
    head = ["setting", "estimator", "metric", "A", "B", "A - B", "95% interval", "A / B", "how"]
    shown = [
        [r["setting"], r["estimator"], r["metric"], f"{r['a']:.4g}", f"{r['b']:.4g}", f"{r['difference']:+.3g}",
         f"[{r['ci'][0]:+.3g}, {r['ci'][1]:+.3g}]", f"{r['ratio']:.3f}", "paired" if r["paired"] else "unpaired"]
        for r in rows
    ]  # fmt: skip
    lines = [f"means at the last step; A = {a}, B = {b}"]
    changes = {k: (words.value(k, x), words.value(k, y)) for k, (x, y) in _changes(settings, names).items()}
    stale = {
        side: why
        for side, path in (("A", a), ("B", b))
        if (why := load_generation(path.parent, path.name, renamed=True).what_is_stale())
    }
    lines += [f"{side} is not what today's code, data and config give: {why}" for side, why in stale.items()]
    if changes:
        lines.append("A and B differ in " + "; ".join(f"{k}: {x} / {y}" for k, (x, y) in changes.items()))
    lines += ["", fitting_columns(shown, head)]
    if "test_accuracy" in metrics:
        lines += ["", *dict.fromkeys(said_of_records(path.parent, path.name) for path in (a, b))]
    only = [len({key[:-2] for key in side}) - len({key[:-2] for key in matched}) for side in sides]
    if any(only):
        lines += ["", f"{counted(only[0], 'setting')} only in A, {only[1]} only in B"]
    document = {
        "a": str(a),
        "b": str(b),
        "metric": ", ".join(metrics),
        "changes": changes,
        "not_current": stale,
        "rows": rows,
    }
    return document, "\n".join(lines)


def _sides(paths: Sequence[Path]) -> list[dict[str, Settings]]:
    """Settings of every cell of every result by cell id, under names that are the same in all of them."""
    keys, cells, labels = [], [], []
    for side, path in enumerate(paths):
        budgets = load_cells(path.parent, path.name, renamed=True).set_index("cell_id").budget
        for cell_id, tree in load_parameters(path.parent, path.name, renamed=True).items():
            keys.append((side, cell_id))
            cells.append(flat(tree))
            labels.append(str(budgets[cell_id]))
    sides: list[dict[str, Settings]] = [{} for _ in paths]
    for (side, cell_id), settings in zip(keys, named(cells, labels), strict=True):
        sides[side][cell_id] = settings
    return sides


def _varying(sides: list[dict[str, Settings]]) -> list[str]:
    """Names of what differs between cells of one of the results."""
    return list(dict.fromkeys(name for side in sides for name in varying(side.values())))


def _changes(settings: list[dict[str, Settings]], names: list[str]) -> dict[str, tuple[Any, Any]]:
    """What differs between A and B as wholes."""
    one, other = ({k: v for k, v in next(iter(side.values())).items() if k not in names} for side in settings)
    return {k: (one.get(k), other.get(k)) for k in one | other if one.get(k) != other.get(k)}


def _final(path: Path, settings: dict[str, Settings], names: list[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The last step's summary row of every setting, estimator and metric, with the seed of its cell."""
    summary = load_summary(path.parent, path.name, renamed=True)
    last = at_last_step(summary)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in last.to_dict("records"):
        own = settings[row["cell_id"]]
        key = (*(own.get(name) for name in names), row["estimator"], row["metric"])
        assert key not in found, f"{path}: two cells of one setting"
        found[key] = {**{str(k): v for k, v in row.items()}, "seed": own.get("run.seed", own.get("seed"))}
    return found


def _metrics(sides: list[dict[tuple[Any, ...], dict[str, Any]]], wanted: str | None) -> list[str]:
    known = [dict.fromkeys(key[-1] for key in side) for side in sides]
    shared = [name for name in known[0] if name in known[1]]
    if wanted is not None and wanted not in shared:
        raise UsageError(f"--metric {wanted}: not in both results", suggest(wanted, shared))
    return [wanted] if wanted else [MAIN] if MAIN in shared else shared


def _compare(setting: str, a: dict[str, Any], b: dict[str, Any], left: Path, right: Path) -> dict[str, Any]:
    base = {"setting": setting, "estimator": a["estimator"], "metric": a["metric"], "a": a["mean"], "b": b["mean"]}
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
        data = load_cell(path.parent, path.name, side["cell_id"], renamed=True)
    except OnlySummaries:
        return None
    values: np.ndarray = data.values[data.estimators.index(side["estimator"]), -1, data.metrics.index(side["metric"])]
    return values
