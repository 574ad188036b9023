"""Noise in the momentum at the prescribed schedules of `momentum`, in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpexp.papers.momentum.figures.runs import LOOKS
from dpexp.papers.momentum.levels import exact_levels, printed_levels
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure

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


MOMENTUM_SIZES = Figure(
    "momentum_sizes",
    "Noise in the momentum at both prescribed schedules against N, printed and exact: root mean square of the noise over "
    "the largest gradient G, d = 10 and 100, epsilon = 1, delta = 1e-5, L = G. Closed forms and exact sensitivities; "
    "nothing is simulated.",
    "momentum",
    "Theorems 6 and 9 (no figure in the paper)",
    (),
    draw_sizes,
)
