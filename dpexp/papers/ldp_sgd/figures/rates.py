"""Table 1 of `ldp-sgd` put to the test: local exponents of the average's squared error against the number of users."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.core.text import fraction
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.slopes import local_slopes
from dpexp.store import load_cells, load_trajectories, not_as_configured
from dpexp.theory.ldp_sgd.table1 import STRONGLY, corrected_exponent, table1_exponent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Curve(NamedTuple):
    experiment: str
    label: str
    colour: str
    style: str


CURVES = (
    Curve("rates_linear", "linear", "#2b6cb8", "-"),
    Curve("rates_logistic", "logistic", "#e0701a", "-"),
    Curve("rates_quadratic", "quadratic (control)", "#2a9d6f", "--"),
    Curve("long_linear", r"linear, the paper's $\eta$ and start, $\mu$ = 1", "#a50f4c", ":"),
)
ALPHAS = (1 / 3, 2 / 3)
BAND = 0.15


def draw(results: Path) -> Drawing:
    """Left alpha = 1/3, right alpha = 2/3; horizontal lines: the printed exponent and the corrected one."""
    import pandas as pd
    from matplotlib.patches import Patch

    cells = {curve.experiment: load_cells(results, curve.experiment, ["alpha"]) for curve in CURVES}
    canvas, panels = style.panels(7.2, 3.6, 2, log=False, sharex=True, sharey=True)
    pieces = []
    for axes, alpha in zip(panels, ALPHAS, strict=True):
        for curve in CURVES:
            n, slopes, reach = _slopes(results, curve.experiment, cells[curve.experiment], alpha)
            axes.plot(n, slopes, color=curve.colour, linestyle=curve.style, label=curve.label)
            axes.fill_between(n, slopes - reach, slopes + reach, color=curve.colour, alpha=BAND, linewidth=0)
            columns = {"alpha": alpha, "experiment": curve.experiment, "step": n, "slope": slopes, "reach": reach}
            pieces.append(pd.DataFrame(columns))
        _lines(axes, alpha)
        axes.set(xscale="log", xlim=(1e2, 1e8), ylim=(-1.9, 0.1), title=rf"LDP-ASGD, $\alpha$ = {fraction(alpha)}")
        axes.set_xlabel("users = steps $n$ (middle of a decade)")
    panels[0].set_ylabel(r"slope of $\log \mathrm{E}\|\bar\theta_n - \theta^*\|^2$")
    shade = Patch(facecolor="#777777", alpha=BAND + 0.1, label="95% CI of the slope, delta method")
    style.legend_below(canvas, 2, more=[shade])
    return Drawing(canvas, pd.concat(pieces, ignore_index=True))


def _slopes(
    results: Path, experiment: str, cells: pd.DataFrame, alpha: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Local slopes of the average's mean squared error."""
    chosen = cells.cell_id[(cells.alpha - alpha).abs() < 1e-9]
    if chosen.empty:
        raise not_as_configured(results, experiment, f"no cell with alpha = {fraction(alpha)}")
    columns = ["replicate", "step", "param_distance_sq"]
    rows = load_trajectories(results, experiment, [chosen.iloc[0]], columns, [("estimator", "==", "asgd")])
    table = rows.pivot(index="step", columns="replicate", values="param_distance_sq")
    return local_slopes(table.index.to_numpy(), table.to_numpy())


def _lines(axes: Axes, alpha: float) -> None:
    printed, corrected = table1_exponent("asgd", STRONGLY, alpha), corrected_exponent("asgd", alpha)
    if printed is None or corrected is None:
        return
    for value, text in ((printed, "Table 1"), (corrected, "corrected")):
        axes.axhline(value, color="#777777", linewidth=0.9, linestyle=(0, (1, 1)))
        style.note(axes, f"{text}: {'−' + fraction(-value)}", (9e7, value), ha="right", va="bottom", color="#333333")


RATES = Figure(
    "rates",
    "Local exponents of the averaged estimator: Table 1 against the corrected rates, with a quadratic control.",
    "ldp-sgd",
    "Table 1",
    tuple(curve.experiment for curve in CURVES),
    draw,
)
