"""Figures of `momentum`: prescribed schedules and tuned methods by runs, and the noise of both algorithms in closed form."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.papers.momentum.levels import crossing, exact_levels, fixed_path_levels, printed_levels
from dpexp.papers.momentum.rows import (
    EPOCHS,
    METHODS,
    PRESCRIBED,
    TUNED,
    VARIANTS,
    G,
    epoch_rows,
    prescribed_rows,
    problem,
    tuned_rows,
)
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LOOKS: dict[str, tuple[str, str]] = {
    "tree": ("#2b6cb8", "o"),
    "reduced": ("#e0701a", "s"),
    "square-root": ("#7a4fa3", "^"),
    "independent": ("#8fb8de", "v"),
    "plain": ("#5c5c5c", "D"),
    "recursion": ("#2a9d6f", "P"),
    "descent": ("#111111", "X"),
    "poisson": ("#a50f4c", "*"),
}
LINES: dict[str, Any] = {"paper": "-", "exact": (0, (4, 1.6)), "none": ":"}
TICKS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def draw_prescribed(results: Path) -> Drawing:
    """Left: mean over the run of |grad F| over G. Right: the last one. Against N, with 95% intervals."""
    import pandas as pd

    canvas, panels = style.panels(7.2, 4.2, 2, sharex=True)
    metrics = {"mean_grad_norm": "mean over the run", "grad_norm": "at the last iterate"}
    frames = []
    for axes, (metric, words) in zip(panels, metrics.items(), strict=True):
        rows = prescribed_rows(results, metric)
        frames.append(rows.assign(metric=metric))
        for name, short in (("tree", "Algorithm 1"), ("reduced", "Algorithm 2")):
            for kind, line in LINES.items():
                part = rows[(rows.method == name) & (rows.variant == kind)]
                intervals(axes, part.N, part, LOOKS[name], linestyle=line, label=f"{short}, {VARIANTS[kind]}")
        sizes = np.array(sorted(rows.N.unique()), dtype=float)
        level = rows["mean"][(rows.method == "tree") & (rows.variant == "none")].iloc[0] / G
        axes.plot(sizes, 0.6 * level * (sizes / sizes[0]) ** -0.5, color="#777777", linewidth=0.9, label="$N^{-1/2}$")
        axes.set_xticks(sizes, [f"{n:,.0f}" for n in sizes], rotation=30)
        axes.set(xlabel="records $N$", title=words)
        plain_ticks(axes)
    panels[0].set_ylabel(r"$|\nabla F|$ over $G$")
    canvas.suptitle(r"prescribed schedules, $d$ = 10, $\varepsilon$ = 1, $\delta$ = $10^{-5}$", fontsize=9.5)
    run_legend(canvas, frames[0])
    return Drawing(canvas, pd.concat(frames, ignore_index=True).drop(columns="epochs"))  # the schedule sets the steps


def draw_tuned(results: Path) -> Drawing:
    """Final |grad F| over G of the best setting of every method: against N, eps (infinity: without noise), and d."""
    rows = tuned_rows(results)
    canvas, panels = style.panels(7.2, 4.4, 3, sharey=True)
    private = np.isfinite(rows.eps)
    floor = float(rows["mean"][private].min()) / G / 4
    axes_of = (
        ("N", "records $N$", r"$\varepsilon$ = 1, $d$ = 10", (rows.d == 10) & (rows.eps == 1)),
        ("eps", r"$\varepsilon$", "$N$ = 2000, $d$ = 10", (rows.d == 10) & (rows.N == 2000)),
        ("d", "parameters $d$", r"$N$ = 2000, $\varepsilon$ = 1", (rows.eps == 1) & (rows.N == 2000)),
    )
    for axes, (column, words, title, chosen) in zip(panels, axes_of, strict=True):
        values = sorted(rows[chosen & private][column].unique())
        shown = [f"{v:g}" for v in values]
        if column == "eps" and not private[chosen].all():
            values, shown = [*values, 4 * values[-1]], [*shown, "no noise"]
        ratio = (values[-1] / values[0]) ** 0.012
        for k, (name, label) in enumerate(METHODS.items()):
            part = rows[chosen & (rows.method == name)].sort_values(column)
            shift = ratio ** (k - (len(METHODS) - 1) / 2)  # apart, so that equal methods can both be seen
            for lined in (True, False):
                some = part[np.isfinite(part.eps) == lined]
                at = some[column].replace(np.inf, values[-1]) * shift
                intervals(axes, at, some, LOOKS[name], linestyle="-" if lined else "", label=label if lined else None)
                for x in at[some["mean"] / G < floor]:  # full batches without noise converge to rounding errors
                    axes.annotate("", (x, 0), (x, 0.07), axes.get_xaxis_transform(),
                                  arrowprops={"arrowstyle": "->", "color": LOOKS[name][0]})  # fmt: skip
        style.ticks_at(axes, values, shown)
        axes.set(xlim=(values[0] / 1.3, values[-1] * 1.3), xlabel=words, title=title)
    panels[0].set(ylim=(floor, 1.0), ylabel=r"final $|\nabla F|$ over $G$, best of the grid")
    plain_ticks(panels[0])
    run_legend(canvas, rows)
    return Drawing(canvas, rows)


def intervals(axes: Axes, x: Any, rows: pd.DataFrame, look: tuple[str, str], **style_of: Any) -> None:
    """Means over G with their 95% intervals."""
    mean, (colour, marker) = rows["mean"], look
    axes.errorbar(
        x, mean / G, [(mean - rows.ci_lo) / G, (rows.ci_hi - mean) / G], color=colour, marker=marker, markersize=4,
        linewidth=1.1, elinewidth=0.9, capsize=2, **style_of,
    )  # fmt: skip


def plain_ticks(axes: Axes) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, written out; on a short axis at the widest even steps that give three."""
    low, high = axes.get_ylim()
    ticks = [t for t in TICKS if low <= t <= high]
    steps = iter((1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001))
    while len(ticks) < 3 and (step := next(steps, 0.0)):
        ticks = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])


def run_legend(canvas: Canvas, rows: pd.DataFrame) -> None:
    """Under the panels: methods, guides, and what the bars are."""
    from matplotlib.lines import Line2D

    handles, labels = canvas.axes[0].get_legend_handles_labels()
    entries = sorted(zip(handles, labels, strict=True), key=lambda entry: isinstance(entry[0], Line2D))
    few, most = rows.n.min(), rows.n.max()
    replicates = f"{few}" if few == most else f"{few} to {most}"
    bars = Line2D([], [], color="#5c5c5c", marker="|", markersize=9, markeredgewidth=1.1, linestyle="")
    entries.append((bars, f"bars: 95% CI of the mean, {replicates} replicates"))
    shown, words = zip(*entries, strict=True)
    canvas.legend(shown, words, loc="outside lower center", ncols=3, frameon=False)


def draw_epochs(results: Path) -> Drawing:
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


TREE, REDUCED = LOOKS["tree"][0], LOOKS["reduced"][0]


def draw_sizes(results: Path) -> Drawing:
    """Rms |noise| over G at the prescribed schedules against N, for d = 10 and 100."""
    import pandas as pd

    sizes = [round(10 ** (k / 2)) for k in range(5, 25)]
    rows = []
    for d in (10, 100):
        for n in sizes:
            printed = printed_levels(n, d, 1.0, 1e-5)
            rows.append({"d": d, "N": n, "tree_printed": printed.tree, "reduced_printed": printed.reduced})
    data = pd.DataFrame(rows)
    exact = pd.DataFrame(
        [{"d": 10, "N": n, "theorem": 6, "exact": exact_levels(n, 10, 1.0, 1e-5, 6)} for n in (300, 1000, 3000)]
        + [{"d": 10, "N": n, "theorem": 9, "exact": exact_levels(n, 10, 1.0, 1e-5, 9)} for n in (100, 300)]
    )
    canvas, (axes,) = style.panels(5.4, 3.9)
    for d, line in ((10, "-"), (100, (0, (4, 1.6)))):
        part = data[data.d == d]
        axes.plot(part.N, part.tree_printed, color=TREE, linestyle=line, label=f"Algorithm 1, printed, d = {d}")
        axes.plot(part.N, part.reduced_printed, color=REDUCED, linestyle=line, label=f"Algorithm 2, printed, d = {d}")
    for theorem, colour, name in ((6, TREE, "Algorithm 1, exact"), (9, REDUCED, "Algorithm 2, nodes exact")):
        part = exact[exact.theorem == theorem]
        axes.plot(part.N, part.exact, "o", color=colour, markersize=4, label=f"{name}, d = 10")
    size = np.array([1e4, 1e7])
    for power, words, colour in ((-1 / 2, "$N^{-1/2}$", TREE), (-2 / 3, "$N^{-2/3}$", REDUCED)):
        axes.plot(size, 0.03 * (size / size[0]) ** power, ":", color=colour, linewidth=1.1)
        style.note(axes, words, (size[1], 0.03 * 1e3**power), (3, -3), color=colour, va="center")
    axes.axhline(1.0, color="#a50f4c", linewidth=0.9)
    style.note(axes, "largest gradient $G$", (data.N.max(), 1.0), color="#a50f4c", ha="right", va="bottom")
    axes.set(xlabel="records $N$", ylabel=r"rms $|\hat m_t - m_t|$ over $G$")
    axes.set_title(r"noise at the prescribed schedules, $\varepsilon$ = 1, $\delta$ = $10^{-5}$, $L = G$")
    style.legend_below(canvas, 2)
    return Drawing(canvas, data.merge(exact, how="outer", on=["d", "N"]))


FIGURES = {
    "momentum_epochs": (draw_epochs, (EPOCHS,)),
    "momentum_sizes": (draw_sizes, ()),
    "momentum_prescribed": (draw_prescribed, (PRESCRIBED,)),
    "momentum_tuned": (draw_tuned, TUNED),
}
