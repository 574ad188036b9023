"""What is written into the panels of curves: fitted slopes beside their ends, a reference slope, what diverged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.text import fraction
from dpexp.reporting import style
from dpexp.reporting.of_results.lines import Line
from dpexp.reporting.of_results.scene import Scene
from dpexp.reporting.slopes import Rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 6.5
"""size of the slopes' digits"""
LINE_HEIGHT = 1.25 * POINTS / 72
"""inches from one of them to the next"""
NARROW = 0.28
"""share of a panel's width that half of these words may take"""
WORDS = 0.1
"""share of a panel's height that the words under a reference slope take"""


def spread(places: Sequence[float], gap: float) -> np.ndarray:
    """Places in 0 to 1 moved apart to at least `gap`, in the same order; those that touch lie around their mean."""
    from scipy.optimize import isotonic_regression

    order, found = np.argsort(places, kind="stable"), np.empty(len(places))
    # less what the labels below each one take, places have to rise and nothing else
    below = min(gap, 1 / max(len(places) - 1, 1)) * np.arange(len(places))
    risen = isotonic_regression(np.clip(places, 0, 1)[order] - below).x
    found[order] = np.clip(risen, 0, 1 - below[-1]) + below
    return found


def mark_slopes(scene: Scene, axes: Axes, members: Sequence[int], width: float, height: float) -> None:
    """The fitted slope of every line to the right of its end: filled where it is asymptotic, else hollow.

    `width` and `height` are those of the panel in inches, near enough.
    """
    low, high = axes.get_ylim()
    marked = []
    for k in members:
        found, end = scene.slopes[k], float(scene.lines[k].rows.mean[-1])
        # a leader to an end beyond the panel would cross what stands there
        if isinstance(found, Rate) and low <= end <= high:
            marked.append((k, found, math.log(end / low) / math.log(high / low)))
    if not marked:
        return
    # the digits of neighbouring curves would lie on each other
    places = spread([place for *_, place in marked], LINE_HEIGHT / height)
    leader, dot, digits = (1 + inches / width for inches in (0.08, 0.11, 0.15))
    for (k, found, place), y in zip(marked, places, strict=True):
        colour = scene.colour(scene.lines[k])
        axes.plot([1.0, leader], [place, y], transform=axes.transAxes, color=colour, linewidth=0.6, clip_on=False)
        axes.plot([dot], [y], "o", transform=axes.transAxes, clip_on=False, markersize=3, markeredgewidth=0.8,
                  color=colour, markerfacecolor=colour if found.asymptotic else "white")  # fmt: skip
        axes.annotate(f"{found.last.slope:.2f}".replace("-", "\u2212"), (digits, y), xycoords="axes fraction",
                      fontsize=POINTS, va="center", color=colour)  # fmt: skip


def reference(scene: Scene, axes: Axes, members: Sequence[int]) -> None:
    """A dotted guide below all curves of the panel, over the last decade and a half."""
    slope = scene.guide(members)
    if slope is None:
        return
    lines = [scene.lines[k] for k in members if not scene.lines[k].diverged]
    last = max((float(line.rows.step[-1]) for line in lines), default=0.0)
    levels = []
    for line in lines:
        rows = line.rows.at(line.rows.step >= last / style.GUIDE)
        # where a guide that touches the curve here is at the last step
        below = rows.mean * (rows.step / last) ** -slope
        levels.append(float(np.min(below)) if len(below) else math.inf)
    # below every curve of the last decade and a half
    level = min(levels, default=math.inf) * 0.6
    if not math.isfinite(level) or level <= 0:
        return
    start = max(last / style.GUIDE, min(float(line.rows.step[line.rows.step > 0][0]) for line in lines))
    axes.plot([start, last], [level * (start / last) ** slope, level], ":", color="#444444", linewidth=1.1, zorder=1.5)
    low, high = axes.get_ylim()
    lowest = min(level, level * (start / last) ** slope)
    # room below the guide for its words
    axes.set_ylim(min(low, lowest / (high / low) ** WORDS), high)
    left, right = axes.get_xlim()
    middle = math.log((start * last) ** 0.5 / left) / math.log(right / left)
    text = rf"slope $-${fraction(-slope)}" if slope < 0 else f"slope {fraction(slope)}"
    along, under = max(middle, NARROW), ("center" if middle < 2 * NARROW else "right")
    where = math.exp(math.log(left) + along * math.log(right / left))
    beside = level * ((start * last) ** 0.5 / last) ** slope if under == "right" else lowest
    axes.annotate(text, (where, beside), xytext=(0, -3), textcoords="offset points", ha=under, va="top", fontsize=8,
                  color="#333333")  # fmt: skip


def mark_diverged(scene: Scene, axes: Axes, members: Sequence[int]) -> None:
    """A cross where a line leaves the panel because replicates diverge, and how many.

    Where no number is left to draw, the crosses stand below each other at the upper edge.
    """
    low, high = axes.get_ylim()
    wild = [scene.lines[k] for k in members if scene.lines[k].diverged]
    lost = []
    for line in wild:
        rows = scene.shown_rows(line)
        seen = rows.at(np.isfinite(rows.mean) & (rows.mean <= high) & (rows.mean >= low))
        if len(seen.step):
            _cross(axes, float(seen.step[-1]), float(seen.mean[-1]), scene.colour(line), axes.transData)
        else:
            lost.append(line)
    stack(scene, axes, [(line, float(scene.shown_rows(line).step[0])) for line in lost])


def stack(scene: Scene, axes: Axes, lost: Sequence[tuple[Line, float]]) -> None:
    """Crosses of lines at their places on the horizontal axis, from the upper edge downwards.

    Their counts stand beside them where there is one place only.
    """
    places = [x for _, x in lost]
    for number, (line, x) in enumerate(lost):
        above = places[:number].count(x)
        y = 0.96 - above * min(0.07, 0.9 / max(places.count(x), 1))
        _cross(axes, x, y, scene.colour(line), axes.get_xaxis_transform())
        if len(set(places)) > 1:
            # the counts of neighbours would touch; the caption has them
            continue
        axes.annotate(f"{line.diverged} of {line.replicates}", (x, y), xycoords=axes.get_xaxis_transform(),
                      xytext=(5, 0) if _left(axes, x) else (-5, 0), textcoords="offset points", va="center",
                      ha="left" if _left(axes, x) else "right", fontsize=POINTS, color=scene.colour(line))  # fmt: skip


def _left(axes: Axes, x: float) -> bool:
    """Whether a place lies in the left half of the panel."""
    return bool(axes.transAxes.inverted().transform(axes.transData.transform((x, axes.get_ylim()[0])))[0] < 0.5)


def _cross(axes: Axes, x: float, y: float, colour: str, transform: Any) -> None:
    axes.plot([x], [y], "x", color=colour, markersize=5, markeredgewidth=1.5, transform=transform, zorder=4)
