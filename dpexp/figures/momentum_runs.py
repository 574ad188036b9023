"""Runs of `momentum`: the prescribed schedules against their noise-free twins, and tuned methods against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.figures import style
from dpexp.figures.figure import Drawing, Figure
from dpexp.problems import PROBLEMS
from dpexp.store import load_summary

if TYPE_CHECKING:
    import pandas as pd

PRESCRIBED = "momentum_prescribed"
TUNED = ("momentum_tuned", "momentum_tuned_eps", "momentum_tuned_d")
G = 1.5
"""bound on gradients of the problem of these experiments, the default `rippled-mean`"""
METHODS = {
    "tree": "Algorithm 1: tree",
    "reduced": "Algorithm 2: reduced sensitivity",
    "square-root": "square-root noise",
    "independent": "independent noise",
    "plain": "tree, not normalised",
    "recursion": "full-batch recursion",
    "descent": "full-batch descent",
    "poisson": "DP-SGD, Poisson",
}
LOOKS: dict[str, tuple[str, str]] = {
    "tree": ("#2b6cb8", "o"),
    "reduced": ("#e0701a", "s"),
    "square-root": ("#7a4fa3", "^"),
    "independent": ("#8fb8de", "v"),
    "plain": ("#5c5c5c", "D"),
    "recursion": ("#2a9d6f", "P"),
    "descent": ("#111111", "X"),
    "poisson": ("#a50f4c", "*"),
}


def method(row: Any) -> str:
    """Key of METHODS for a row of cells."""
    if row.algorithm == "tree-momentum":
        return str(row.design) if row.design != "tree" else "tree" if row.normalised else "plain"
    if row.algorithm == "batch-descent":
        return "descent" if row.sampling_rate == 1 else "poisson"
    return {"reduced-momentum": "reduced", "gradient-recursion": "recursion"}[row.algorithm]


def variant(row: Any) -> str:
    """paper, exact or none: how the noise was set."""
    return str(row.calibration) if row.noise else "none"


def prescribed_rows(results: Path, metric: str = "mean_grad_norm") -> pd.DataFrame:
    """Last values of a metric of the prescribed runs: method, variant, N, step, mean, se and interval."""
    summary = load_summary(results, PRESCRIBED, ["N", "calibration", "noise"])
    rows = summary[summary.metric == metric]
    rows = rows[rows.step == rows.groupby("cell_id").step.transform("max")].copy()
    rows["method"] = [method(row) for row in rows.itertuples()]
    rows["variant"] = [variant(row) for row in rows.itertuples()]
    kept = ["method", "variant", "N", "d", "step", "mean", "se", "ci_lo", "ci_hi", "n", "n_diverged"]
    return rows.sort_values(["method", "variant", "N"], ignore_index=True)[kept]


def tuned_rows(results: Path, metric: str = "grad_norm") -> pd.DataFrame:
    """For every method, N, d and eps the setting with the least mean of a final metric, with its other settings.

    Reading off the best setting is not private; all methods have as many settings.
    """
    import pandas as pd

    frames = []
    for experiment in TUNED:
        summary = load_summary(results, experiment, ["N", "d", "eps", "epochs"])
        rows = summary[summary.metric == metric]
        frames.append(rows[rows.step == rows.groupby("cell_id").step.transform("max")])
    rows = pd.concat(frames, ignore_index=True)
    rows["method"] = [method(row) for row in rows.itertuples()]
    rows["settings"] = rows.groupby(["method", "N", "d", "eps"])["mean"].transform("size")
    best = rows.loc[rows.groupby(["method", "N", "d", "eps"])["mean"].idxmin()]
    kept = ["method", "N", "d", "eps", "settings", "epochs", "length", "eta", "step", "mean", "ci_lo", "ci_hi"]
    return best[[*kept, "n", "n_diverged"]].sort_values(["d", "eps", "N", "method"], ignore_index=True)


def draw_prescribed(results: Path) -> Drawing:
    """Left: mean over the run of |grad F| over G. Right: the last one. Against N, with 95% intervals."""
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.2, 3.9), layout="constrained")
    panels = {"mean_grad_norm": "mean over the run", "grad_norm": "at the last iterate"}
    frames = []
    for axes, (metric, words) in zip(canvas.subplots(1, 2, sharex=True), panels.items(), strict=True):
        rows = prescribed_rows(results, metric)
        frames.append(rows.assign(metric=metric))
        style.log_log(axes)
        for name, short in (("tree", "Algorithm 1"), ("reduced", "Algorithm 2")):
            looks = (
                ("paper", "-", "printed noise"),
                ("exact", (0, (4, 1.6)), "exact noise"),
                ("none", ":", "no noise"),
            )
            for kind, line, what in looks:
                part = rows[(rows.method == name) & (rows.variant == kind)]
                colour, marker = LOOKS[name]
                axes.errorbar(
                    part.N, part["mean"] / G, [(part["mean"] - part.ci_lo) / G, (part.ci_hi - part["mean"]) / G],
                    color=colour, marker=marker, linestyle=line, markersize=4, capsize=2, label=f"{short}, {what}",
                )  # fmt: skip
        sizes = np.array(sorted(rows.N.unique()), dtype=float)
        level = rows["mean"][(rows.method == "tree") & (rows.variant == "none")].iloc[0] / G
        axes.plot(sizes, 0.6 * level * (sizes / sizes[0]) ** -0.5, color="#777777", linewidth=0.9, label="$N^{-1/2}$")
        axes.set_xticks(sizes, [f"{n:,.0f}" for n in sizes], rotation=30)
        axes.set_xlabel("records $N$")
        axes.set_title(words)
        low, high = axes.get_ylim()
        ticks = [t for t in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if low <= t <= high]
        axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    canvas.axes[0].set_ylabel(r"$\|\nabla F\|$ over $G$")
    canvas.legend(*canvas.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return Drawing(canvas, pd.concat(frames, ignore_index=True))


def draw_tuned(results: Path) -> Drawing:
    """Final |grad F| over G of the best setting of every method: against N, eps, and d."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import NullLocator

    rows = tuned_rows(results)
    canvas = Canvas(figsize=(7.2, 4.1), layout="constrained")
    panels = (
        ("N", "records $N$", r"$\varepsilon$ = 1, d = 10", (rows.d == 10) & (rows.eps == 1)),
        ("eps", r"$\varepsilon$", "N = 2000, d = 10", (rows.d == 10) & (rows.N == 2000)),
        ("d", "parameters $d$", r"N = 2000, $\varepsilon$ = 1", (rows.eps == 1) & (rows.N == 2000)),
    )
    for axes, (column, words, title, chosen) in zip(canvas.subplots(1, 3, sharey=True), panels, strict=True):
        style.log_log(axes)
        for name, label in METHODS.items():
            part = rows[chosen & (rows.method == name)].sort_values(column)
            colour, marker = LOOKS[name]
            axes.errorbar(
                part[column], part["mean"] / G, [(part["mean"] - part.ci_lo) / G, (part.ci_hi - part["mean"]) / G],
                color=colour, marker=marker, markersize=4.5, capsize=2, linewidth=1.1, label=label,
            )  # fmt: skip
        values = sorted(rows[chosen][column].unique())
        axes.set_xticks(values, [f"{v:g}" for v in values])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlim(values[0] / 1.3, values[-1] * 1.3)
        axes.set_xlabel(words)
        axes.set_title(title)
    first = canvas.axes[0]
    low, high = first.get_ylim()
    ticks = [t for t in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if low <= t <= high]
    first.set_yticks(ticks, [f"{t:g}" for t in ticks])
    first.set_ylabel(r"final $\|\nabla F\|$ over $G$, best of the grid")
    canvas.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return Drawing(canvas, rows)


def problem(n: int, d: int) -> Any:
    """The problem of these experiments."""
    return PROBLEMS["rippled-mean"].model_validate({"N": n, "d": d})


MOMENTUM_PRESCRIBED = Figure(
    "momentum_prescribed",
    "Gradient norm against N at the prescribed schedules: printed noise, exact noise, and none.",
    "momentum",
    "Theorems 6 and 9 (no figure in the paper)",
    (PRESCRIBED,),
    draw_prescribed,
)
MOMENTUM_TUNED = Figure(
    "momentum_tuned",
    "Final gradient norm of tuned methods, all exactly calibrated for replaced records; the tuning is not private.",
    "momentum",
    "no figure in the paper",
    TUNED,
    draw_tuned,
)
