"""Coverage of every method: one panel for each coordinate, one row for each method, one dot for each setting."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpexp.papers.inference.rows import COORDINATES, EXPERIMENTS, REFUSED, rows_of, rows_of_one, wilson
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.style import colour_of

BAND = (0.94, 0.96)
TITLES = {"intercept": "intercept", "slopes": "slopes (mean)", "last": "scale, or last slope"}
LADDER, STAGED = "coverage_sizes", {"staged-newton": ("-", "o"), "one-step": ("--", "s")}
"""methods -> line and marker; the colour is that of the budget"""
NOT_PRIVATE = "non-private"
SPREAD = 0.36
"""how far the dots of a method stand from the middle of its row, which are one apart"""


def draw(results: Path) -> Drawing:
    import pandas as pd
    from matplotlib import colormaps
    from matplotlib.figure import Figure as Canvas

    rows = rows_of(results)
    frame = pd.DataFrame(rows).sort_values("n", kind="stable")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    sizes = sorted(set(frame["n"]))
    colours = dict(zip(sizes, colormaps["viridis"](np.linspace(0, 0.9, len(sizes))), strict=True))
    canvas = Canvas(figsize=(10, 5.5), layout="constrained")
    panels = canvas.subplots(1, len(COORDINATES), sharey=True)
    for axes, name in zip(panels, COORDINATES, strict=True):
        axes.axvspan(*BAND, color="0.85", zorder=0)
        for k, method in enumerate(methods):
            part = frame[frame["method"] == method]
            heights = k + np.linspace(-SPREAD, SPREAD, len(part)) if len(part) > 1 else [k]
            for y, row in zip(heights, part.to_dict("records"), strict=True):
                colour, covered = colours[row["n"]], row[f"covered_{name}"]
                axes.plot(wilson(covered, row["replicates"]), (y, y), color=colour, lw=0.7)
                face = "white" if row["verdict"] == REFUSED else colour
                axes.plot(covered, y, "o", ms=3.5, color=colour, mfc=face, mew=0.8)
        axes.set(xlabel="coverage of 95% intervals", title=TITLES[name], xlim=(-0.02, 1.02))
    panels[0].set_yticks(range(len(methods)), methods)
    panels[0].invert_yaxis()
    for n in sizes:
        panels[0].plot([], [], "o", ms=4, color=colours[n], label=f"{n:,}")
    panels[0].plot([], [], "o", ms=4, color="0.4", mfc="white", label="refused")
    canvas.legend(loc="outside right upper", fontsize=8, title="users")
    columns = ["experiment", "setting", "budget", "n", "method", "replicates", "verdict"]
    return Drawing(canvas, frame[[*columns, *(f"covered_{name}" for name in COORDINATES)]])


def draw_sizes(results: Path) -> Drawing:
    """Coverage of `staged-newton` and `one-step` against n, for the settings that were run with several n."""
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    rows = [row for row in rows_of_one(results, LADDER) if row["method"] in STAGED]
    frame = pd.DataFrame(rows).sort_values("n", kind="stable")
    canvas = Canvas(figsize=(10, 3.8), layout="constrained")
    panels = canvas.subplots(1, len(COORDINATES), sharey=True)
    for axes, name in zip(panels, COORDINATES, strict=True):
        axes.axhspan(*BAND, color="0.85", zorder=0, label="0.94 to 0.96")
        for number, (names, part) in enumerate(frame.groupby(["budget", "method"], sort=True)):
            budget, method = map(str, names)
            (line, marker), shift = STAGED[method], 1.06 ** (number - 1.5)
            colour = colour_of(budget, sorted(set(frame["budget"])))
            what = f"{method}, {budget if budget == NOT_PRIVATE else f'mu = {budget}'}"
            x, y = part["n"] * shift, part[f"covered_{name}"]
            axes.plot(x, y, line, label=what, color=colour, lw=0.9, marker=marker, ms=4)
            for row in part.to_dict("records"):
                ends = wilson(row[f"covered_{name}"], row["replicates"])
                axes.plot((row["n"] * shift,) * 2, ends, color=colour, lw=0.7)
                if row["verdict"] == REFUSED:
                    axes.plot(row["n"] * shift, row[f"covered_{name}"], marker, ms=4, color=colour, mfc="white")
        axes.set(xscale="log", xlabel="users n", title=TITLES[name])
    panels[0].set_ylabel("coverage of 95% intervals")
    handles, labels = panels[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    columns = ["experiment", "setting", "budget", "n", "method", "replicates", "accepted", "verdict"]
    return Drawing(canvas, frame[[*columns, *(f"covered_{name}" for name in COORDINATES)]])


COVERAGE_FIGURE = Figure(
    "coverage",
    "Coverage of nominal 95% intervals by method, one dot for each setting, sorted and coloured by the number of users; "
    "grey: .94 to .96; lines: Wilson's 95% intervals; hollow: more than half of the runs are refused by the method's own rules.",
    "inference",
    "Coverage",
    EXPERIMENTS,
    draw,
)
SIZES_FIGURE = Figure(
    "coverage_sizes",
    "Coverage of nominal 95% intervals against the number of users, linear regression; grey: .94 to .96; lines: Wilson's "
    "95% intervals; hollow: more than half of the runs are refused by the method's own rules.",
    "inference",
    "Coverage",
    (LADDER,),
    draw_sizes,
)
