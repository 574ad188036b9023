"""The figure of `dp-sgld`: the smallest order at which the printed Theorem 3.1 is below an exact divergence."""

from __future__ import annotations

import math
from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.papers.dp_sgld.cases import CASES
from dpexp.papers.dp_sgld.exact_law import LANGEVIN_ORDERS, QuadraticLangevin
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing

PANELS = ((0.5, 1), (0.5, 10))  # eta lambda and number of steps
SHIFTS = np.geomspace(0.2, 16, 23)
PROBABILITIES = np.geomspace(1e-4, 0.5, 14)
SHIFT_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)
MARKED = "settings of the counterexamples"
RULE = r"$8\,v\,\log(1/q)\,/\,s^2 = 128$, where $v$ is the variance of the output over that of one step's noise"
LEVELS, SHADES = (2, 16, 128), ("#8c1245", "#f0973c", "#8fb8de")


def draw_region(results: Path) -> Drawing:
    """A panel a number of steps: lines of the smallest order that fails, settings of the counterexamples as points."""
    import pandas as pd

    canvas, axes = style.panels(7.2, 3.7, 2, log=False, sharex=True, sharey=True)
    rows = []
    for panel, (eta_lambda, steps) in zip(axes, PANELS, strict=True):
        order = np.array([[failing(eta_lambda, steps, float(q), float(s)) for s in SHIFTS] for q in PROBABILITIES])
        title = rf"$\eta\lambda$ = {eta_lambda:g}, $K$ = {steps}"
        panel.set(xlim=SHIFTS[[0, -1]], ylim=PROBABILITIES[[0, -1]], xscale="log", yscale="log", title=title)
        # outside of the outermost line no order fails
        contours = panel.contour(SHIFTS, PROBABILITIES, np.minimum(order, 2 * LEVELS[-1]), levels=LEVELS, colors=SHADES)
        panel.clabel(contours, fmt="order %g", fontsize=8)
        if steps == 1:
            # order = 8 log(1/q) v / shift^2 at order 128: where the failing orders come into view
            q = np.geomspace(PROBABILITIES[0], 0.3, 60)
            shift = np.sqrt(8 * np.log(1 / q) * QuadraticLangevin(eta_lambda, 1, 0.1, 1.0).variance / 128)
            panel.plot(shift, q, color="#333333", linestyle=":", linewidth=1.1, label=RULE)
        # full batches have no place on this axis
        cases = [c for c in CASES if (c.eta * c.strong_convexity, c.steps) == (eta_lambda, steps) and c.q < 1]
        looks: dict[str, Any] = {"color": "#2b6cb8", "markeredgecolor": "white", "markersize": 7, "label": MARKED}
        panel.plot([case.shift for case in cases], [case.q for case in cases], "o", **looks)
        style.ticks_at(panel, SHIFT_TICKS)
        panel.set_xlabel("shift $s$ of one step, in sd of its noise")
        panel.grid(False)
        rows += [
            (eta_lambda, steps, s, q, order[i, j]) for i, q in enumerate(PROBABILITIES) for j, s in enumerate(SHIFTS)
        ]
    axes[0].set_ylabel("sampling probability $q$")
    style.legend_below(canvas, 1)
    return Drawing(canvas, pd.DataFrame(rows, columns=["eta_lambda", "steps", "shift", "q", "order"]))


def failing(eta_lambda: float, steps: int, q: float, shift: float) -> float:
    """The first of the tested orders that fails, inf where none does; all orders above a failing one fail."""
    bed = QuadraticLangevin(eta_lambda, steps, q, shift)
    first = bisect_left(LANGEVIN_ORDERS, True, key=lambda order: bed.ratio(order) > 1)
    return LANGEVIN_ORDERS[first] if first < len(LANGEVIN_ORDERS) else math.inf


FIGURES = {"dp_sgld_region": (draw_region, ())}
