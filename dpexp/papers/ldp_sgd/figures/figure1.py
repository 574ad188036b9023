"""Figure 1 of `ldp-sgd`: budgets that differ between users, and how stable single paths are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure
from dpexp.store import load_summary, load_trajectories, not_as_configured

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ALPHA = 0.5
"""the paper does not say; 1/2 is the middle of its range"""
PATHS, USERS = 5, "users = steps $i$"


def draw(results: Path) -> Drawing:
    """Left: mean distance for mu = 1, mu = 2 and Uniform(1, 2). Right: the first five replicates at mu = 2."""
    import pandas as pd
    from matplotlib.lines import Line2D

    summary = load_summary(results, "figure1", ["alpha"])
    means = summary[(summary.metric == "param_distance") & ((summary.alpha - ALPHA).abs() < 1e-9)]
    if "2" not in set(means.budget):
        raise not_as_configured(results, "figure1", "no cell with alpha = 1/2 and mu = 2")
    cell_id = means.cell_id[means.budget == "2"].iloc[0]
    columns = ["replicate", "step", "estimator", "param_distance"]
    paths = load_trajectories(results, "figure1", [cell_id], columns, [("replicate", "<", PATHS)])
    canvas, (left, right) = style.panels(7.2, 3.6, 2, sharey=True)
    budgets = sorted(means.budget.unique(), key=lambda b: -means.mu_mean_inverse_square[means.budget == b].iloc[0])
    _means(left, means, budgets)
    _paths(right, paths)
    title = rf"mean of {int(means.n.max())} replicates, $\alpha$ = 1/2, d = 5"
    left.set(xlabel=USERS, ylabel=r"distance  $\|\theta_i - \theta^*\|$", title=title)
    right.set(xlabel=USERS, title=rf"first {PATHS} replicates, $\mu$ = 2")
    style.shared_legend(canvas, budgets, ["sgd", "asgd"], "95% CI of the mean")
    handles = [Line2D([], [], color=PATH_COLOURS[e], label=style.NAMES[e]) for e in ("sgd", "asgd")]
    right.legend(handles=handles, loc="lower left", frameon=False)
    kept = ["budget", "estimator", "step", "mean", "ci_lo", "ci_hi", "n", "n_diverged"]
    data = pd.concat(
        [
            means[kept].assign(panel="left"),
            paths.rename(columns={"param_distance": "mean"}).assign(panel="right", budget="2"),
        ]
    )
    keys = ["panel", "budget", "estimator", "replicate", "step"]
    return Drawing(canvas, data[[*keys, "mean", "ci_lo", "ci_hi", "n", "n_diverged"]].sort_values(keys))


PATH_COLOURS = {"sgd": "#8a8a8a", "asgd": "#0b7a53"}


def _means(axes: Axes, means: pd.DataFrame, budgets: list[str]) -> None:
    for budget in budgets:
        for estimator in ("sgd", "asgd"):
            curve = means[(means.budget == budget) & (means.estimator == estimator)].sort_values("step")
            colour = style.colour_of(budget, budgets)
            axes.plot(curve.step, curve["mean"], color=colour, linestyle=style.LINE_STYLES[estimator])
            axes.fill_between(curve.step, curve.ci_lo, curve.ci_hi, color=colour, alpha=style.BAND_ALPHA, linewidth=0)
    last = means[means.step == means.step.max()]["mean"].min()
    style.reference_slope(axes, -ALPHA / 2, r"slope $-$1/4", float(means.step.max()), last * 0.55)


def _paths(axes: Axes, paths: pd.DataFrame) -> None:
    for estimator in ("sgd", "asgd"):
        for _, path in paths[paths.estimator == estimator].groupby("replicate"):
            path = path.sort_values("step")
            width = 0.7 if estimator == "sgd" else 1.2
            axes.plot(path.step, path.param_distance, color=PATH_COLOURS[estimator], linewidth=width)


FIGURE1 = Figure(
    "figure1",
    "Budgets that differ between users (left) and single paths (right).",
    "ldp-sgd",
    "Figure 1",
    ("figure1",),
    draw,
)
