"""Any stored result as a figure: panels of curves or dots with their bands, as the plan says."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.of_results import looks
from dpexp.reporting.of_results.caption import caption_of
from dpexp.reporting.of_results.choose import DOTS, MOST_ROWS, STEP
from dpexp.reporting.of_results.gather import Gathered, Source, gather, mark, name_of
from dpexp.reporting.of_results.labels import level_label, parameter_label
from dpexp.reporting.of_results.legend import entries
from dpexp.reporting.of_results.lines import Line, Theory, column_of, quartiles
from dpexp.reporting.of_results.marks import mark_diverged, mark_slopes, reference, stack
from dpexp.reporting.of_results.metrics import axis_label
from dpexp.reporting.of_results.overlay import Overlay
from dpexp.reporting.of_results.scene import MOST_MARKED, Request, Scene

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROW = 0.2
"""inches of a row of dots"""
STATISTICS = ("mean", "ci_lo", "ci_hi", "n", "n_diverged")


def draw(gathered: Gathered, request: Request | None = None) -> Drawing:
    """The figure, its numbers and its caption. Raises UsageError where it cannot be drawn as asked."""
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    scene = Scene(gathered, request or Request())
    overlay = Overlay(scene) if scene.request.theory else None
    if overlay and not overlay.names:
        raise UsageError(
            f"no theory says anything of {scene.metric} in these results",
            "theory of ldp-sgd is of param_distance_sq and loss_gap on linear predictors; see docs page figures",
        )
    handles, width = entries(scene, overlay), scene.request.width
    columns, rows = _grid(scene)
    height = _panel_height(scene, columns)
    title = looks.wrapped(scene.request.title or _title(scene), width - 0.2, 10)
    size = (width, height * rows + looks.legend_height(handles, width) + 0.18 * (title.count("\n") + 1) + 0.1)
    canvas = Canvas(figsize=size, layout="constrained")
    # rows of dots mean the same in all panels only where one factor makes them
    share_y = scene.plan.x != DOTS or len(scene.plan.rows) == 1
    panels = canvas.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False).ravel()
    # a grid that is not full ends in panels without lines
    for axes in panels[len(scene.panels) :]:
        axes.remove()
    pieces: list[pd.DataFrame] = []
    drawn = list(zip(panels, scene.panels.items(), strict=False))
    for number, (axes, (place, members)) in enumerate(drawn):
        pieces += _panel(scene, overlay, axes, members, {1: 10, 2: 7, 3: 5}.get(columns, 3))
        heading = [level_label(f, k, scene.words) for f, k in zip(scene.plan.facets, place, strict=True)]
        inches = width / columns - (0.55 if number % columns == 0 else 0.3)
        axes.set_title(looks.wrapped(" ".join(heading), inches, 8.3), fontsize=8 if columns < 4 else 7)
        _describe_axes(scene, axes, number, columns)
    limits = scene.limits()
    if limits and scene.plan.x != DOTS:
        # axes are shared, so that one panel sets the limits of all
        panels[0].set_ylim(*limits)
    elif limits:
        panels[0].set_xlim(*limits)
    if overlay:
        for axes, (_, members) in drawn:
            overlay.draw(axes, members)
        if limits and scene.y_log:
            # a bound is far above and may leave at the top; other curves stay near what is measured
            panels[0].set_ylim(limits[0] / 3, limits[1] * (30 if "bound" in overlay.names else 3))
    for axes, (_, members) in drawn if scene.guided else ():
        reference(scene, axes, members)
    for axes, (_, members) in drawn:
        if scene.plan.x == STEP:
            mark_diverged(scene, axes, members)
        elif scene.plan.x != DOTS:
            high = limits[1] if limits else math.inf
            wild = [scene.lines[k] for k in members if scene.lines[k].diverged]
            ends = [(line, float(line.rows.mean[-1])) for line in wild]
            lost = [line for line, end in ends if not (math.isfinite(end) and end <= high)]
            stack(scene, axes, [(line, scene.at(line)) for line in lost])
        if scene.marked(members):
            mark_slopes(scene, axes, members, width / columns - 1.0, height - 0.75)
    if rows > 1 and scene.plan.x != DOTS:
        canvas.supylabel(axis_label(scene.metric, scene.plan.x != STEP, scene.request.statistic), fontsize=8.5)
    canvas.suptitle(title, fontsize=10)
    looks.legend(canvas, handles, width)
    data = pd.concat(pieces, ignore_index=True)
    return Drawing(canvas, data, caption_of(scene, overlay.sources() if overlay else []))


def declared(experiment: str, request: Request, results: Path) -> Drawing:
    """A figure of a paper that is one experiment in this frame; its caption is the paper's own."""
    return draw(gather([Source(results, experiment)], request.only, partial=False), request)._replace(caption="")


def figure_of(
    sources: Sequence[Source], request: Request, theories: Callable[[], Sequence[Theory]], taken: Collection[str] = ()
) -> Figure:
    """The figure of some results, under a name that is not `taken`.

    `theories` is asked where the figure is drawn, which may be in another process: plug-ins are written by hand, and
    what they hold cannot always be sent there.
    """
    needs = tuple(dict.fromkeys(source.name for source in sources))
    wishes = request.wishes
    by = f"by_{wishes.x}" if wishes.x else ""
    marks = [mark("hue", wishes.hue), mark("facet", *wishes.facet), mark("log", request.log)]
    marks += [mark("estimator", *request.estimators), mark("only", request.only or "")]
    marks += [mark("style", wishes.style), "" if request.statistic == "mean" else request.statistic]
    marks.append("" if request.kind == "line" else request.kind)
    name = name_of(sources, taken, request.metric or "", by, "theory" if request.theory else "", *marks)
    show = partial(_drawn, tuple(sources), request, theories=theories)
    return Figure(name, "any result", "", "", needs, show, tuple(sources))


def _drawn(
    sources: tuple[Source, ...], request: Request, results: Path, theories: Callable[[], Sequence[Theory]]
) -> Drawing:
    return draw(gather(sources, request.only), replace(request, theories=tuple(theories())))


# --- the page


def _grid(scene: Scene) -> tuple[int, int]:
    """Columns and rows of panels: a full product of two facets is a grid of them, all else is filled row by row."""
    count, facets = len(scene.panels), scene.plan.facets
    # a column of a journal holds one panel
    if scene.request.width < looks.WIDTH / 2 + 0.5:
        return 1, count
    if len(facets) == 2 and len(facets[1].levels) <= 4 and count == math.prod(len(f.levels) for f in facets):
        return len(facets[1].levels), len(facets[0].levels)
    columns = 1 if count == 1 else 2 if count in (2, 4) or scene.plan.x == DOTS else 3 if count <= 9 else 4
    return columns, -(-count // columns)


def _panel_height(scene: Scene, columns: int) -> float:
    """Inches of a panel with its title and labels: rows of dots and slopes beside curves need their room."""
    if scene.plan.x == DOTS:
        most = max(len(_dot_rows(scene, members)) for members in scene.panels.values())
        if most > MOST_ROWS:
            raise UsageError(f"{most} settings are too many for one figure", "--only picks cells, such as mu=1")
        names = [name for members in scene.panels.values() for name in _row_names(scene, members)]
        lines = max(name.count("\n") + 1 for name in names)
        # a line of 7 points is a tenth of an inch high
        return 0.8 + max(ROW, 0.05 + 0.115 * lines) * most
    marked = max((len(members) for members in scene.panels.values() if scene.marked(members)), default=0)
    usual = {1: 3.4, 2: 2.6, 3: 2.2}.get(columns, 1.9)
    # no panel is higher than wide, with its title and labels
    return max(min(usual, 0.7 * scene.request.width), 1.0 + 0.125 * min(marked, MOST_MARKED))


def _row_names(scene: Scene, members: Sequence[int]) -> list[str]:
    """The labels of a panel's rows of dots, in lines that fit beside it."""
    names = [
        " ".join(level_label(f, k, scene.words) for f, k in zip(scene.plan.rows, row, strict=True))
        for row in _dot_rows(scene, members)
    ]
    return [looks.wrapped(name, 2.6, 7) for name in names]


def _title(scene: Scene) -> str:
    names = ", ".join(dict.fromkeys(source.name for source in scene.gathered.sources))
    runs = scene.gathered.runs
    same = [name for name in ("problem", "algorithm") if len({run.settings[name] for run in runs}) == 1]
    words = ", ".join(str(runs[0].settings[name]) for name in same)
    return f"{names}: {words}" if words else names


def _describe_axes(scene: Scene, axes: Axes, number: int, columns: int) -> None:
    x = scene.plan.x
    values = axis_label(scene.metric, x != STEP, scene.request.statistic)
    first, last = number % columns == 0, number + columns >= len(scene.panels)  # nothing stands below the last
    axes.tick_params(labelbottom=last)
    if x == DOTS:
        # three panels beside names of rows are narrower than the label
        here = columns < 3 or number % columns == 1
        axes.set_xlabel(values if last and here else "", fontsize=8.5)
        return
    # else one label stands beside all rows
    if len(scene.panels) <= columns:
        axes.set_ylabel(values if first else "", fontsize=8.5)
    axes.set_xlabel((_steps(scene) if x == STEP else parameter_label(x)) if last else "", fontsize=8.5)


def _steps(scene: Scene) -> str:
    cells = [run.known for run in scene.gathered.runs]
    return "steps = users" if all(cell and cell.problem.fresh_users for cell in cells) else "steps"


# --- panels


def _panel(scene: Scene, overlay: Overlay | None, axes: Axes, members: Sequence[int], ticks: int) -> list[pd.DataFrame]:
    """Draw the lines of one panel, with at most so many decades named below it; the numbers that are in it."""
    import pandas as pd

    lines = [scene.lines[k] for k in members]
    axes.set_axisbelow(True)
    if scene.plan.x == DOTS:
        _dots(scene, axes, members)
    elif scene.plan.x == STEP:
        _scales(scene, axes, ticks)
        for line in lines:
            _curve(scene, axes, line)
        if limits := scene.limits():
            out = [line for line in lines if not line.diverged and line.rows.mean[-1] > limits[1]]
            for number, line in enumerate(out):
                axes.plot([0.97 - 0.04 * number], [0.95], marker=looks.ABOVE, color=scene.colour(line), markersize=5,
                          transform=axes.transAxes)  # fmt: skip
    else:
        _scales(scene, axes, ticks)
        _sweep(scene, axes, members)
    shown = [name for name in (*scene.plan.shown, *scene.plan.implied) if name != scene.plan.x]
    pieces = []
    for k, line in zip(members, lines, strict=True):
        rows = scene.shown_rows(line)
        settings = {column_of(name): line.settings.get(name) for name in shown}
        if scene.plan.x not in (STEP, DOTS):
            settings = {column_of(scene.plan.x): line.settings[scene.plan.x], **settings}
        theory = overlay.columns(k) if overlay else {}
        numbers = {name: getattr(rows, name) for name in ("step", *STATISTICS)}
        if scene.request.kind == "box":
            numbers |= dict(zip(("q25", "q75"), quartiles(line, scene.metric), strict=True))
        pieces.append(pd.DataFrame({**settings, **numbers, **theory}))
    return pieces


def _scales(scene: Scene, axes: Axes, ticks: int) -> None:
    for which, log, most in (("x", scene.x_log, ticks), ("y", scene.y_log, 6)):
        if log:
            style.logarithmic(axes, which, most)


def _curve(scene: Scene, axes: Axes, line: Line) -> None:
    """Mean and band against the step, where they are numbers."""
    rows = scene.shown_rows(line)
    mean, low, high = (np.where(np.isfinite(ends), ends, np.nan) for ends in (rows.mean, rows.ci_lo, rows.ci_hi))
    colour, few = scene.colour(line), len(rows.step) < 8
    axes.plot(rows.step, mean, color=colour, linestyle=scene.dashes(line), linewidth=1.3, marker="." if few else "")
    if scene.y_log:
        # an interval that reaches zero would fill a logarithmic panel to its lower edge
        low = np.maximum(low, mean / 10)
    axes.fill_between(rows.step, low, high, color=colour, alpha=style.BAND_ALPHA, linewidth=0)


def _sweep(scene: Scene, axes: Axes, members: Sequence[int]) -> None:
    """Final means with their intervals against a number; joined where nothing else changes along the curve."""
    axes.set_xlim(*_ends([scene.at(line) for line in scene.lines], scene.x_log))
    for curve in scene.curves(members):
        group = sorted((scene.lines[k] for k in curve), key=scene.horizontal)
        finite = [line for line in group if math.isfinite(scene.horizontal(line))]
        # a curve through settings that differ in something else would show a trend that is none
        _points(scene, axes, finite, "none" if scene.carried(group) else scene.dashes(group[0]))
        _points(scene, axes, group[len(finite) :], "none")
    values = scene.finite_x()
    if beyond := [line for line in scene.lines if not math.isfinite(scene.horizontal(line))]:
        ticks = [*_few(values, 5), scene.at(beyond[0])]
        names = [scene.words.value(scene.plan.x, value) for value in ticks[:-1]]
        style.ticks_at(axes, ticks, [*names, scene.words.value(scene.plan.x, math.inf).replace("-", "-\n")])
    elif len(values) <= 8:
        ticks = _few(values, 6 if len(scene.panels) <= 2 else 4, scene.x_log)
        style.ticks_at(axes, ticks, [scene.words.value(scene.plan.x, value) for value in ticks])


def _ends(places: Sequence[float], log: bool) -> tuple[float, float]:
    """Limits of an axis with some room on both sides, for one place too."""
    low, high = min(places), max(places)
    if log:
        room = max((high / low) ** 0.05, 1.1)
        return low / room, high * room
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def _few(values: list[float], most: int, log: bool = True) -> list[float]:
    """Some of the values, far enough apart for their names; the first and the last among them."""
    place = np.log(values) if log and values[0] > 0 else np.array(values)
    width = (place[-1] - place[0]) / most
    # from the last value down, which has a name; then those whose names have room, the first among them
    kept = [len(values) - 1]
    for k in range(len(values) - 2, -1, -1):
        if place[kept[-1]] - place[k] >= 0.8 * width and (k == 0 or place[k] - place[0] >= 0.8 * width):
            kept.append(k)
    return [values[k] for k in reversed(kept)]


def _points(scene: Scene, axes: Axes, lines: Sequence[Line], linestyle: Any) -> None:
    """Points with bars at the places of lines. No curve goes through a line of which replicates have diverged."""
    if not lines:
        return
    x, (mean, *bars) = np.array([scene.at(line) for line in lines]), np.array([_end(scene, line) for line in lines]).T
    low, high = scene.limits() or (-math.inf, math.inf)
    wild = np.array([line.diverged > 0 for line in lines])
    look: dict[str, Any] = {"color": scene.colour(lines[0]), "marker": scene.marker(lines[0]), "markersize": 4}
    look |= {"elinewidth": 0.9, "capsize": 2}
    # a line of which replicates diverged is a gap in the curve
    axes.errorbar(x, np.where(wild, np.nan, mean), bars, linestyle=linestyle, linewidth=1.1, **look)
    lost = wild & np.isfinite(mean) & (mean <= high)
    if lost.any():
        axes.errorbar(x[lost], mean[lost], [bar[lost] for bar in bars], linestyle="none", **look)
        axes.plot(x[lost], mean[lost], "x", color=look["color"], markersize=7, markeredgewidth=1.6, zorder=4)
    for beyond, marker, height in ((mean < low, looks.BELOW, 0.05), ((mean > high) & ~wild, looks.ABOVE, 0.95)):
        for place in x[beyond]:
            axes.plot([place], [height], marker=marker, color=look["color"], markersize=5,
                      transform=axes.get_xaxis_transform())  # fmt: skip


def _end(scene: Scene, line: Line) -> tuple[float, float, float]:
    """The last mean of a line, and how far its bar reaches below and above."""
    mean, *ends = (float(column[-1]) for column in (line.rows.mean, line.rows.ci_lo, line.rows.ci_hi))
    low, high = (max(0.0, length) if math.isfinite(length) else 0.0 for length in (mean - ends[0], ends[1] - mean))
    # a bar that reaches zero would fill a logarithmic panel to its lower edge
    return mean, min(low, 0.9 * abs(mean)) if scene.y_log else low, high


def _dot_rows(scene: Scene, members: Sequence[int]) -> list[tuple[int, ...]]:
    """What stands in the rows of a panel: where one factor makes them, all of its levels, so that panels compare."""
    if len(scene.plan.rows) == 1:
        return [(k,) for k in range(len(scene.plan.rows[0].levels))]
    return sorted({tuple(factor.of(scene.lines[k].settings) for factor in scene.plan.rows) for k in members})


def _dots(scene: Scene, axes: Axes, members: Sequence[int]) -> None:
    """One row for each setting: final means with their intervals."""
    if scene.y_log:
        axes.set_xscale("log")
    rows = _dot_rows(scene, members)
    place = {row: k for k, row in enumerate(rows)}
    count = max(len(scene.colours), 1)
    low_end, high_end = scene.limits() or (-math.inf, math.inf)
    for k in members:
        line, (mean, *bars) = scene.lines[k], _end(scene, scene.lines[k])
        # lines of one row stand below each other, by their colour
        shift = 0.5 * ((scene.level(scene.plan.hue, line) + 0.5) / count - 0.5)
        y = place[tuple(factor.of(line.settings) for factor in scene.plan.rows)] + shift
        colour = scene.colour(line)
        if scene.request.kind == "box" and not line.diverged:
            low, high = quartiles(line, scene.metric)
            axes.barh([y], [high - low], left=low, height=0.36 / count, color=colour, alpha=0.45, edgecolor=colour)
        if math.isfinite(mean):
            axes.errorbar([mean], [y], xerr=[[bar] for bar in bars], fmt=scene.marker(line), color=colour, markersize=4,
                          elinewidth=0.9, capsize=2)  # fmt: skip
        across = axes.get_yaxis_transform()
        if mean < low_end:
            axes.plot([0.01], [y], marker=looks.LEFT, color=colour, markersize=5, transform=across)
        if mean > high_end and not line.diverged:
            axes.plot([0.99], [y], marker=looks.RIGHT, color=colour, markersize=5, transform=across)
        if line.diverged:
            right = not math.isfinite(mean) or mean > high_end
            where: Any = axes.get_yaxis_transform() if right else axes.transData
            axes.plot([0.98 if right else mean], [y], "x", color=colour, markersize=6, markeredgewidth=1.6,
                      transform=where, zorder=4)  # fmt: skip
    axes.set_yticks(range(len(rows)), _row_names(scene, members), fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
