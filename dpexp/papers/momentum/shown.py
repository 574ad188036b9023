"""What is shown of `momentum`: the noise of both algorithms against epochs, and tables of the tuned methods.

The noise is drawn in closed form beside runs. The methods are tuned with alpha as prescribed, and with alpha tuned too.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.papers.momentum.momentum_runs import EPOCHS, GRIDS, METHODS, TUNED, G, epoch_rows, grid_rows, tuned_rows
from dpexp.papers.momentum.noise_levels import crossing, fixed_path_levels
from dpexp.problems.robust_means import RippledMean
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing
from dpexp.reporting.text_table import Column, Content, Table, by_column

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
    canvas, (first, right) = style.panels(7.2, 3.7, 2, sharex=True)
    for name, (colour, marker) in LOOKS.items():
        part = rows[rows.method == name]
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4}
        first.plot(part.epochs, part.noise, **look, label=METHODS[name])
        if name == "reduced":
            first.plot(
                part.epochs, part.noise_by_nodes, "--", color=colour, linewidth=1, label="Algorithm 2: all nodes"
            )
        mean, bars = part["mean"] / G, [(part["mean"] - part.ci_lo) / G, (part.ci_hi - part["mean"]) / G]
        right.errorbar(part.epochs, mean, bars, **look, linewidth=1.1, elinewidth=0.9, capsize=2)
    part = rows[rows.method == "tree"]
    # a guide of the exponent 1/2 from the first point
    level = part.noise.iloc[0] * np.sqrt(part.epochs / part.epochs.iloc[0])
    first.plot(part.epochs, level, ":", color="#777777", linewidth=1.1, label=r"$\propto \sqrt{K}$")
    style.ticks_at(first, sorted(levels))
    for axes in (first, right):
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
    noise = r"rms noise of a coordinate of $\hat m_t$ over $G$"
    first.set(xlabel="epochs $K$", ylabel=noise, title="noise, in closed form")
    right.set(xlabel="epochs $K$", ylabel=r"final $|\nabla F|$ over $G$", title="runs")
    setting = (
        rf"$N$ = {n}, $d$ = {d}, $\eta T$ = {length:g} $G/L$, $\varepsilon$ = 1, $\delta$ = $10^{{-5}}$, exact noise"
    )
    canvas.suptitle(setting, fontsize=9.5)
    words = f"bars: 95% CI of the mean, {rows.n.max()} replicates"
    bar: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 1.1, "linestyle": ""}
    style.legend_below(canvas, 2, more=[Line2D([], [], color="#5c5c5c", label=words, **bar)])
    return Drawing(canvas, rows.assign(crossing=crossing(n, length, tuple(sorted(levels)))))


FIGURES = {"momentum_epochs": (draw, (EPOCHS,))}


def tuned(results: Path) -> Content:
    """Final |grad F| / G of the best setting of every method, with F and the parameter's norm beside it."""
    # the best setting of each method alone: the grids have hundreds
    best: Any = tuned_rows(results)
    records = [{str(k): v for k, v in r.items()} for r in best.to_dict("records")]
    columns: dict[str, Column] = {
        "d": "{d}",
        "eps": lambda r: "no noise" if math.isinf(r["eps"]) else f"{r['eps']:g}",
        "N": "{N:,}",
        "method": lambda r: METHODS[r["method"]],
        "grad norm / G": lambda r: f"{r['mean'] / G:#.3g} [{r['ci_lo'] / G:#.3g}, {r['ci_hi'] / G:#.3g}]",
        "F": "{objective:.4f}",
        "norm of w": "{param_norm:.3f}",
        "best of": "{settings}",
        "epochs": "{epochs:g}",
        "step": "{tuned:g}",
        "at an end": lambda r: r["ends"] or "-",
        "diverged": lambda r: f"{r['n_diverged']} of {r['n']}",
    }
    note = (
        "Rippled mean; all methods calibrated exactly to (eps, 1e-5) for replaced records, each with what is kept of a wider "
        "grid ('best of' counts the settings): the best one and the next on either side. Algorithm 2 is accounted for by its iterates, "
        "certified for every position of a record. The best setting is read off the results, which is not private. Step: "
        "length of the path, for descent eta. At an end: where the grid does not go on beyond the best setting, so that a "
        "better one may lie there. Last iterates; 95% intervals over replicates."
    )
    return by_column(columns, records, note)


def build_grid(results: Path) -> Content:
    """The rows as a table."""
    records = grid_rows(results)
    head = ["problem", "N", "eps", "method", "grad norm / G", "F", "norm of w", "epochs", "step", "alpha N", "best of"]
    head += ["at an end", "diverged"]
    rows = [
        [
            r["problem"], f"{r['N']:,}", f"{r['eps']:g}", METHODS[r["method"]] + ("" if r["iterates"] or r["method"] != "reduced" else ", by nodes"),
            f"{r['mean']:#.3g} [{r['ci_lo']:#.3g}, {r['ci_hi']:#.3g}]", f"{r['objective']:.4f}", f"{r['param_norm']:.3f}",
            f"{r['epochs']:g}", f"{r['step']:.3g}", "-" if r["method"] == "descent" else f"{r['alpha_n']:.3g}",
            f"{r['settings']}", ", ".join(r["edges"]).replace("alpha_n", "alpha") or "-", f"{r['diverged']} of {r['seeds']}",
        ]
        for r in records
    ]  # fmt: skip
    note = (
        "d = 10, delta = 1e-5, replaced records, all noise calibrated exactly: Algorithm 2 by its iterates, certified for "
        "every position of a record, or, where it says so, by the release of all nodes. Step: length of the path in G / "
        "L, for descent eta L. At an end: where the best setting is the last one of its grid. The best setting is read "
        "off the same runs, which is not private, and a little too good for every method. Last iterates; 95% intervals "
        "over replicates. At N = 100,000 only the first few epochs are tried."
    )
    return Content(head, rows, note, records)


MOMENTUM_TABLES = (
    Table("momentum_tuned", "Tuned methods", "momentum", TUNED, tuned),
    Table("momentum_grid", "Tuned methods on three problems, and at N = 100,000", "momentum", GRIDS, build_grid),
)
