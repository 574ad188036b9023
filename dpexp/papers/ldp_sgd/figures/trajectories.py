"""Mean trajectories, one panel for each alpha: figures 2, 3 and 4 of `ldp-sgd` and their appendix versions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpexp.core.text import counted, fraction
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure
from dpexp.store import load_summary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ["alpha", "budget", "estimator", "step", "mean", "ci_lo", "ci_hi", "se", "n", "n_diverged"]


class Quantity(NamedTuple):
    """What is on the vertical axis."""

    name: str
    metric: str
    label: str
    rate: float
    """exponent of the guide, in units of alpha: the distance falls like the root of its square"""


DISTANCE = Quantity("distance", "param_distance", r"mean distance  $\mathrm{E}\,\|\theta_i - \theta^*\|$", 0.5)
GAP = Quantity("loss gap", "loss_gap", r"mean loss gap  $\mathrm{E}\,F(\theta_i) - F(\theta^*)$", 1.0)


def draw(experiment: str, quantity: Quantity, title: str, results: Path) -> Drawing:
    """One panel an alpha; colour is the budget, solid LDP-SGD, dashed LDP-ASGD, shaded the interval of the mean."""
    from matplotlib.figure import Figure as Canvas

    summary = load_summary(results, experiment, ["alpha"])
    summary = summary[summary.metric == quantity.metric]
    alphas = sorted(summary.alpha.unique())
    budgets = sorted(summary.budget.unique(), key=lambda b: summary.gdp_mu[summary.budget == b].iloc[0])
    rows = (len(alphas) + 1) // 2
    canvas = Canvas(figsize=(7.2, 2.75 * rows + 0.55), layout="constrained")
    panels = canvas.subplots(rows, 2, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, alpha in zip(panels, alphas, strict=False):
        _panel(axes, summary[summary.alpha == alpha], budgets, alpha, quantity)
    for axes in panels[len(alphas) :]:
        axes.set_visible(False)
    for k, axes in enumerate(panels[: len(alphas)]):
        axes.set_xlabel("users = steps $i$" if k >= len(alphas) - 2 else "")
        axes.set_ylabel(quantity.label if k % 2 == 0 else "")
    canvas.suptitle(title, fontsize=10)
    replicates = int(summary.n.max())
    style.shared_legend(canvas, budgets, ["sgd", "asgd"], f"95% CI of mean, {replicates} reps")
    return Drawing(canvas, summary[COLUMNS].sort_values(COLUMNS[:4], ignore_index=True))


def _panel(axes: Axes, rows: pd.DataFrame, budgets: list[str], alpha: float, quantity: Quantity) -> None:
    style.log_log(axes)
    last = float(rows.step.max())
    ends, starts = [], []
    for budget in budgets:
        colour = style.colour_of(budget, budgets)
        for estimator in ("sgd", "asgd"):
            curve = rows[(rows.budget == budget) & (rows.estimator == estimator)].sort_values("step")
            floor = curve["mean"].clip(lower=0).min() / 10
            axes.plot(curve.step, curve["mean"], color=colour, linestyle=style.LINE_STYLES[estimator])
            low = curve.ci_lo.clip(lower=floor)
            axes.fill_between(curve.step, low, curve.ci_hi, color=colour, alpha=style.BAND_ALPHA, linewidth=0)
            ends.append(curve["mean"].iloc[-1])
            starts.append(curve["mean"][curve.step >= last / style.GUIDE].iloc[0])
    diverged = int(rows.groupby(["budget", "estimator"]).n_diverged.max().sum())
    axes.set_title(
        rf"$\alpha$ = {fraction(alpha)}" + (f"   ({counted(diverged, 'replicate')} diverged)" if diverged else "")
    )
    if alpha < 1:
        exponent = quantity.rate * alpha
        text = rf"slope $-${fraction(exponent)}"
        gap = 0.5 ** (2 * quantity.rate)
        level = min(min(ends), min(starts) * style.GUIDE**-exponent) * gap  # below every curve
        style.reference_slope(axes, -exponent, text, last, level)


class Plan(NamedTuple):
    """A figure of this family: what is drawn from which experiment."""

    name: str
    experiment: str
    quantity: Quantity
    place: str
    what: str


def plans() -> list[Plan]:
    """Figures 2 to 4 for d = 5, 10, 20, and the loss gap of the linear problem, which the paper does not show."""
    found = []
    for d in (5, 10, 20):
        tail, place = ("", "") if d == 5 else (f"_d{d}", " (appendix)")
        linear, logistic = f"linear_d{d}", f"logistic_d{d}"
        found += [
            Plan(f"figure2{tail}", linear, DISTANCE, f"Figure 2{place}", f"Linear regression, d = {d}"),
            Plan(f"figure3{tail}", logistic, DISTANCE, f"Figure 3{place}", f"Logistic regression, d = {d}"),
            Plan(f"figure4{tail}", logistic, GAP, f"Figure 4{place}", f"Logistic regression, d = {d}"),
            Plan(f"linear_loss{tail}", linear, GAP, "not in the paper", f"Linear regression, d = {d}"),
        ]
    return found


def figure(plan: Plan) -> Figure:
    """The figure of a plan."""
    name, experiment, quantity, place, what = plan
    caption = (
        f"{what}: {quantity.name}; one panel for each decay rate alpha, with common random numbers for all curves."
    )
    return Figure(name, caption, "ldp-sgd", place, (experiment,), partial(draw, experiment, quantity, what))
