"""Theory laid over trajectories: bound, prediction and asymptote beside the measured mean (`dpexp plot --theory`)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.config import Cell
from dpexp.config.stored import stored_cell
from dpexp.core.text import fraction
from dpexp.papers.ldp_sgd.figures.trajectories import Plan
from dpexp.papers.ldp_sgd.predictions import asymptote, constants, decay_of, is_flat, linear, local, predicted
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure
from dpexp.store import load_parameters, load_summary
from dpexp.theory import THEOREMS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BOUNDS = {
    ("param_distance_sq", "sgd"): ("ldp-sgd/theorem-3", "Theorem 3"),
    ("param_distance_sq", "asgd"): ("ldp-sgd/theorem-4/completed", "Theorem 4, completed"),
    ("loss_gap", "sgd"): ("ldp-sgd/theorem-5/last-iterate", "Theorem 5, replaced"),
    ("loss_gap", "asgd"): ("ldp-sgd/theorem-6/completed", "Theorem 6, completed"),
}
LABELS = {
    "param_distance_sq": r"$\mathrm{E}\,\|\theta_i - \theta^*\|^2$",
    "loss_gap": r"$\mathrm{E}\,F(\theta_i) - F(\theta^*)$",
}
MOST_BUDGETS = 3
ASYMPTOTE_FROM = 30.0
"""the asymptote is drawn over this factor of steps before the end"""


def draw(experiment: str, metric: str, title: str, results: Path) -> Drawing:
    """One row for each alpha, one column for each estimator; at most three budgets, the smallest, a middle one and the largest."""
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    summary = load_summary(results, experiment, ["alpha"])
    summary = summary[summary.metric == metric]
    parameters = load_parameters(results, experiment)
    alphas = sorted(summary.alpha.unique())
    budgets = _chosen(sorted(summary.budget.unique(), key=lambda b: summary.gdp_mu[summary.budget == b].iloc[0]))
    canvas = Canvas(figsize=(7.2, 2.15 * len(alphas) + 0.9), layout="constrained")
    panels = canvas.subplots(len(alphas), 2, sharex=True, sharey=True, squeeze=False)
    pieces = []
    for row, alpha in enumerate(alphas):
        for column, estimator in enumerate(("sgd", "asgd")):
            axes = panels[row][column]
            style.log_log(axes)
            for budget in budgets:
                curve = summary[
                    (summary.alpha == alpha) & (summary.budget == budget) & (summary.estimator == estimator)
                ].sort_values("step")
                cell = stored_cell(experiment, parameters[curve.cell_id.iloc[0]])
                pieces.append(_curves(axes, curve, cell, metric, estimator, style.colour_of(budget, budgets)))
            bound = BOUNDS[metric, estimator][1] if alpha < 1 or metric == "loss_gap" else "no bound"
            axes.set_title(rf"$\alpha$ = {fraction(alpha)}, {style.NAMES[estimator]}  ({bound})", fontsize=8.5)
            axes.set_xlabel("users = steps $i$" if row == len(alphas) - 1 else "")
            axes.set_ylabel(LABELS[metric] if column == 0 else "")
    panels[0][0].set_ylim(*_limits(pieces))
    canvas.suptitle(title + ": measured and predicted", fontsize=10)
    _legend(canvas, budgets, int(summary.n.max()))
    data = pd.concat(pieces, ignore_index=True)
    return Drawing(canvas, data)


def _chosen(budgets: list[str]) -> list[str]:
    if len(budgets) <= MOST_BUDGETS:
        return budgets
    return [budgets[k] for k in (0, len(budgets) // 2, len(budgets) - 1)]


def _curves(axes: Axes, curve: pd.DataFrame, cell: Cell, metric: str, estimator: str, colour: str) -> pd.DataFrame:
    steps = curve.step.to_numpy()
    axes.plot(steps, curve["mean"], color=colour, linewidth=1.8, alpha=0.75)
    low = curve.ci_lo.clip(lower=curve["mean"].min() / 10)
    axes.fill_between(steps, low, curve.ci_hi, color=colour, alpha=style.BAND_ALPHA, linewidth=0)
    theory = theory_of_cell(cell, metric, estimator, steps)
    for name, look in LOOKS.items():
        values = theory[name]
        if values is not None:
            late = steps >= steps[-1] / ASYMPTOTE_FROM
            shown = np.where(late, values, np.nan) if name == "asymptote" else values
            axes.plot(steps, shown, color="#222222" if name == "prediction" else colour, **look)
    columns = ["alpha", "budget", "estimator", "step", "mean", "ci_lo", "ci_hi", "n", "n_diverged"]
    return curve[columns].assign(**{k: np.nan if v is None else v for k, v in theory.items()})


LOOKS: dict[str, Any] = {
    "bound": {"linestyle": (0, (5, 1.5, 1, 1.5)), "linewidth": 1.0},
    "prediction": {"linestyle": (0, (3, 1.5)), "linewidth": 0.9},
    "asymptote": {"linestyle": ":", "linewidth": 1.6},
}


def theory_of_cell(cell: Cell, metric: str, estimator: str, steps: np.ndarray) -> dict[str, np.ndarray | None]:
    """Bound, prediction and asymptote of a cell at these steps; None where the paper has none."""
    problem, schedule, budget = linear(cell.problem), cell.schedule, cell.privacy.mu
    _, alpha = decay_of(schedule)
    numbers = constants(problem, schedule, budget) | {"steps": steps}
    covered = metric == "loss_gap" or (alpha < 1 and numbers["m"] > 0)
    bound = THEOREMS[BOUNDS[metric, estimator][0]](numbers) if covered else None
    if is_flat(problem):
        return {"bound": bound, "prediction": None, "asymptote": None}
    place = local(problem, budget)
    prediction, limit = (f(place, schedule, steps).of(estimator)[metric] for f in (predicted, asymptote))
    return {"bound": bound, "prediction": prediction, "asymptote": limit if alpha < 1 else None}


def _limits(pieces: list[pd.DataFrame]) -> tuple[float, float]:
    """From below the measured curves to above the starts; bounds may leave at the top."""
    low = min(piece["mean"].clip(lower=1e-300).min() for piece in pieces)
    high = max(piece["mean"].max() for piece in pieces)
    return low / 5, high * 300


def _legend(canvas: Any, budgets: list[str], replicates: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    lines = [
        Line2D([], [], color=style.colour_of(b, budgets), label=style.budget_name(b), linewidth=2) for b in budgets
    ]
    grey = "#555555"
    names = {"bound": "bound", "prediction": "prediction (linearised)", "asymptote": "asymptote"}
    theory = [
        Line2D([], [], color="#222222" if k == "prediction" else grey, label=names[k], **look)
        for k, look in LOOKS.items()
    ]
    band = [Patch(facecolor=grey, alpha=style.BAND_ALPHA + 0.1, label=f"95% CI of mean, {replicates} reps")]
    canvas.legend(handles=[*lines, *theory, *band], loc="outside lower center", ncols=4, frameon=False)


def figure(plan: Plan) -> Figure:
    """The theory overlay of a trajectory figure."""
    metric = "loss_gap" if plan.quantity.metric == "loss_gap" else "param_distance_sq"
    caption = f"{plan.what}: measured means, bounds, linearised prediction and asymptote."
    drawn = partial(draw, plan.experiment, metric, plan.what)
    return Figure(f"{plan.name}_theory", caption, "ldp-sgd", plan.place, (plan.experiment,), drawn)
