"""Noise in the momentum, in closed form: what Algorithm 2 of `momentum` saves, and what prescribed schedules need."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpexp.algorithms.momentum_levels import crossing, exact_levels, fixed_path_levels, printed_levels
from dpexp.figures import style
from dpexp.figures.figure import Drawing, Figure

N, LENGTH = 1000, 2.2
EPOCHS = (2, 4, 8, 16, 32, 64, 128)
TREE, REDUCED, GUIDE = "#2b6cb8", "#e0701a", "#777777"


def draw_epochs(results: Path) -> Drawing:
    """Std of a coordinate of the noise, over G, against epochs at one path length; the crossing marked."""
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    levels = [fixed_path_levels(N, k, LENGTH) for k in EPOCHS]
    data = pd.DataFrame({"epochs": EPOCHS, "tree": [v.tree for v in levels], "reduced": [v.reduced for v in levels]})
    canvas = Canvas(figsize=(4.6, 3.4), layout="constrained")
    axes = canvas.subplots()
    style.log_log(axes)
    axes.plot(data.epochs, data.tree, "o-", color=TREE, markersize=4, label="Algorithm 1: tree")
    axes.plot(data.epochs, data.reduced, "s-", color=REDUCED, markersize=4, label="Algorithm 2: reduced sensitivity")
    guide = data.tree.iloc[-1] * np.sqrt(data.epochs / data.epochs.iloc[-1]) * 1.25
    axes.plot(data.epochs, guide, ":", color=GUIDE, linewidth=1.1, label=r"$\propto \sqrt{K}$")
    at = crossing(N, LENGTH)
    level = float(np.exp(np.interp(np.log(at), np.log(data.epochs), np.log(data.reduced))))
    axes.axvline(at, ymax=0.7, color="#999999", linewidth=0.8, linestyle="--")
    axes.annotate(f"equal at {at:.0f} epochs", (at, level), (8, -22), textcoords="offset points", fontsize=8)
    axes.set_xticks(EPOCHS, [str(k) for k in EPOCHS])
    axes.set_yticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
    axes.set_ylim(data.tree.min() * 0.8, data[["tree", "reduced"]].to_numpy().max() * 2.2)
    axes.set_xlabel("epochs $K$")
    axes.set_ylabel(r"rms noise of one coordinate of $\hat m_t$ over $G$")
    axes.set_title(rf"$N$ = {N}, $\eta T$ = {LENGTH} $G/L$, $\varepsilon$ = 1, $\delta$ = $10^{{-5}}$, exact noise")
    axes.legend(frameon=False, loc="upper left")
    return Drawing(canvas, data.assign(crossing=at))


def draw_sizes(results: Path) -> Drawing:
    """Rms |noise| over G at the prescribed schedules against N, for d = 10 and 100."""
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

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
    canvas = Canvas(figsize=(5.4, 3.9), layout="constrained")
    axes = canvas.subplots()
    style.log_log(axes)
    for d, line in ((10, "-"), (100, (0, (4, 1.6)))):
        part = data[data.d == d]
        axes.plot(part.N, part.tree_printed, color=TREE, linestyle=line, label=f"Algorithm 1, printed, d = {d}")
        axes.plot(part.N, part.reduced_printed, color=REDUCED, linestyle=line, label=f"Algorithm 2, printed, d = {d}")
    for theorem, colour, name in ((6, TREE, 1), (9, REDUCED, 2)):
        part = exact[exact.theorem == theorem]
        axes.plot(part.N, part.exact, "o", color=colour, markersize=4, label=f"Algorithm {name}, exact, d = 10")
    size = np.array([1e4, 1e7])
    for power, words, colour in ((-1 / 2, "$N^{-1/2}$", TREE), (-2 / 3, "$N^{-2/3}$", REDUCED)):
        axes.plot(size, 0.03 * (size / size[0]) ** power, ":", color=colour, linewidth=1.1)
        end = size[1], 0.03 * 1e3**power
        axes.annotate(words, end, (3, -3), textcoords="offset points", fontsize=8, color=colour, va="center")
    axes.axhline(1.0, color="#a50f4c", linewidth=0.9)
    axes.annotate("largest gradient $G$", (data.N.max(), 1.0), (0, 3), textcoords="offset points", fontsize=8,
                  color="#a50f4c", ha="right", va="bottom")  # fmt: skip
    axes.set_xlabel("records $N$")
    axes.set_ylabel(r"rms $|\hat m_t - m_t|$ over $G$")
    axes.set_title(r"noise at the prescribed schedules, $\varepsilon$ = 1, $\delta$ = $10^{-5}$, $L = G$")
    canvas.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return Drawing(canvas, data.merge(exact, how="outer", on=["d", "N"]))


MOMENTUM_EPOCHS = Figure(
    "momentum_epochs",
    "Noise in the momentum against epochs at one path length: it grows like a root in Algorithm 1, not in Algorithm 2.",
    "momentum",
    "section 4 (no figure in the paper)",
    (),
    draw_epochs,
)
MOMENTUM_SIZES = Figure(
    "momentum_sizes",
    "Noise in the momentum at both prescribed schedules against N, printed and exact.",
    "momentum",
    "Theorems 6 and 9 (no figure in the paper)",
    (),
    draw_sizes,
)
