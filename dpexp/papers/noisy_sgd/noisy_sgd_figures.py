"""Figures of `noisy-sgd`: its Figure 1 beside exact laws, and every analysis of one mechanism, against the number of steps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.papers.noisy_sgd.claims.instances import HALF, MULTIPLIER, SLOPE, WIDTH, Q, opposite
from dpexp.papers.noisy_sgd.claims.lower import KNEE
from dpexp.privacy.analyses.last_iterate import composed, last_iterate
from dpexp.privacy.exact.walk import WalkLaw, renyi, shifting
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDER = 8
LOOKS: dict[str, dict[str, Any]] = {
    "composition": {"color": "#777777", "linestyle": (0, (4, 2)), "label": r"composition, $T S_\alpha$ as printed"},
    "composition_symmetrised": {"color": "#b5a27a", "linestyle": (0, (4, 2)), "label": "composition, in both orders"},
    "literal": {"color": "#e0701a", "linestyle": "-", "label": "(3.6) as printed"},
    "symmetrised": {"color": "#2b6cb8", "linestyle": "-", "label": "(3.6) repaired: in both orders"},
    "exact_pm": {"color": "#111111", "linestyle": "-", "label": r"exact law, slopes $-L$ against $+L$"},
    "exact_paper": {"color": "#2a9d6f", "linestyle": (0, (1, 1)), "label": "exact law, the paper's pair (0 against L)"},
}
BOUNDS = ("composition", "composition_symmetrised", "literal", "symmetrised")


def draw(results: Path) -> Drawing:
    """Renyi divergence of order 8; at the right how many times each bound is over the exact law of slopes -L and +L."""
    import pandas as pd

    steps = np.unique(np.geomspace(1, 1e6, 61).round().astype(np.int64))
    data = pd.DataFrame([_row(int(t)) for t in steps])
    canvas, (axes,) = style.panels(7.2, 4.6)
    for name, look in LOOKS.items():
        axes.plot(data.steps, data[name], **look)
    for name in BOUNDS:
        data[f"{name}_over_exact"] = ratio = data[name] / data.exact_pm
        last, colour = float(data[name].iloc[-1]), LOOKS[name]["color"]
        if last < 60:
            style.note(axes, f"{ratio.iloc[-1]:.0f} times", (1e6, last), (4, 0), va="center", color=colour)
    _knee(axes, 0.03)
    axes.set(ylim=(1e-3, 60), xlabel="steps $T$", ylabel=rf"Renyi divergence of order {ORDER}")
    axes.set_title("privacy loss of noisy SGD, and bounds as multiples of the exact law")
    style.legend_below(canvas, 2)
    return Drawing(canvas, data)


def _row(steps: int) -> dict[str, float]:
    zero, minus, plus = (WalkLaw(walk, steps) for walk in (shifting(HALF, [(1, 0)]), *opposite(SLOPE)))
    bounds = {s: last_iterate(ORDER, Q, MULTIPLIER, WIDTH, steps, s).rdp for s in ("literal", "symmetrised")}
    return {
        "steps": steps,
        "composition": composed(ORDER, Q, MULTIPLIER, steps, "literal"),
        "composition_symmetrised": composed(ORDER, Q, MULTIPLIER, steps, "symmetrised"),
        **bounds,
        "exact_pm": max(renyi(plus, minus, ORDER), renyi(minus, plus, ORDER)),
        "exact_paper": max(renyi(plus, zero, ORDER), renyi(zero, plus, ORDER)),
    }


def _knee(axes: Axes, height: float) -> None:
    """The line at 2 T-bar, with its name at a share of the panel's height."""
    axes.axvline(2 * KNEE, color="#999999", linewidth=0.8, linestyle=":")
    place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": "left", "va": "bottom", "color": "#555555"}
    style.note(axes, r"knee $2\bar T$", (2 * KNEE, height), (3, 0), **place)


DELTA = 1e-5
SETTING = NoisySgd(
    n=100, batch_size=1, step_size=0.1, noise_std=5.0, lipschitz=1.0, diameter=2.0, smoothness=1.0, steps=1
)
REFUSED: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 1.1}
ANALYSES: dict[str, dict[str, Any]] = {
    "contraction": {"color": "#7a4fa3", "label": "last iterate: contraction (hidden-state)"},
    "renyi-composition": {"color": "#9a9a9a", "label": "all iterates: Renyi composition"},
    "pld-composition": {"color": "#444444", "label": "all iterates: loss distribution"},
    "iteration-symmetrised": {"color": "#2b6cb8", "label": "last iterate: (3.6), repaired"},
    "iteration-mixture": {"color": "#c9a300", "label": "(3.6), larger order: not a guarantee", **REFUSED},
    "iteration-literal": {"color": "#e0701a", "label": "(3.6), as printed: not a guarantee", **REFUSED},
    "hybrid": {"color": "#a50f4c", "label": "last iterate: hybrid (ours)", "linewidth": 2.0},
    "exact-walk": {"color": "#2a9d6f", "label": "attained by a pair: a lower bound", "linewidth": 2.0},
}


def draw_analyses(results: Path) -> Drawing:
    """Epsilon at delta = 1e-5 from 1 to 10^7 steps."""
    import pandas as pd

    steps = np.unique(np.geomspace(1, 1e7, 71).round().astype(np.int64))
    data = pd.DataFrame([{"steps": n, **epsilons(int(n))} for n in steps])
    canvas, (axes,) = style.panels(7.2, 5.0)
    for name, look in ANALYSES.items():
        axes.plot(data.steps, data[name], **look)
    axes.fill_between(
        # between what a pair attains and the least that is proved
        data.steps, data["exact-walk"], data[list(UPPER)].min(axis=1), color="#2a9d6f", alpha=0.10, linewidth=0,
        label="where the true loss lies",
    )  # fmt: skip
    axes.set(xlabel="steps $T$", ylabel=r"$\epsilon$ at $\delta = 10^{-5}$", xlim=(1, 1e7), ylim=(5e-3, 500))
    s = SETTING
    axes.set_title(
        f"n = {s.n}, b = {s.batch_size}, L = {s.lipschitz:g}, D = {s.diameter:g}, $\\eta$ = {s.step_size:g}, "
        f"$\\sigma$ = {s.noise_std:g} on the gradient; one record replaced"
    )
    style.legend_below(canvas, 2)
    return Drawing(canvas, data)


def epsilons(steps: int) -> dict[str, float]:
    """Epsilon at delta of every analysis after so many steps, by name; "exact-walk" is a lower bound."""
    mechanism = SETTING.model_copy(update={"steps": steps})
    bounds = {analysis.name: analysis.eps for analysis in mechanism.upper_bounds()}
    bounds |= {bound.name: bound.eps for bound in mechanism.lower_bounds()}
    return {name: bounds[name](DELTA) if name in bounds else math.nan for name in ANALYSES}


UPPER = ("pld-composition", "renyi-composition", "iteration-symmetrised", "contraction", "hybrid")
"""analyses that are guarantees"""
FIGURES = {
    "noisy_sgd_figure1": (draw, ()),
    "privacy_analyses": (draw_analyses, ()),
}
