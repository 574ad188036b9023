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
    hue, styled, dotted = scene.plan.hue, scene.plan.style, scene.plan.x != STEP
    width, line = 1.2 if dotted else 2.0, "" if scene.plan.x == DOTS else "-"
    handles = [
        _entry(words, color=scene.colours[k], linewidth=width, markersize=4.5, linestyle="-" if styled else line,
               marker=looks.MARKERS[k % len(looks.MARKERS)] if dotted and styled is None else "")
        for k, words in enumerate(_levels(scene, hue))
    ]  # fmt: skip
    handles += [
        _entry(words, linestyle=line and looks.STYLES[k], markersize=4.5, marker=looks.MARKERS[k] if dotted else "")
        for k, words in enumerate(_levels(scene, styled))
    ]
    handles.append(_band(scene))
    if any(line.diverged for line in scene.lines):
        words = "replicates diverged" if dotted else "replicates diverge"
        handles.append(_entry(words, marker="x", markersize=6, markeredgewidth=1.6, linestyle=""))
    # what no panel shows needs no entry
    written = [scene.slopes[k] for members in scene.panels.values() if scene.marked(members) for k in members]
    for asymptotic, words in ((True, "asymptotic slope"), (False, f"slope over {scene.decade}")):
        if any(isinstance(found, Rate) and found.asymptotic == asymptotic for found in written):
            face = looks.GREY if asymptotic else "white"
            handles.append(_entry(words, marker="o", linestyle="", markersize=4, markerfacecolor=face))
    if scene.guided:
        handles.append(_entry("slope of theory, first estimator", color="#444444", linestyle=":", linewidth=1.1))
    return handles + (overlay.handles() if overlay else [])


def _levels(scene: Scene, factor: Factor | None) -> list[str]:
    return [] if factor is None else [level_label(factor, k, scene.words) for k in range(len(factor.levels))]


def _entry(words: str, **look: Any) -> Any:
    """A line or marker, grey where nothing else is said."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=words, **{"color": looks.GREY, **look})


def _band(scene: Scene) -> Any:
    from matplotlib.patches import Patch

    # one replicate has no interval, whose entry would promise a band
    if scene.one_replicate:
        return _entry("one replicate", marker="" if scene.plan.x == STEP else "o")
    kinds = {"median": "median and 95% CI", "quantiles": "median, 5% to 95%"}
    words = f"{kinds.get(scene.request.statistic, 'mean and 95% CI')}, {scene.replicates} replicates"
    if scene.plan.x == STEP:
        return Patch(facecolor=looks.GREY, alpha=style.BAND_ALPHA + 0.1, label=words)
    return _entry(words, marker="|", markersize=9, linestyle="")
