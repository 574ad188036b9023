"""Coverage of every method: one panel for each coordinate, one block for each method, one dot for each setting."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpexp.papers.inference.rows import COORDINATES, EXPERIMENTS, REFUSED, rows_of, rows_of_one, wilson
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure

BAND = (0.94, 0.96)
TITLES = {"intercept": "intercept", "slopes": "slopes (mean)", "last": "scale, or last slope"}
LADDER, STAGED = "coverage_sizes", {"staged-newton": ("-", "o"), "one-step": ("--", "s")}
"""methods -> line and marker; the colour is that of the budget"""
NOT_PRIVATE = "non-private"
COLOURS = {"holds": "#2a9d6f", "conservative": "#2b6cb8", "fails": "#a50f4c", REFUSED: "#777777"}
"""of a verdict, which is about all coordinates together"""
SHARES = (0, 0.5, 0.8, 0.9, 0.95, 1)
NEAR = 0.03
GAP = 3
"""rows between two methods"""


def draw(results: Path) -> Drawing:
    """A block of rows for each method, as high as it has settings, so that no dot hides another one."""
    import pandas as pd

    rows = rows_of(results)
    frame = pd.DataFrame(rows).sort_values("n", kind="stable")
    blocks = [(method, frame[frame["method"] == method]) for method in dict.fromkeys(row["method"] for row in rows)]
    canvas, panels = style.panels(10, 8.2, len(COORDINATES), log=False, sharey=True)
    ticks, words, top = [], [], 0
    for k, (method, part) in enumerate(blocks):
        ticks.append(top + (len(part) - 1) / 2)
        words.append(f"{method}\n{int((part['verdict'] == 'fails').sum())} of {len(part)} fail")
        for axes, name in zip(panels, COORDINATES, strict=True):
            if k % 2:
                axes.axhspan(top - GAP / 2, top + len(part) + GAP / 2, color="0.96", zorder=0)
            for y, row in enumerate(part.to_dict("records"), top):
                colour, covered = COLOURS[row["verdict"]], row[f"covered_{name}"]
                axes.plot(wilson(covered, row["replicates"]), (y, y), color=colour, lw=0.7)
                face = "white" if row["verdict"] == REFUSED else colour
                axes.plot(covered, y, "o", ms=2.8, color=colour, mfc=face, mew=0.8)
        top += len(part) + GAP
    for axes, name in zip(panels, COORDINATES, strict=True):
        axes.axvspan(*BAND, color="0.82", zorder=0)
        axes.set_xscale("function", functions=(_stretched, _unstretched))
        axes.set(xlabel="coverage of 95% intervals", title=TITLES[name], xlim=(-0.04, 1.001))
        axes.set_xticks(SHARES, [f"{share:g}" for share in SHARES])
        axes.grid(axis="y", visible=False)
    panels[0].set_yticks(ticks, words)
    panels[0].set_ylim(top, -GAP)
    for verdict, colour in COLOURS.items():
        face = "white" if verdict == REFUSED else colour
        panels[0].plot([], [], "o", ms=4, color=colour, mfc=face, label=verdict)
    style.legend_below(canvas, len(COLOURS))
    columns = ["experiment", "setting", "budget", "n", "method", "replicates", "verdict"]
    return Drawing(canvas, frame[[*columns, *(f"covered_{name}" for name in COORDINATES)]])


def _stretched(share: np.ndarray) -> np.ndarray:
    """A scale on which shares near 1 have room: the logarithm of one less the share, moved so that 1 has a place."""
    return -np.log(1 + NEAR - np.asarray(share))


def _unstretched(place: np.ndarray) -> np.ndarray:
    return 1 + NEAR - np.exp(-np.asarray(place))


def draw_sizes(results: Path) -> Drawing:
    """Coverage of `staged-newton` and `one-step` against n, for the settings that were run with several n."""
    import pandas as pd

    rows = [row for row in rows_of_one(results, LADDER) if row["method"] in STAGED]
    frame = pd.DataFrame(rows).sort_values("n", kind="stable")
    canvas, panels = style.panels(10, 3.8, len(COORDINATES), log=False, sharey=True)
    for axes, name in zip(panels, COORDINATES, strict=True):
        axes.axhspan(*BAND, color="0.85", zorder=0, label="0.94 to 0.96")
        for number, (names, part) in enumerate(frame.groupby(["budget", "method"], sort=True)):
            budget, method = map(str, names)
            (line, marker), shift = STAGED[method], 1.06 ** (number - 1.5)
            colour = style.colour_of(budget, sorted(set(frame["budget"])))
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
    style.legend_below(canvas, 5, fontsize=8)
    columns = ["experiment", "setting", "budget", "n", "method", "replicates", "accepted", "verdict"]
    return Drawing(canvas, frame[[*columns, *(f"covered_{name}" for name in COORDINATES)]])


COVERAGE_FIGURE = Figure(
    "coverage",
    "Coverage of nominal 95% intervals by method, one dot for each setting, with the fewest users above; the scale is "
    "stretched towards 1. Colour: whether every single coordinate of the setting covers as promised; grey: .94 to .96; "
    "lines: Wilson's 95% intervals; hollow: more than half of the runs are refused by the method's own rules.",
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
