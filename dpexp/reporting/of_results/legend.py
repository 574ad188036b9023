"""The entries of the legend: every colour, line style, marker and shading that a figure uses, each with its meaning."""

from __future__ import annotations

from typing import Any

from dpexp.reporting import style
from dpexp.reporting.of_results import looks
from dpexp.reporting.of_results.choose import DOTS, STEP, Factor
from dpexp.reporting.of_results.labels import level_label
from dpexp.reporting.of_results.overlay import Overlay
from dpexp.reporting.of_results.scene import Scene
from dpexp.reporting.slopes import Rate


def entries(scene: Scene, overlay: Overlay | None) -> list[Any]:
    """Handles with their labels."""
    from matplotlib.lines import Line2D

    plan = scene.plan
    handles = [*_colours(scene), *_styles(scene), _band(scene)]
    if any(line.diverged for line in scene.lines):
        words = "replicates diverge" if plan.x == STEP else "replicates diverged"
        handles.append(
            Line2D([], [], color=looks.GREY, marker="x", markersize=6, markeredgewidth=1.6, linestyle="", label=words)
        )
    # what no panel shows needs no entry
    written = [scene.slopes[k] for members in scene.panels.values() if scene.marked(members) for k in members]
    for settled, words in ((True, "fitted slope, settled"), (False, "slope of the last decade, no rate")):
        if any(isinstance(found, Rate) and found.settled == settled for found in written):
            face = looks.GREY if settled else "white"
            handles.append(
                Line2D([], [], color=looks.GREY, marker="o", linestyle="", markersize=4, markerfacecolor=face,
                       label=words)
            )  # fmt: skip
    if scene.guided:
        handles.append(Line2D([], [], color="#444444", linestyle=":", linewidth=1.1, label="reference slope"))
    return handles + (overlay.handles() if overlay else [])


def _each(factor: Factor | None) -> range:
    return range(0 if factor is None else len(factor.levels))


def _colours(scene: Scene) -> list[Any]:
    from matplotlib.lines import Line2D

    hue, dotted = scene.plan.hue, scene.plan.x != STEP
    return [
        Line2D(
            [], [], color=scene.colours[k], linewidth=1.2 if dotted else 2.0, markersize=4.5,
            linestyle="" if scene.plan.x == DOTS and scene.plan.style is None else "-",
            marker=looks.MARKERS[k % len(looks.MARKERS)] if dotted and scene.plan.style is None else "",
            label=level_label(hue, k, scene.words) if hue else "",
        )
        for k in _each(hue)
    ]  # fmt: skip


def _styles(scene: Scene) -> list[Any]:
    from matplotlib.lines import Line2D

    factor, dotted = scene.plan.style, scene.plan.x != STEP
    return [
        Line2D(
            [], [], color=looks.GREY, linestyle="" if scene.plan.x == DOTS else looks.STYLES[k], markersize=4.5,
            marker=looks.MARKERS[k] if dotted else "", label=level_label(factor, k, scene.words) if factor else "",
        )
        for k in _each(factor)
    ]  # fmt: skip


def _band(scene: Scene) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    # one replicate has no interval, whose entry would promise a band
    if scene.one_replicate:
        return Line2D([], [], color=looks.GREY, marker="" if scene.plan.x == STEP else "o", label="one replicate")
    words = f"mean and 95% CI, {scene.replicates} replicates"
    if scene.plan.x == STEP:
        return Patch(facecolor=looks.GREY, alpha=style.BAND_ALPHA + 0.1, label=words)
    return Line2D([], [], color=looks.GREY, marker="|", markersize=9, linestyle="", label=words)
