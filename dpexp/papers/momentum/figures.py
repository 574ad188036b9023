"""The noise of both algorithms of `momentum` against epochs, in closed form, beside runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpexp.papers.momentum.levels import crossing, fixed_path_levels
from dpexp.papers.momentum.rows import EPOCHS, METHODS, G, epoch_rows
from dpexp.problems.robust_means import RippledMean
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing

LOOKS = {"tree": ("#2b6cb8", "o"), "reduced": ("#e0701a", "s")}
"""colour and marker of a method"""


def draw(results: Path) -> Drawing:
    """Left: rms noise of a coordinate over G. Right: |grad F| over G at the last iterate. Against epochs."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator

    rows: Any = epoch_rows(results)
    n, d, path = int(rows.N.iloc[0]), int(rows.d.iloc[0]), float(rows.length.iloc[0])
    p = RippledMean(N=n, d=d)
    length = round(path * p.smoothness / p.lipschitz, 12)  # in units of G / L
    levels = {k: fixed_path_levels(n, k, length)._asdict() for k in sorted(map(int, rows.epochs.unique()))}
    rows["noise"] = [levels[int(row.epochs)][row.method] for row in rows.itertuples()]
    rows["noise_by_nodes"] = [
        levels[int(r.epochs)]["nodes" if r.method == "reduced" else "tree"] for r in rows.itertuples()
    ]
    canvas, (left, right) = style.panels(7.2, 3.7, 2, sharex=True)
    for name, (colour, marker) in LOOKS.items():
        part = rows[rows.method == name]
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4}
        left.plot(part.epochs, part.noise, **look, label=METHODS[name])
        if name == "reduced":
            left.plot(part.epochs, part.noise_by_nodes, "--", color=colour, linewidth=1, label="Algorithm 2: all nodes")
        mean, bars = part["mean"] / G, [(part["mean"] - part.ci_lo) / G, (part.ci_hi - part["mean"]) / G]
        right.errorbar(part.epochs, mean, bars, **look, linewidth=1.1, elinewidth=0.9, capsize=2)
    part = rows[rows.method == "tree"]
    # a guide of the exponent 1/2, a little above what it is compared with
    level = part.noise.iloc[-1] * np.sqrt(part.epochs / part.epochs.iloc[-1]) * 1.25
    left.plot(part.epochs, level, ":", color="#777777", linewidth=1.1, label=r"$\propto \sqrt{K}$")
    style.ticks_at(left, sorted(levels))
    for axes in (left, right):
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
    noise = r"rms noise of a coordinate of $\hat m_t$ over $G$"
    left.set(xlabel="epochs $K$", ylabel=noise, title="noise, in closed form")
    right.set(xlabel="epochs $K$", ylabel=r"final $|\nabla F|$ over $G$", title="runs")
    setting = (
        rf"$N$ = {n}, $d$ = {d}, $\eta T$ = {length:g} $G/L$, $\varepsilon$ = 1, $\delta$ = $10^{{-5}}$, exact noise"
    )
    canvas.suptitle(setting, fontsize=9.5)
    words = f"bars: 95% CI of the mean, {rows.n.max()} replicates"
    bar: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 1.1, "linestyle": ""}
    style.legend_below(canvas, 3, more=[Line2D([], [], color="#5c5c5c", label=words, **bar)])
    return Drawing(canvas, rows.assign(crossing=crossing(n, length, tuple(sorted(levels)))))


FIGURES = {"momentum_epochs": (draw, (EPOCHS,))}
