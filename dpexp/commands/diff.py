"""`dpexp diff`: final errors of two results, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.config.cells import Parameter, column_name, shared_names
from dpexp.config.words import suggest
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.text import columns
from dpexp.reporting.accuracies import said_of_records
from dpexp.store import load_cell, load_cells, load_generation, load_parameters, load_summary
from dpexp.store.stats import paired_difference, t_quantile

MAIN = "param_distance_sq"
"""compared where both have it, else every metric of both"""
Settings = dict[str, Any]
"""parameters of a cell by name, with all their digits"""


def diff(a: Path, b: Path, metric: str | None = None) -> tuple[dict[str, Any], str]:
    """Document and text. Cells match that agree in what varies within A or B; paired where random numbers agree.

    Raises UsageError for a folder without results or an unknown metric, ResultsMissing for an incomplete folder.
    """
    a, b = (path if path.name not in ("", "..") else path.resolve() for path in (a, b))  # a folder without a name
    for path in (a, b):
        if not any((path / name).exists() for name in ("cells.parquet", "manifest.json", "trajectories")):
            raise UsageError(f"{path} holds no results", "give two folders such as results/linear_d5")
    settings = _named([_settings(path) for path in (a, b)])
    names = _varying(settings)
    words = _Words(settings)
    sides = [_final(path, own, names) for path, own in zip((a, b), settings, strict=True)]
    metrics = _metrics(sides, metric)
    matched = [key for key in sides[0] if key in sides[1]]
    if not matched:
        by = f"settings are matched by {', '.join(names)}" if names else "they have no metric in common"
        raise UsageError(f"{a} and {b} have no setting in common", by)
    shared = [key for m in metrics for key in matched if key[-1] == m]
    rows = [_compare(words.setting(names, key), sides[0][key], sides[1][key], a, b) for key in shared]
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
    lines += ["", columns(shown, head)]
    if "test_accuracy" in metrics:
        lines += ["", *dict.fromkeys(said_of_records(path.parent, path.name) for path in (a, b))]
    only = [len({key[:-2] for key in side}) - len({key[:-2] for key in matched}) for side in sides]
    if any(only):
        lines += ["", f"{only[0]} settings only in A, {only[1]} only in B"]
    document = {
        "a": str(a),
        "b": str(b),
        "metric": ", ".join(metrics),
        "changes": changes,
        "not_current": stale,
        "rows": rows,
    }
    return document, "\n".join(lines)


def _settings(path: Path) -> dict[str, Settings]:
    """Parameters of every cell by their place, such as problem.data.name, and the label of its budgets."""
    budgets = load_cells(path.parent, path.name, renamed=True).set_index("cell_id").budget
    parameters = load_parameters(path.parent, path.name, renamed=True)
    return {i: _flat(tree) | {"budget": str(budgets[i])} for i, tree in parameters.items()}


def _flat(tree: dict[str, Any], prefix: str = "") -> Settings:
    """Parameters by their place; values that compare, lists as text."""
    flat: Settings = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = str(value) if isinstance(value, list) else value
    return flat


def _named(settings: list[dict[str, Settings]]) -> list[dict[str, Settings]]:
    """The same under the names of columns. A budget goes by its label where that tells all of them apart.

    Else every number of it counts: a target is `eps` and `delta`, a law `mu.uniform`, `mu.list` or `mu.choice...`.
    """
    cells = [cell for side in settings for cell in side.values()]
    laws = [tuple((k, str(v)) for k, v in cell.items() if k.startswith("budget.")) for cell in cells]
    targets = all("budget.eps" in cell for cell in cells)
    labels = not targets and len(set(laws)) == len({cell["budget"] for cell in cells})
    shared = shared_names({_parameter(place) for cell in cells for place in cell})
    return [
        {
            i: {
                _name(place, shared): value
                for place, value in cell.items()
                if not place.startswith("budget") or (place == "budget") == labels
            }
            for i, cell in side.items()
        }
        for side in settings
    ]


def _parameter(place: str) -> Parameter:
    """Section and key of a place in a cell's parameters; the section that configs call privacy is stored as budget."""
    section, _, rest = place.partition(".")
    key = rest.partition(".")[0]
    if section == "budget":
        return "privacy", key if key in ("eps", "delta") else "mu"
    return section, key


def _name(place: str, shared: Container[str]) -> str:
    """The column's name, and what is inside it; a nested value is called by its name."""
    parameter = _parameter(place)
    inside = place.split(".")[1 if place.startswith("budget.") and parameter[1] == "mu" else 2 :]
    inside = [] if place == "budget.mu" else inside[:-1] if inside[-1:] == ["name"] else inside
    return ".".join([column_name(parameter, shared), *inside])


def _varying(settings: list[dict[str, Settings]]) -> list[str]:
    """Names of what differs between cells of one of the results."""
    names = dict.fromkeys(name for side in settings for cell in side.values() for name in cell)
    return [name for name in names if any(len({cell.get(name) for cell in side.values()}) > 1 for side in settings)]


def _changes(settings: list[dict[str, Settings]], names: list[str]) -> dict[str, tuple[Any, Any]]:
    """What differs between A and B as wholes."""
    one, other = ({k: v for k, v in next(iter(side.values())).items() if k not in names} for side in settings)
    return {k: (one.get(k), other.get(k)) for k in one | other if one.get(k) != other.get(k)}


def _final(path: Path, settings: dict[str, Settings], names: list[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The last step's summary row of every setting, estimator and metric, with the seed of its cell."""
    summary = load_summary(path.parent, path.name, renamed=True)
    last = summary[summary.step == summary.groupby("cell_id").step.transform("max")]
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in last.to_dict("records"):
        own = settings[row["cell_id"]]
        key = (*(own.get(name) for name in names), row["estimator"], row["metric"])
        assert key not in found, f"{path}: two cells of one setting"
        found[key] = {**{str(k): v for k, v in row.items()}, "seed": own.get("run.seed", own.get("seed"))}
    return found


class _Words:
    """Values of settings as they are shown: short, but never two alike."""

    def __init__(self, settings: list[dict[str, Settings]]) -> None:
        cells = [cell for side in settings for cell in side.values()]
        every = dict.fromkeys(name for cell in cells for name in cell)
        self.values = {name: {cell[name] for cell in cells if name in cell} for name in every}

    def value(self, name: str, value: Any) -> str:
        """Four digits of a number, or as many as it takes to tell it from the others of this name."""
        if not isinstance(value, float):
            return "-" if value is None else str(value)
        numbers = [v for v in self.values[name] if isinstance(v, float)]
        for digits in range(4, 17):
            if len({f"{v:.{digits}g}" for v in numbers}) == len(numbers):
                return f"{value:.{digits}g}"
        return repr(value)

    def setting(self, names: Sequence[str], key: tuple[Any, ...]) -> str:
        """`name=value` of what varies; a key holds the values of `names`, then estimator and metric."""
        pairs = zip(names, key, strict=False)
        return " ".join(f"{name}={self.value(name, v)}" for name, v in pairs if v is not None)


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
    except ResultsMissing:
        return None
    values: np.ndarray = data.values[data.estimators.index(side["estimator"]), -1, data.metrics.index(side["metric"])]
    return values
