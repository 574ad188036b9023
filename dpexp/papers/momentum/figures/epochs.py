"""What Algorithm 2 of `momentum` saves at one path length: noise in closed form, and the gradients of runs below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpexp.papers.momentum.figures.runs import LOOKS, intervals, plain_ticks, run_legend
from dpexp.papers.momentum.levels import crossing, fixed_path_levels
from dpexp.papers.momentum.rows import EPOCHS, METHODS, epoch_rows, problem
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure


def draw(results: Path) -> Drawing:
    """Left: rms noise of a coordinate over G. Right: |grad F| over G at the last iterate. Against epochs."""
    rows: Any = epoch_rows(results)
    n, d, path = int(rows.N.iloc[0]), int(rows.d.iloc[0]), float(rows.length.iloc[0])
    p = problem(n, d)
    length = round(path * p.smoothness / p.lipschitz, 12)  # in units of G / L
    levels = {k: fixed_path_levels(n, k, length)._asdict() for k in sorted(map(int, rows.epochs.unique()))}
    rows["noise"] = [levels[int(row.epochs)][row.method] for row in rows.itertuples()]
    rows["noise_by_nodes"] = [
        levels[int(r.epochs)]["nodes" if r.method == "reduced" else "tree"] for r in rows.itertuples()
    ]
    at = crossing(n, length, tuple(sorted(levels)))

    canvas, (left, right) = style.panels(7.2, 3.7, 2, sharex=True)
    for name in ("tree", "reduced"):
        part = rows[rows.method == name]
        colour, marker = LOOKS[name]
        left.plot(part.epochs, part.noise, color=colour, marker=marker, markersize=4, label=METHODS[name])
        intervals(right, part.epochs, part, LOOKS[name])
    part = rows[rows.method == "reduced"]
    left.plot(part.epochs, part.noise_by_nodes, color=LOOKS["reduced"][0], linestyle="--", linewidth=1.0,
              label="Algorithm 2: all nodes")  # fmt: skip
    part = rows[rows.method == "tree"]
    level = part.noise.iloc[-1] * np.sqrt(part.epochs / part.epochs.iloc[-1]) * 1.25
    left.plot(part.epochs, level, ":", color="#777777", linewidth=1.1, label=r"$\propto \sqrt{K}$")
    ticks = sorted(levels)
    left.set_xticks(ticks, [str(k) for k in ticks])
    for axes in (left, right):
        axes.tick_params(axis="x", which="minor", length=0)
        plain_ticks(axes)
    noise = r"rms noise of a coordinate of $\hat m_t$ over $G$"
    left.set(xlabel="epochs $K$", ylabel=noise, title="noise, in closed form")
    right.set(xlabel="epochs $K$", ylabel=r"final $|\nabla F|$ over $G$", title="runs")
    setting = (
        rf"$N$ = {n}, $d$ = {d}, $\eta T$ = {length:g} $G/L$, $\varepsilon$ = 1, $\delta$ = $10^{{-5}}$, exact noise"
    )
    canvas.suptitle(setting, fontsize=9.5)
    run_legend(canvas, rows)
    return Drawing(canvas, rows.assign(crossing=at))


MOMENTUM_EPOCHS = Figure(
    "momentum_epochs",
    "Both algorithms at one path length as epochs grow: the noise of Algorithm 1 grows like a root, that of Algorithm "
    "2, calibrated to what its iterates give away, by half from 2 to 16 epochs, and is smaller from the start.",
    "momentum",
    "section 4 (no figure in the paper)",
    (EPOCHS,),
    draw,
)
