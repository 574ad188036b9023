"""Every analysis of one noisy SGD against the number of steps, with what one pair of neighbours attains."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.privacy.mechanisms import NoisySgd
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure

DELTA = 1e-5
SETTING = NoisySgd(
    n=100, batch_size=1, step_size=0.1, noise_std=5.0, lipschitz=1.0, diameter=2.0, smoothness=1.0, steps=1
)
REFUSED: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 1.1}
LOOKS: dict[str, dict[str, Any]] = {
    "contraction": {"color": "#7a4fa3", "label": "last iterate: contraction (hidden-state)"},
    "renyi-composition": {"color": "#9a9a9a", "label": "all iterates: Renyi composition"},
    "pld-composition": {"color": "#444444", "label": "all iterates: loss distribution"},
    "iteration-symmetrised": {"color": "#2b6cb8", "label": "last iterate: (3.6), repaired"},
    "iteration-mixture": {"color": "#c9a300", "label": "(3.6), larger order: not a guarantee", **REFUSED},
    "iteration-literal": {"color": "#e0701a", "label": "(3.6), as printed: not a guarantee", **REFUSED},
    "hybrid": {"color": "#a50f4c", "label": "last iterate: hybrid (ours)", "linewidth": 2.0},
    "exact-walk": {"color": "#2a9d6f", "label": "attained by a pair: a lower bound", "linewidth": 2.0},
}


def draw(results: Path) -> Drawing:
    """Epsilon at delta = 1e-5 from 1 to 10^7 steps."""
    import pandas as pd

    steps = np.unique(np.geomspace(1, 1e7, 71).round().astype(np.int64))
    data = pd.DataFrame([{"steps": n, **epsilons(int(n))} for n in steps])
    canvas, (axes,) = style.panels(7.2, 5.0)
    for name, look in LOOKS.items():
        axes.plot(data.steps, data[name], **look)
    axes.fill_between(
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
    found = {analysis.name: analysis.eps for analysis in mechanism.analyses()}
    found |= {bound.name: bound.eps for bound in mechanism.lower_bounds()}
    return {name: found[name](DELTA) if name in found else math.nan for name in LOOKS}


UPPER = ("pld-composition", "renyi-composition", "iteration-symmetrised", "contraction", "hybrid")
"""analyses that are guarantees"""

PRIVACY_ANALYSES = Figure(
    "privacy_analyses",
    "Every analysis of one mechanism against the number of steps: epsilon at delta = 1e-5; dashed ones are no guarantee. "
    "n = 100 records, batch size 1, step size 0.1, noise 5 (standard deviation on the gradient), Lipschitz constant 1, "
    "diameter 2, smoothness 1. What a pair attains is a lower bound from exact laws; nothing is simulated.",
    "noisy-sgd",
    "not in the paper",
    (),
    draw,
)
