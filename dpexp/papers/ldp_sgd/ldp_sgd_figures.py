"""Figures of `ldp-sgd` that are no declaration: Figure 1 with single paths, and local exponents (Table 1)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.text import fraction
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing
from dpexp.store.evidence import Evidence
from dpexp.store.reading import load_summary, load_trajectories, not_as_configured
from dpexp.theory.ldp_sgd.table1 import STRONGLY, corrected_exponent, table1_exponent
from dpexp.theory.slopes import local_slopes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ALPHA = 0.5  # the paper does not say; 1/2 is the middle of its range
PATHS, USERS = 5, "users = steps $i$"
LINE_STYLES: dict[str, Any] = {"sgd": "-", "asgd": (0, (4, 1.6))}
NAMES = {"sgd": "LDP-SGD", "asgd": "LDP-ASGD"}


def draw_figure1(results: Path) -> Drawing:
    """Left: mean distance for mu = 1, mu = 2 and Uniform(1, 2). Right: the first five replicates at mu = 2."""
    import pandas as pd
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    summary = load_summary(results, "figure1", ["alpha"])
    means = summary[(summary.metric == "param_distance") & ((summary.alpha - ALPHA).abs() < 1e-9)]
    if "2" not in set(means.budget):
        raise not_as_configured(results, "figure1", "no cell with alpha = 1/2 and mu = 2")
    cell_id = means.cell_id[means.budget == "2"].iloc[0]
    paths = load_trajectories(results, "figure1", [cell_id])
    paths = paths[paths.replicate < PATHS]
    canvas, (budgets_panel, right) = style.panels(7.2, 3.6, 2, sharey=True)
    # from the smallest budget, which has the most noise, to the largest
    budgets = sorted(means.budget.unique(), key=lambda b: -means.mu_mean_inverse_square[means.budget == b].iloc[0])
    colours = dict(zip(budgets, style.budget_colours(budgets), strict=True))
    _means(budgets_panel, means, colours)
    _paths(right, paths)
    title = rf"mean of {int(means.n.max())} replicates, $\alpha$ = 1/2, d = 5"
    budgets_panel.set(xlabel=USERS, ylabel=r"distance  $\|\theta_i - \theta^*\|$", title=title)
    right.set(xlabel=USERS, title=rf"first {PATHS} replicates, $\mu$ = 2")
    words = [b if b == "non-private" else rf"$\mu_i \sim$ {b}" if "(" in b else rf"$\mu$ = {b}" for b in budgets]
    lines = [Line2D([], [], color=colours[b], label=w) for b, w in zip(budgets, words, strict=True)]
    lines += [Line2D([], [], color="#555555", linestyle=look, label=NAMES[e]) for e, look in LINE_STYLES.items()]
    shade = Patch(facecolor="#555555", alpha=style.BAND_ALPHA + 0.1, label="95% CI of the mean")
    style.legend_below(canvas, 3, more=[*lines, shade])
    handles = [Line2D([], [], color=PATH_COLOURS[e], label=NAMES[e]) for e in ("sgd", "asgd")]
    right.legend(handles=handles, loc="lower left", frameon=False)
    shared = ["budget", "estimator", "step", "mean", "ci_lo", "ci_hi", "n", "n_diverged"]
    # single paths stand below means in one table, without an interval
    single = paths.rename(columns={"param_distance": "mean"}).assign(panel="right", budget="2")
    data = pd.concat([means[shared].assign(panel="left"), single])
    keys = ["panel", "budget", "estimator", "replicate", "step"]
    return Drawing(canvas, data[[*keys, "mean", "ci_lo", "ci_hi", "n", "n_diverged"]].sort_values(keys))


PATH_COLOURS = {"sgd": "#8a8a8a", "asgd": "#0b7a53"}


def _means(axes: Axes, means: pd.DataFrame, colours: dict[str, str]) -> None:
    for budget, colour in colours.items():
        for estimator in ("sgd", "asgd"):
            curve = means[(means.budget == budget) & (means.estimator == estimator)].sort_values("step")
            axes.plot(curve.step, curve["mean"], color=colour, linestyle=LINE_STYLES[estimator])
            axes.fill_between(curve.step, curve.ci_lo, curve.ci_hi, color=colour, alpha=style.BAND_ALPHA, linewidth=0)
    # below all curves, over the last decade and a half
    n = float(means.step.max())
    level = means[means.step == n]["mean"].min() * 0.55
    style.guide(axes, (n / style.GUIDE, n), level, -ALPHA / 2, r"slope $-$1/4")


def _paths(axes: Axes, paths: pd.DataFrame) -> None:
    for estimator in ("sgd", "asgd"):
        for _, path in paths[paths.estimator == estimator].groupby("replicate"):
            path = path.sort_values("step")
            width = 0.7 if estimator == "sgd" else 1.2
            axes.plot(path.step, path.param_distance, color=PATH_COLOURS[estimator], linewidth=width)


CURVES = {
    "rates_linear": ("linear", "#2b6cb8", "-"),
    "rates_logistic": ("logistic", "#e0701a", "-"),
    "rates_quadratic": ("quadratic (control)", "#2a9d6f", "--"),
    "long_linear": (r"linear, the paper's $\eta$ and start, $\mu$ = 1", "#a50f4c", ":"),
}
"""experiment -> label, colour and style of its curve"""
ALPHAS = (1 / 3, 2 / 3)
BAND = 0.15


def draw_rates(results: Path) -> Drawing:
    """Left alpha = 1/3, right alpha = 2/3; horizontal lines: the printed exponent and the corrected one."""
    import pandas as pd
    from matplotlib.patches import Patch

    evidence = Evidence(results)
    canvas, panels = style.panels(7.2, 3.6, 2, log=False, sharex=True, sharey=True)
    pieces = []
    for axes, alpha in zip(panels, ALPHAS, strict=True):
        for experiment, (label, colour, line) in CURVES.items():
            run = evidence.run(experiment, alpha=alpha)
            n, slopes, reach = local_slopes(run.steps, run.values("asgd", "param_distance_sq"))
            axes.plot(n, slopes, color=colour, linestyle=line, label=label)
            axes.fill_between(n, slopes - reach, slopes + reach, color=colour, alpha=BAND, linewidth=0)
            columns = {"alpha": alpha, "experiment": experiment, "step": n, "slope": slopes, "reach": reach}
            pieces.append(pd.DataFrame(columns))
        _lines(axes, alpha)
        axes.set(xscale="log", xlim=(1e2, 1e8), ylim=(-1.9, 0.1), title=rf"LDP-ASGD, $\alpha$ = {fraction(alpha)}")
        axes.set_xlabel("users = steps $n$ (middle of a decade)")
    panels[0].set_ylabel(r"slope of $\log \mathrm{E}\|\bar\theta_n - \theta^*\|^2$")
    shade = Patch(facecolor="#777777", alpha=BAND + 0.1, label="95% CI of the slope, delta method")
    style.legend_below(canvas, 2, more=[shade])
    return Drawing(canvas, pd.concat(pieces, ignore_index=True))


def _lines(axes: Axes, alpha: float) -> None:
    printed, corrected = table1_exponent("asgd", STRONGLY, alpha), corrected_exponent("asgd", alpha)
    if printed is None or corrected is None:
        return
    for value, text in ((printed, "Table 1"), (corrected, "corrected")):
        axes.axhline(value, color="#777777", linewidth=0.9, linestyle=(0, (1, 1)))
        style.note(axes, f"{text}: {'−' + fraction(-value)}", (9e7, value), ha="right", va="bottom", color="#333333")


FIGURES = {"figure1": (draw_figure1, ("figure1",)), "rates": (draw_rates, tuple(CURVES))}
