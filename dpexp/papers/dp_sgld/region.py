"""Where Theorem 3.1 of `dp-sgld` fails: the smallest order at which the printed bound is below an exact divergence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpexp.core.roots import first_whole
from dpexp.papers.dp_sgld.cases import CASES
from dpexp.papers.dp_sgld.exact_law import LANGEVIN_ORDERS, QuadraticLangevin
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = ((0.5, 1), (0.5, 10))
"""eta lambda and number of steps"""
SHIFTS = np.geomspace(0.2, 16, 23)
PROBABILITIES = np.geomspace(1e-4, 0.5, 14)
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)
MARKED = "settings of docs/dp-sgld.md"
LEVELS = (1.5, 2, 4, 8, 16, 32, 64, 128)


def draw(results: Path) -> Drawing:
    """A panel a number of steps: order by colour (white: none to 128 fails), settings of the table as points."""
    import pandas as pd
    from matplotlib.colors import BoundaryNorm

    canvas, axes = style.panels(7.2, 3.7, 2, log=False, sharex=True, sharey=True)
    frames = []
    for panel, (eta_lambda, steps) in zip(axes, PANELS, strict=True):
        order = np.array([[failing(eta_lambda, steps, float(q), float(s)) for s in SHIFTS] for q in PROBABILITIES])
        shown = np.ma.masked_invalid(order)
        norm = BoundaryNorm(LEVELS, 256)
        mesh = panel.pcolormesh(
            _edges(SHIFTS), _edges(PROBABILITIES), shown, norm=norm, cmap="inferno", shading="flat", rasterized=True
        )
        if steps == 1:
            _rule(panel, eta_lambda)
        # full batches have no place on this axis
        cases = [c for c in CASES if (c.eta * c.strong_convexity, c.steps) == (eta_lambda, steps) and c.q < 1]
        for k, case in enumerate(cases):
            label = "" if k else MARKED
            panel.plot(case.shift, case.q, "o", color="#2b6cb8", markeredgecolor="white", markersize=7, label=label)
        panel.set(xlim=_edges(SHIFTS)[[0, -1]], ylim=_edges(PROBABILITIES)[[0, -1]], xscale="log", yscale="log")
        style.ticks_at(panel, TICKS)
        title = rf"$\eta\lambda$ = {eta_lambda:g}, $K$ = {steps}"
        panel.set(xlabel="shift $s$ of one step, in sd of its noise", title=title)
        panel.grid(False)
        grid = [
            (eta_lambda, steps, s, q, order[i, j]) for i, q in enumerate(PROBABILITIES) for j, s in enumerate(SHIFTS)
        ]
        frames.append(pd.DataFrame(grid, columns=["eta_lambda", "steps", "shift", "q", "order"]))
    axes[0].set_ylabel("sampling probability $q$")
    bar = canvas.colorbar(mesh, ax=axes, ticks=LEVELS)
    bar.set_label("smallest order that fails (white: none to 128)")
    bar.ax.set_yticklabels([f"{level:g}" for level in LEVELS])
    style.legend_below(canvas, 1)
    return Drawing(canvas, pd.concat(frames))


def failing(eta_lambda: float, steps: int, q: float, shift: float) -> float:
    """The first of the tested orders that fails, inf where none does; all orders above a failing one fail."""
    bed = QuadraticLangevin(eta_lambda, steps, q, shift)
    first = first_whole(lambda k: bed.ratio(LANGEVIN_ORDERS[k]) > 1, -1, len(LANGEVIN_ORDERS))
    return LANGEVIN_ORDERS[first] if first < len(LANGEVIN_ORDERS) else math.inf


def _edges(centres: np.ndarray) -> np.ndarray:
    """Borders of cells around centres on a log scale, [len + 1]."""
    step = centres[1] / centres[0]
    return np.append(centres, centres[-1] * step) / math.sqrt(step)


def _rule(axes: Axes, eta_lambda: float) -> None:
    """order = 8 log(1/q) v / shift^2 at order 128: where the failing orders come into view."""
    q = np.geomspace(PROBABILITIES[0], 0.3, 60)
    shift = np.sqrt(8 * np.log(1 / q) * QuadraticLangevin(eta_lambda, 1, 0.1, 1.0).variance / 128)
    words = r"$8\,v\,\log(1/q)\,/\,s^2 = 128$, where $v$ is the variance of the output over that of one step's noise"
    axes.plot(shift, q, color="#333333", linestyle=":", linewidth=1.1, label=words)


FIGURES = {"dp_sgld_region": (draw, ())}
