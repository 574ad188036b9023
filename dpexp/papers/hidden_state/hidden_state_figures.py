"""The figure of `hidden-state`: delta against steps, with composition in two readings of its step, and where they cross.

dia(W) = 1, C = 1, eta = 0.01, sigma = 1, p = 0.001.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.accounting.gaussian import delta_of
from dpexp.accounting.loss_steps import StepLoss, step_loss
from dpexp.accounting.search import narrow
from dpexp.privacy.analyses.hidden_state import last_iterate_delta
from dpexp.privacy.analyses.hybrid import hybrid_delta, powers
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing

if TYPE_CHECKING:
    import pandas as pd

DIAMETER, CLIP, STEP_SIZE, NOISE, Q = 1.0, 1.0, 0.01, 1.0, 0.001
REACH = (DIAMETER + 2 * STEP_SIZE * CLIP) / NOISE
CLOSE = 0.02  # relative error of the steps at a crossing


def same_mechanism() -> StepLoss:
    """A step of the figure's mechanism, batches of one: record step eta C, fixed batch size, one record replaced."""
    # the batch size is not given: batches of one record are taken, for which the record's step is largest (with b
    # records the steps at a crossing grow by b^2)
    return step_loss(Q, NOISE / (2 * STEP_SIZE * CLIP), "fixed-size")


def eta_forgotten() -> StepLoss:
    """An accountant with noise multiplier sigma / C, which forgets eta: Poisson, one record added or removed."""
    return step_loss(Q, NOISE / CLIP, "add-remove")


def limit(eps: float) -> float:
    """The bound's delta as T grows."""
    return last_iterate_delta(eps, REACH, Q, math.inf)


def crossing(composed: Callable[[int], float], level: float, first: tuple[int, int] = (1, 16)) -> float:
    """The steps, to 2%, at which an increasing delta of T steps reaches `level`; inf beyond 2^33 steps.

    `first` is where to begin to look: delta is below the level at its lower end.
    """
    low, high = first
    while composed(high) < level:
        low, high = high, 16 * high
        if high > 1 << 33:
            return math.inf
    # a delta of 10^9 steps takes half a second: few of them, on the scale of logarithms
    end = narrow(lambda log_steps: composed(round(math.exp(log_steps))) >= level, math.log(low), math.log(high),
                 absolute=CLOSE)  # fmt: skip
    return float(round(math.exp(end.above)))


COLOURS = {0.0: "#a50f4c", 0.1: "#e0701a", 0.5: "#2a9d6f", 1.0: "#2b6cb8", 2.0: "#111111"}
"""of an epsilon"""
BASELINES: dict[str, tuple[Callable[[], StepLoss], str, Any]] = {
    "same": (same_mechanism, r"baseline: the same mechanism, step $\eta C$ = 0.01", "lower left"),
    "forgotten": (eta_forgotten, r"step size ignored: multiplier $\sigma/C$ = 1", "lower right"),
}
"""a step, a title, and where the crossings are listed"""
LONGEST = 1.5e9  # steps
LOOKS: dict[str, dict[str, Any]] = {
    "bound": {"linestyle": "-", "linewidth": 1.8, "label": "main result"},
    "composition": {"linestyle": (0, (4, 1.6)), "linewidth": 1.2, "label": "composition (loss distribution)"},
    "hybrid": {"linestyle": ":", "linewidth": 1.8, "label": r"hybrid, ours (below $10^{-12}$ for $\epsilon \geq$ 0.1)"},
}


def draw(results: Path) -> Drawing:
    """Left: composition of the same mechanism and the hybrid bound. Right: the step size ignored in the baseline."""
    import pandas as pd
    from matplotlib.lines import Line2D

    canvas, panels = style.panels(7.2, 4.3, 2, sharey=True)
    data = pd.concat([_curves(name, step()) for name, (step, *_) in BASELINES.items()], ignore_index=True)
    for axes, (name, (_, title, corner)) in zip(panels, BASELINES.items(), strict=True):
        for eps, curve in data[data.baseline == name].groupby("eps"):
            colour, at = COLOURS[float(str(eps))], curve.crossing.iloc[0]
            for column, look in LOOKS.items():
                axes.plot(curve.steps, curve[column], color=colour, **{**look, "label": None})
            words = rf"$\epsilon$ = {eps:g}: $T$ = {_power(at)}"
            axes.plot([at], [curve.bound.iloc[-1]], "o", color=colour, markersize=4.5, label=words)
        axes.legend(title="crossings", loc=corner, frameon=False, fontsize=8, title_fontsize=8, handlelength=1)
        axes.set(xlim=(1, LONGEST), ylim=(1e-12, 1.0), xlabel="steps $T$", title=title)
    panels[0].set_ylabel(r"$\delta(\epsilon, T)$")
    canvas.suptitle(r"dia = 1, C = 1, $\eta$ = 0.01, $\sigma$ = 1, p = 0.001 (b = 1)", fontsize=9.5)
    handles = [Line2D([], [], color="#555555", **look) for look in LOOKS.values()]
    canvas.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return Drawing(canvas, data)


def _curves(name: str, loss: StepLoss) -> pd.DataFrame:
    """Of every epsilon the bound, composition, the hybrid of both, and the steps at which the first two cross."""
    import pandas as pd

    steps, pieces = np.unique(np.geomspace(1, LONGEST, 25).round().astype(np.int64)), []
    composed, least = [], 0.0
    # where every delta is nearly 1 there is nothing to see
    for t in map(int, steps):
        composed.append([loss.times(t).delta(eps) if least < 0.9 else np.nan for eps in COLOURS])
        least = composed[-1][-1] if least < 0.9 else least
    for k, eps in enumerate(COLOURS):
        curve = pd.DataFrame({"baseline": name, "eps": eps, "steps": steps})
        curve["bound"] = [last_iterate_delta(eps, REACH, Q, int(t)) for t in steps]
        curve["composition"], curve["hybrid"] = [row[k] for row in composed], np.nan
        if name == "same":
            # a hybrid that is worse than composition is not used, and not drawn
            hybrid = hybrid_delta(lambda t, e: loss.times(t).delta(e), lambda e: powers(delta_of(REACH, e)), steps, eps)
            curve["hybrid"] = np.minimum(hybrid, curve.composition)
        # between these two steps the crossing is looked for
        above = int(np.argmax(curve.composition.to_numpy() > limit(eps)))
        around = int(steps[above - 1]), int(steps[above])
        pieces.append(curve.assign(crossing=crossing(lambda t: loss.times(t).delta(eps), limit(eps), around)))  # noqa: B023
    return pd.concat(pieces)


def _power(value: float) -> str:
    """38, 1.4e3 as 1.4 x 10^3."""
    if value < 1000:
        return f"{value:.0f}"
    exponent = int(np.log10(value))
    return rf"${value / 10**exponent:.1f}\cdot 10^{exponent}$"


FIGURES = {"hidden_state_figure": (draw, ())}
