"""What hidden state can hide and what it cannot: a clipped loss that remembers, and the law of linear losses as a bound.

Steinke et al. (arXiv 2410.06186) take the exact law of linear losses on an unbounded set as a heuristic for the last
iterate. It is attained there. The memory of `dpexp.privacy.exact.memory` is a clipped loss without convexity on a
bounded interval whose last iterate tells more.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.accounting.linear import eps_of_scheme
from dpexp.accounting.sampling import Scheme
from dpexp.accounting.steps import step_loss
from dpexp.privacy.exact.memory import Memory, W
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing

DELTA = 1e-5


SHARE = 0.99
"""of a record's step that it keeps for itself: enough for batches of 100 max |f| / d records"""


SETTINGS = {
    "q = 0.01, z = 1, T = 1,000": (0.01, 1.0, 1000),
    "q = 0.01, z = 0.7, T = 3,000": (0.01, 0.7, 3000),
    "q = 0.001, z = 0.6, T = 10,000": (0.001, 0.6, 10_000),
    "q = 0.001, z = 0.5, T = 10,000": (0.001, 0.5, 10_000),
    "q = 0.0001, z = 0.5, T = 100,000": (1e-4, 0.5, 100_000),
}
"""sampling probability, noise over one record's norm, steps"""


DRAWN = tuple(SETTINGS)[:3]


CELLS = (2, 3, 4, 6, 9, 14, 22, 41, 70, 121, 261)
"""numbers of cells, each 12 noise units wide"""


STEPS = tuple(np.geomspace(0.06, 6.0, 16).tolist())
"""of the loss that one count of the memory stands for: the best is taken"""


FEW, LEAST_SUM, LARGEST_SUM = 4, 6.0, 40.0
"""with more cells than the first, the memory holds a total loss between these: less overflows, more is not met"""


def attained(setting: str, states: int) -> float:
    """The largest epsilon at 1e-5 of a memory on a set so many cells wide, rounded down."""
    # a wider set attains at least as much: the loss may read the projection of the place on a narrower set, and so may
    # who sees the last iterate
    return max(_of_cells(setting, k) for k in CELLS if k <= states)


@cache
def _of_cells(setting: str, states: int) -> float:
    """The largest with exactly so many cells, over the loss that one count stands for."""
    q, z, steps = SETTINGS[setting]
    # with many cells a short memory overflows and a long one is never met
    tried = [step for step in STEPS if states <= FEW or LEAST_SUM <= states * step <= LARGEST_SUM]
    return max(Memory(q, SHARE / z, step, states, steps).pair.eps(DELTA) for step in tried)


def linear_law(setting: str, scheme: Scheme = "fixed-size") -> float:
    """The same of linear losses without walls. Fixed-size: the record's slope is opposite to all others', 2 C apart."""
    q, z, steps = SETTINGS[setting]
    # the memory's neighbours differ by one C, as with `add-remove`; what holds for replace-one neighbours has to hold
    # for the most distant ones, so that these are what a bound would be
    eps = eps_of_scheme(q, z, steps, scheme)
    assert eps is not None
    return eps(DELTA)


def composition(setting: str, share: float = SHARE) -> float:
    """What all iterates attain with the record's step of the memory."""
    q, z, steps = SETTINGS[setting]
    return step_loss(q, z / share, "add-remove").attained(steps, DELTA)


COLOURS = ("#2b6cb8", "#a50f4c", "#2a9d6f")


LINES: dict[str, tuple[Any, str]] = {
    "linear": ("--", "linear losses, one step C apart"),
    "linear_replaced": ((0, (5, 1.5, 1, 1.5)), "linear losses, 2 C apart"),
    "composition": (":", "all iterates, C apart"),
}


def draw(results: Path) -> Drawing:
    """Epsilon at delta = 1e-5 of the best memory on sets of these widths; closed forms and finite chains."""
    import pandas as pd

    canvas, (axes,) = style.panels(6.4, 4.9)
    records = []
    for name, colour in zip(DRAWN, COLOURS, strict=True):
        widths, found = [W * k for k in CELLS], [attained(name, k) for k in CELLS]
        axes.plot(widths, found, color=colour, marker="o", markersize=3.5, linewidth=1.8, label=name)
        levels = {
            "linear": linear_law(name, "add-remove"),
            "linear_replaced": linear_law(name),
            "composition": composition(name, 1.0),
        }
        for level, (line, _) in LINES.items():
            axes.axhline(levels[level], color=colour, linewidth=1.0, linestyle=line)
        rows = zip(widths, found, strict=True)
        records += [{"setting": name, "width": w, "attained": eps, **levels} for w, eps in rows]
    for line, words in LINES.values():
        axes.plot([], [], color="#555555", linestyle=line, linewidth=1.0, label=words)
    axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axes.set(ylabel=r"$\epsilon$ of the last iterate at $\delta = 10^{-5}$", title="A clipped loss that remembers")
    axes.set_xlabel("width of the set, in standard deviations of one step's noise")
    style.legend_below(canvas, 2, fontsize=8)
    return Drawing(canvas, pd.DataFrame(records))


FIGURES = {"memory_width": (draw, ())}
