"""Coverage against the number of users, one panel for each coordinate and one colour for each method."""

from __future__ import annotations

import math
from pathlib import Path

from dpexp.papers.inference.rows import COORDINATES, EXPERIMENTS, rows_of
from dpexp.reporting.figure import Drawing, Figure

BAND = (0.94, 0.96)
TITLES = {"intercept": "intercept", "slopes": "slopes", "last": "scale, or last slope"}


def draw(results: Path) -> Drawing:
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    frame = pd.DataFrame(rows_of(results))
    methods = list(dict.fromkeys(frame["method"]))
    canvas = Canvas(figsize=(10, 4), layout="constrained")
    panels = canvas.subplots(1, len(COORDINATES), sharey=True)
    for axes, name in zip(panels, COORDINATES, strict=True):
        axes.axhspan(*BAND, color="0.85", zorder=0)
        for k, method in enumerate(methods):
            part = frame[frame["method"] == method]
            covered = part[f"covered_{name}"].to_numpy()
            # methods stand side by side at their n, settings of one n above each other
            x = part["n"].to_numpy() * 1.06 ** (k - len(methods) / 2)
            error = 1.96 * (covered * (1 - covered) / part["replicates"].to_numpy()) ** 0.5
            for refused, face in ((False, f"C{k}"), (True, "none")):
                here = (part["verdict"] == "refused").to_numpy() == refused
                axes.errorbar(
                    x[here], covered[here], error[here], fmt="o", ms=4, lw=0.8, color=f"C{k}", mfc=face,
                    label=method if not refused else None,
                )  # fmt: skip
        axes.set(xscale="log", xlabel="users", title=TITLES[name], ylim=(0, 1.02))
    panels[0].set_ylabel("coverage of 95% intervals")
    canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize=7)
    columns = ["experiment", "setting", "budget", "n", "method", "replicates", "verdict"]
    shown = frame[[*columns, *(f"covered_{name}" for name in COORDINATES)]]
    assert not shown["n"].map(math.isnan).any()
    return Drawing(canvas, shown)


COVERAGE_FIGURE = Figure(
    "coverage",
    "Coverage of nominal 95% intervals against the number of users; grey: .94 to .96; bars: binomial 95% errors; hollow: "
    "refused by the method's own rules.",
    "inference",
    "Coverage",
    EXPERIMENTS,
    draw,
)
