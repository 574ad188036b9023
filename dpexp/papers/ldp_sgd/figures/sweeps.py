"""How the final error depends on the dimension, the budget and the mixture of budgets (`ldp-sgd`, Remark 1)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure
from dpexp.store import load_summary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LOOKS = {"sgd": ("o", "#2b6cb8"), "asgd": ("s", "#e0701a")}
"""marker and colour of an estimator"""


def draw(results: Path) -> Drawing:
    """Left: dimension. Middle: budget. Right: mixed budgets with one mean of 1 / mu_i^2, over mu = 2 for all."""
    import pandas as pd

    names = ("sweep_d", "sweep_mu", "budget_mix")
    ends = {name: _last(load_summary(results, name, ["alpha", "d"])) for name in names}
    canvas, (left, middle, right) = style.panels(7.2, 3.1, 3, log=False)
    _dimension(left, ends["sweep_d"])
    private = ends["sweep_mu"][np.isfinite(ends["sweep_mu"].mu) & ((ends["sweep_mu"].alpha - 1 / 3).abs() < 1e-9)]
    _budget(middle, private)
    _mixes(right, ends["budget_mix"])
    style.legend_below(canvas, 4)
    kept = ["experiment", "d", "alpha", "budget", "estimator", "step", "mean", "ci_lo", "ci_hi", "n", "n_diverged"]
    data = pd.concat([frame.assign(experiment=name) for name, frame in ends.items()], ignore_index=True)
    return Drawing(canvas, data[kept].sort_values(kept[:5], ignore_index=True))


def _last(summary: pd.DataFrame) -> pd.DataFrame:
    last: pd.DataFrame = summary[(summary.metric == "param_distance_sq") & (summary.step == summary.step.max())]
    return last


def _points(axes: Axes, x: Any, rows: pd.DataFrame, estimator: str) -> None:
    error = [rows["mean"] - rows.ci_lo, rows.ci_hi - rows["mean"]]
    axes.errorbar(x, rows["mean"], error, **_look(estimator), label=f"{style.NAMES[estimator]}, 95% CI")


def _look(estimator: str) -> dict[str, Any]:
    marker, colour = LOOKS[estimator]
    return {"fmt": marker, "color": colour, "markersize": 4, "capsize": 2}


def _dimension(axes: Axes, ends: pd.DataFrame) -> None:
    style.log_log(axes)
    for estimator in ("sgd", "asgd"):
        rows = ends[ends.estimator == estimator].sort_values("d")
        _points(axes, rows.d + 1, rows, estimator)
    p = np.array([ends.d.min() + 1, ends.d.max() + 1])
    level = ends["mean"][(ends.d == ends.d.min()) & (ends.estimator == "sgd")].iloc[0]
    axes.plot(p, level * (p / p[0]), ":", color="#777777", linewidth=1.1, label="proportional (Remark 1)")
    axes.plot(p, level * (p / p[0]) ** 2, "--", color="#444444", linewidth=0.9, label="quadratic")
    style.ticks_at(axes, sorted(ends.d.unique() + 1))
    error = r"final $\mathrm{E}\,\|\theta_n - \theta^*\|^2$"
    axes.set(xlabel="parameters $p$", ylabel=error, title=r"dimension ($\alpha$ = 1/2, $\mu$ = 8)")


def _budget(axes: Axes, ends: pd.DataFrame) -> None:
    style.log_log(axes)
    for estimator in ("sgd", "asgd"):
        rows = ends[ends.estimator == estimator].sort_values("mu")
        _points(axes, rows.mu, rows, estimator)
        middle = rows[rows.mu == 2.0]
        power = -2 if estimator == "sgd" else -4
        mu = np.array([0.5, 8.0] if estimator == "sgd" else [0.5, 4.0])
        axes.plot(mu, middle["mean"].iloc[0] * (mu / 2) ** power, ":", color="#777777", linewidth=1.1)
        end = mu[1], middle["mean"].iloc[0] * (mu[1] / 2) ** power
        height, side = (12, "bottom") if power == -2 else (-4, "top")
        style.note(axes, rf"$\mu^{{{power}}}$", end, (-2, height), ha="right", va=side)
    style.ticks_at(axes, sorted(ends.mu.unique()))
    axes.set(xlabel=r"budget $\mu$", title=r"budget ($\alpha$ = 1/3, d = 5)")


def _mixes(axes: Axes, ends: pd.DataFrame) -> None:
    order = ["2", *sorted(b for b in ends.budget.unique() if b not in ("1", "2")), "1"]
    place = {budget: k for k, budget in enumerate(order)}
    for estimator, shift in (("sgd", -0.12), ("asgd", 0.12)):
        rows = ends[ends.estimator == estimator]
        base = rows["mean"][rows.budget == "2"].iloc[0]
        x = rows.budget.map(place) + shift
        error = np.array([rows["mean"] - rows.ci_lo, rows.ci_hi - rows["mean"]]) / base
        axes.errorbar(rows["mean"] / base, x, xerr=error, **_look(estimator))
    axes.axvline(1.0, color="#777777", linestyle=":", linewidth=1.1)
    axes.set_yticks(range(len(order)), [f"$\\mu$ = {b} for all" if b in ("1", "2") else _wrapped(b) for b in order])
    axes.tick_params(axis="y", labelsize=7)
    axes.invert_yaxis()
    axes.set(xlabel=r"error / error at $\mu$ = 2", title="mixed budgets")


def _wrapped(label: str) -> str:
    return label.replace(", ", ",\n", 1) if label.startswith("mix") else label


SWEEPS = Figure(
    "sweeps",
    "The error against dimension, budget and mixture of budgets.",
    "ldp-sgd",
    "Remark 1",
    ("sweep_d", "sweep_mu", "budget_mix"),
    draw,
)
