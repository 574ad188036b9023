"""Figures of `noisy-sgd`: its Figure 1 with exact laws, and every analysis of one mechanism, against the number of steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.papers.noisy_sgd.claims.instances import HALF, MULTIPLIER, SLOPE, WIDTH, Q, opposite
from dpexp.papers.noisy_sgd.claims.lower import KNEE
from dpexp.privacy.analyses.last_iterate import composed, last_iterate
from dpexp.privacy.exact.walk import WalkLaw, renyi, shifting
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd
from dpexp.reporting import style
from dpexp.reporting.epsilon_curves import EpsilonCurve
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
    zero, minus, plus = (WalkLaw(walk, steps) for walk in (shifting(HALF, ((1, 0),)), *opposite(SLOPE)))
    bounds = {s: last_iterate(ORDER, Q, MULTIPLIER, WIDTH, steps, s) for s in ("literal", "symmetrised")}
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
SETTING: dict[str, Any] = {
    "n": 100, "batch_size": 1, "step_size": 0.1, "noise_std": 5.0, "lipschitz": 1.0, "diameter": 2.0, "smoothness": 1.0,
}  # fmt: skip


def draw_analyses(results: Path) -> Drawing:
    """Epsilon at delta = 1e-5 from 1 to 10^7 steps, by every analysis."""
    steps = np.unique(np.geomspace(1, 1e7, 71).round()).tolist()
    settings = tuple(({"steps": n}, NoisySgd(**SETTING, steps=int(n))) for n in steps)
    return EpsilonCurve("noisy-sgd", SETTING, {"steps": steps}, (DELTA,), settings).draw()._replace(caption="")


FIGURES = {"noisy_sgd_figure1": (draw, ()), "privacy_analyses": (draw_analyses, ())}
