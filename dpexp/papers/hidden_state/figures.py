"""Figures of `hidden-state`: delta against steps beside composition, and what is attained on bounded sets, which is a table, too."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.text import down, up
from dpexp.papers.hidden_state.slides import REACH, Q, crossing, eta_forgotten, limit, same_mechanism
from dpexp.privacy.analyses.contracted import any_loss
from dpexp.privacy.analyses.hidden_state import last_iterate_delta
from dpexp.privacy.analyses.hybrid import hybrid_delta
from dpexp.privacy.pairs.shipped import DELTA, Entry, stored
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing
from dpexp.reporting.table import Content, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0)
COLOURS = ("#a50f4c", "#e0701a", "#2a9d6f", "#2b6cb8", "#111111")
LEAST = 1e-12
BASELINES = {
    "same": (same_mechanism, r"baseline: the same mechanism, step $\eta C$ = 0.01", 1.5e9, (0.04, "left")),
    "forgotten": (eta_forgotten, r"baseline forgets $\eta$: multiplier $\sigma/C$ = 1", 1e8, (0.98, "right")),
}
LOOKS: dict[str, dict[str, Any]] = {
    "bound": {"linestyle": "-", "linewidth": 1.8},
    "composition": {"linestyle": (0, (4, 1.6)), "linewidth": 1.2},
    "hybrid": {"linestyle": ":", "linewidth": 1.8},
}


def draw(results: Path) -> Drawing:
    """Left: composition of the same mechanism and the hybrid bound. Right: the baseline that forgets eta."""
    import pandas as pd

    canvas, panels = style.panels(7.2, 4.3, 2, sharey=True)
    pieces = []
    for axes, (name, (step, title, most, corner)) in zip(panels, BASELINES.items(), strict=True):
        loss = step()
        steps = np.unique(np.geomspace(1, most, 25).round().astype(np.int64))
        composed, least = {}, 0.0
        for t in map(int, steps):  # where every delta is nearly 1 there is nothing to see
            composed[t] = [loss.delta(t, eps) if least < 0.9 else np.nan for eps in EPSILONS]
            least = composed[t][-1] if least < 0.9 else least
        mixed = _hybrid(steps) if name == "same" else None
        for k, (eps, colour) in enumerate(zip(EPSILONS, COLOURS, strict=True)):
            curve = pd.DataFrame({"baseline": name, "eps": eps, "steps": steps})
            curve["bound"] = [last_iterate_delta(eps, REACH, Q, int(t)) for t in steps]
            curve["composition"] = [composed[int(t)][k] for t in steps]
            curve["hybrid"] = np.nan if mixed is None else np.minimum(mixed[k], curve.composition)
            above = int(np.argmax(curve.composition.to_numpy() > limit(eps)))
            around = int(steps[above - 1]), int(steps[above])
            curve["crossing"] = crossing(partial(loss.delta, eps=eps), limit(eps), around)
            _curves(axes, curve, colour, corner, k)
            pieces.append(curve)
        axes.set(xlim=(1, most), ylim=(LEAST, 1.0), xlabel="steps $T$", title=title)
        place, side = corner
        axes.annotate("crossings:", (place, 0.04 + 0.05 * len(EPSILONS)), xycoords="axes fraction", ha=side, fontsize=8)
    panels[0].set_ylabel(r"$\delta(\epsilon, T)$")
    canvas.suptitle(r"dia = 1, C = 1, $\eta$ = 0.01, $\sigma$ = 1, p = 0.001 (b = 1)", fontsize=9.5)
    _legend(canvas)
    return Drawing(canvas, pd.concat(pieces, ignore_index=True))


def _curves(axes: Axes, curve: pd.DataFrame, colour: str, corner: tuple[float, str], line: int) -> None:
    """The curves of one epsilon, and where they cross as a line of the list in a corner."""
    for name, look in LOOKS.items():
        axes.plot(curve.steps, curve[name], color=colour, **look)
    at, level = curve.crossing.iloc[0], curve.bound.iloc[-1]
    axes.plot([at], [level], "o", color=colour, markersize=4.5)
    place, side = corner
    axes.annotate(
        rf"$\epsilon$ = {curve.eps.iloc[0]:g}: $T$ = {_power(at)}",
        (place, 0.04 + 0.05 * (len(EPSILONS) - 1 - line)),
        xycoords="axes fraction",
        ha=side,
        fontsize=8,
        color=colour,
    )


def _power(value: float) -> str:
    """38, 1.4e3 as 1.4 x 10^3."""
    if value < 1000:
        return f"{value:.0f}"
    exponent = int(np.log10(value))
    return rf"${value / 10**exponent:.1f}\cdot 10^{exponent}$"


def _hybrid(steps: np.ndarray) -> np.ndarray:
    """The hybrid bound at EPSILONS (axis 0) and steps (axis 1)."""
    loss = same_mechanism()
    return np.array([hybrid_delta(loss.delta, lambda e1: any_loss(e1, REACH), steps, eps) for eps in EPSILONS])


def _legend(canvas: Any) -> None:
    from matplotlib.lines import Line2D

    names = {
        "bound": "main result",
        "composition": "composition (loss distribution)",
        "hybrid": r"hybrid bound, ours (below $10^{-12}$ for $\epsilon \geq$ 0.1)",
    }
    lines = [
        Line2D([], [], color=c, linewidth=2, label=rf"$\epsilon$ = {e:g}")
        for e, c in zip(EPSILONS, COLOURS, strict=True)
    ]
    looks = [Line2D([], [], color="#555555", label=names[k], **look) for k, look in LOOKS.items()]
    dot = Line2D([], [], color="#555555", marker="o", linestyle="none", markersize=4.5, label="crossing")
    canvas.legend(handles=[*lines, *looks, dot], loc="outside lower center", ncols=3, frameon=False)


OF_MAP = {
    ("clipped", "fixed-size"): ("#a50f4c", "o"),
    ("clipped", "poisson"): ("#e0701a", "s"),
    ("clipped", "full-batch"): ("#7a4fa3", "^"),
    ("convex", "fixed-size"): ("#2b6cb8", "o"),
    ("convex", "poisson"): ("#2a9d6f", "s"),
    ("convex", "full-batch"): ("#555555", "^"),
}


def _record(entry: Entry) -> dict[str, Any]:
    space = entry.run
    return {
        "losses": "convex" if space.convex else "clipped",
        "sampling": space.sampling,
        "neighboring_relation": entry.mechanism.neighboring_relation,
        "n": space.n,
        "batch_size": space.batch_size,
        "steps": space.steps,
        "width": 2 * space.half_width,
        "reach": space.reach,
        "curvature": space.bend,
        "bound": entry.bound,
        "analysis": entry.analysis,
        "before": entry.before,
        "after": entry.after,
        "gain": entry.after / entry.before,
    }


def records() -> list[dict[str, Any]]:
    """One dict for each mechanism of the map, in its order."""
    return [_record(entry) for entry in stored()]


def _median(found: Sequence[dict[str, Any]], losses: str) -> float:
    return statistics.median(r["gain"] for r in found if r["losses"] == losses)


def build(results: Path) -> Content:
    """One row for each mechanism: what bounds its last iterate, and what pairs attain."""
    found = records()
    rows = [
        [
            r["losses"], r["sampling"], r["neighboring_relation"], f"{r['n']:,}", f"{r['batch_size']:,}",
            f"{r['steps']:,}", f"{r['width']:g}", f"{r['reach']:g}", f"{r['curvature']:g}",
            f"{up(r['bound'], 4)} ({r['analysis']})", down(r["before"], 4), down(r["after"], 4),
            f"{r['bound'] / r['before']:.3g}", f"{r['bound'] / r['after']:.3g}", f"{r['gain']:.2f}",
        ]
        for r in found
    ]  # fmt: skip
    head = ["losses", "sampling", "neighbours", "n", "b", "T", "width", "u", "eta m", "bound on eps", "before", "after"]
    head += ["bound / before", "bound / after", "gain"]
    note = (
        f"Epsilon of the last iterate at delta = {DELTA:g}; width of the set and u = eta C over the noise of one step. "
        "Before: all others do nothing. After: the worst pair that a search found, certified by two exact laws, rounded "
        f"down. Median gain: {_median(found, 'clipped'):.2f} for clipped losses, {_median(found, 'convex'):.2f} for convex ones."
    )
    return Content(head, rows, note, found)


def draw_map(results: Path) -> Drawing:
    """Bound over attained, before against after: on the diagonal a search has found nothing, at 1 nothing is left."""
    import pandas as pd

    data = pd.DataFrame(records())
    canvas, (axes,) = style.panels(5.6, 4.9)
    for (losses, sampling), (colour, marker) in OF_MAP.items():
        part = data[(data.losses == losses) & (data.sampling == sampling)]
        axes.scatter(
            part.bound / part.before, part.bound / part.after, s=26, color=colour, marker=marker, alpha=0.85,
            label=f"{losses}, {sampling}",
        )  # fmt: skip
    most = 1.6 * float((data.bound / data.before).max())
    for gain, line, words in ((1, "-", "nothing found"), (3, "--", "gain 3")):
        axes.plot([1, most], [1 / gain, most / gain], color="#999999", linewidth=1.0, linestyle=line)
        place = most / 7, most / (7 * gain)
        style.note(axes, words, place, (0, 0), rotation=45, ha="center", va="bottom", color="#666666")
    axes.set(xlim=(1, most), xlabel="bound over attained, the others do nothing")
    axes.set(ylim=(0.9, most), ylabel="bound over attained, worst pair found")
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    return Drawing(canvas, data)


ATTAINED_MAP = Table(
    "attained_map", "what the last iterate attains, before and after a search", "hidden-state", (), build
)


FIGURES = {
    "hidden_state_figure": (draw, ()),
    "attained_map": (draw_map, ()),
}
