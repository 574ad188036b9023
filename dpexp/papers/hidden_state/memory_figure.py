"""What a loss that remembers attains against the width of the set, between the linear-loss law and composition."""

from __future__ import annotations

from pathlib import Path

from dpexp.papers.hidden_state.memory import CELLS, DRAWN, attained, composition, linear_law
from dpexp.privacy.exact.memory import W
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure

COLOURS = ("#2b6cb8", "#a50f4c", "#2a9d6f")


def draw(results: Path) -> Drawing:
    """Epsilon at delta = 1e-5 of the best memory on sets of these widths; closed forms and finite chains."""
    import pandas as pd

    canvas, (axes,) = style.panels(6.4, 4.9)
    records = []
    for name, colour in zip(DRAWN, COLOURS, strict=True):
        widths, line, whole = [W * k for k in CELLS], linear_law(name, "add-remove"), composition(name, 1.0)
        far = linear_law(name)
        found = [attained(name, k) for k in CELLS]
        axes.plot(widths, found, color=colour, marker="o", markersize=3.5, linewidth=1.8, label=name)
        axes.axhline(line, color=colour, linewidth=1.0, linestyle="--")
        axes.axhline(far, color=colour, linewidth=1.0, linestyle=(0, (5, 1.5, 1, 1.5)))
        axes.axhline(whole, color=colour, linewidth=1.0, linestyle=":")
        records += [
            {"setting": name, "width": w, "attained": eps, "linear": line, "linear_replaced": far, "composition": whole}
            for w, eps in zip(widths, found, strict=True)
        ]
    axes.plot([], [], color="#555555", linestyle="--", linewidth=1.0, label="linear losses, one step C apart")
    axes.plot([], [], color="#555555", linestyle=(0, (5, 1.5, 1, 1.5)), linewidth=1.0, label="linear losses, 2 C apart")
    axes.plot([], [], color="#555555", linestyle=":", linewidth=1.0, label="all iterates, C apart")
    axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axes.set(ylabel=r"$\epsilon$ of the last iterate at $\delta = 10^{-5}$", title="A clipped loss that remembers")
    axes.set_xlabel("width of the set, in standard deviations of one step's noise")
    style.legend_below(canvas, 2, fontsize=8)
    return Drawing(canvas, pd.DataFrame(records))


MEMORY_WIDTH = Figure(
    "memory_width",
    "What the last iterate of a clipped loss that remembers attains (a lower bound, solid) against the width of the set, "
    "for sampling probability q, noise multiplier z and T steps, at delta = 1e-5: beside the law of linear losses on an "
    "unbounded set, whose neighbours differ by C as the memory's do (dashed) or by 2 C (dash-dotted), and what all "
    "iterates attain, C apart (dotted). Exact finite chains; nothing is simulated.",
    "hidden-state",
    "beyond the slides",
    (),
    draw,
)
