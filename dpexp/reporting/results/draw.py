"""Any declaration as a figure: panels of curves, points or rows of dots with their bands, and one legend.

(a) A panel for every combination of levels of what makes panels; axes are shared. (b) What is beyond the axes is marked
at their edge: a cross where replicates diverged, else an arrow. (c) Theory: its curves, or a reference slope. (d) The
legend has every colour, line style, marker and shading of the figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.text import fraction
from dpexp.reporting import style
from dpexp.reporting.digits import from_to
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.results.caption import caption_of
from dpexp.reporting.results.declaration import DOTS, STEP, WIDTH, Declaration
from dpexp.reporting.results.gather import Gathered, Source, gather, mark, name_of
from dpexp.reporting.results.labels import parameter_label, parameters, value_label
from dpexp.reporting.results.lines import CLOSURE, Line, Theory, column_of, quartiles
from dpexp.reporting.results.metrics import TERM, axis_label
from dpexp.reporting.results.scene import Scene, kind_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROW = 0.2
"""inches of a row of dots"""
MOST_ROWS = 200
LATE = 30.0
"""an asymptote, and a reference slope, is drawn over this factor of steps before the end"""
NO_THEORY = (
    "theory of ldp-sgd is of param_distance_sq and loss_gap on linear predictors, with noise that does not depend on "
    "the gradient (delta = 0 has not); see docs page figures"
)


def declared(
    experiments: Sequence[str], declaration: Declaration, theories: Sequence[Theory], results: Path
) -> Drawing:
    """A figure of a paper that is a declaration; its caption is the paper's own.

    Raises ResultsMissing where the results have other settings than the declaration names.
    """
    sources = [Source(results, name) for name in experiments]
    settings = (*declaration.panel, declaration.colour, declaration.style)
    gathered = gather(
        sources, declaration.where or None, False, [s for s in settings if s not in ("", "estimator", TERM)]
    )
    return draw(gathered, declaration, theories)._replace(caption="")


def figure_of(
    sources: Sequence[Source],
    figure: Declaration,
    theories: Callable[[], Sequence[Theory]],
    others: Collection[str] = (),
) -> Figure:
    """The figure of some results, under a name that is none of `others`.

    `theories` is called in the process that draws: what plug-ins hold cannot always be sent there.
    """
    marks = [f"by_{figure.x}" if figure.x else "", "theory" if figure.theory else "", mark("hue", figure.colour),
             mark("facet", *figure.panel), mark("log", figure.log), mark("estimator", *figure.estimators),
             mark("only", figure.where), mark("style", figure.style),
             figure.statistic.replace("mean", ""), figure.kind.replace("line", "")]  # fmt: skip
    needs = tuple(dict.fromkeys(source.name for source in sources))
    function = partial(_draw_sources, tuple(sources), figure, theories)
    return Figure(name_of(sources, others, figure.y, *marks), "any result", "", "", needs, function, tuple(sources))


def _draw_sources(
    sources: tuple[Source, ...], declaration: Declaration, theories: Callable[[], Sequence[Theory]], results: Path
) -> Drawing:
    return draw(gather(sources, declaration.where or None), declaration, tuple(theories()))


def draw(gathered: Gathered, declaration: Declaration | None = None, theories: Sequence[Theory] = ()) -> Drawing:
    """The figure, its numbers and its caption. Raises UsageError where it cannot be drawn as declared."""
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    scene = Scene(gathered, declaration or Declaration(), theories)
    width = scene.declared.width
    if scene.declared.theory and not scene.theory_names:
        raise UsageError(f"no theory says anything of {scene.metric} in these results", NO_THEORY)
    columns, rows = _grid(scene)
    title, handles = style.wrapped(scene.declared.title or _title(scene), width - 0.2, 10), _entries(scene)
    extra = style.legend_height(handles, width) + 0.18 * title.count("\n") + 0.3
    canvas = Canvas(figsize=(width, _height(scene, columns) * rows + extra), layout="constrained")
    # rows of dots may differ from panel to panel
    share_y = scene.x != DOTS or len({tuple(_dot_rows(scene, lines)) for lines in scene.panels.values()}) == 1
    panels = canvas.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False).ravel()
    for axes in panels[len(scene.panels) :]:
        axes.remove()
    # axes are shared, so that one panel sets the limits of all; with room for a bound, which may leave at the top
    low, high = scene.limits
    if scene.kinds and scene.y_log:
        low, high = low / 3, high * (30 if "bound" in scene.kinds else 3)
    panels[0].set(**{"xlim" if scene.x == DOTS else "ylim": (low, high)})
    for number, (axes, (place, lines)) in enumerate(zip(panels, scene.panels.items(), strict=False)):
        words = ", ".join(scene.label(f, k) for f, k in zip(scene.plan.panels, place, strict=True))
        inches = width / columns - (0.55 if number % columns == 0 else 0.3)
        axes.set_title(style.wrapped(words, inches, 8.3), fontsize=8 if columns < 4 else 7)
        axes.set_axisbelow(True)
        (_dots if scene.x == DOTS else _curves)(scene, axes, lines, {1: 10, 2: 7, 3: 5}.get(columns, 3))
        _describe_axes(scene, axes, number, columns)
    # they make room below the curves of all panels
    for axes, lines in zip(panels, scene.panels.values(), strict=False):
        _reference(scene, axes, lines)
    if rows > 1 and scene.x != DOTS:
        canvas.supylabel(axis_label(scene.metric, scene.x != STEP, scene.declared.statistic), fontsize=8.5)
    canvas.suptitle(title, fontsize=10)
    style.legend(canvas, handles, width)
    data = pd.concat([_numbers(scene, line) for lines in scene.panels.values() for line in lines], ignore_index=True)
    return Drawing(canvas, data, caption_of(scene), parameters(scene.gathered))


def _numbers(scene: Scene, line: Line) -> pd.DataFrame:
    """What is drawn of a line: its settings, its rows and the curves of theory."""
    import pandas as pd

    rows = scene.rows(line)
    names = dict.fromkeys([*((scene.x,) if scene.swept else ()), *scene.plan.names, *scene.plan.implied])
    numbers = {name: getattr(rows, name) for name in ("step", "mean", "ci_lo", "ci_hi", "n", "n_diverged")}
    if scene.declared.statistic != "mean":
        numbers = {"median" if name == "mean" else name: values for name, values in numbers.items()}
    if scene.declared.kind == "box":
        numbers |= dict(zip(("q25", "q75"), quartiles(line), strict=True))
    curves = {kind_of(name): values for name, values in scene.curves.get(id(line), {}).items()}
    theory = {kind: curves.get(kind, math.nan) for kind in scene.kinds}
    return pd.DataFrame({**{column_of(name): line.settings.get(name) for name in names}, **numbers, **theory})


# --- (a)


def _grid(scene: Scene) -> tuple[int, int]:
    """Columns and rows of panels: a full product of two factors is a grid of them, others are filled row by row."""
    count, factors = len(scene.panels), scene.plan.panels
    # a column of a journal holds one panel
    if scene.declared.width < WIDTH / 2 + 0.5:
        return 1, count
    if len(factors) == 2 and len(factors[1].levels) <= 4 and count == math.prod(len(f.levels) for f in factors):
        return len(factors[1].levels), len(factors[0].levels)
    columns = 1 if count == 1 else 2 if count in (2, 4) or scene.x == DOTS else 3 if count <= 9 else 4
    return columns, -(-count // columns)


def _height(scene: Scene, columns: int) -> float:
    """Inches of a panel with its title and labels: rows of dots need their room."""
    if scene.x != DOTS:
        return min({1: 3.4, 2: 2.6, 3: 2.2}.get(columns, 1.9), 0.7 * scene.declared.width)
    panels = [_row_names(scene, lines) for lines in scene.panels.values()]
    if (rows := max(map(len, panels))) > MOST_ROWS:
        raise UsageError(f"{rows} settings are too many for one figure", "--only picks cells, such as mu=1")
    # a line of 7 points is a tenth of an inch high
    return 0.8 + rows * max(ROW, 0.05 + 0.115 * max(name.count("\n") + 1 for names in panels for name in names))


def _title(scene: Scene) -> str:
    runs = scene.gathered.runs
    names = ", ".join(dict.fromkeys(source.name for source in scene.gathered.sources))
    same = [str(runs[0].settings[name]) for name in ("problem", "algorithm")
            if len({run.settings[name] for run in runs}) == 1]  # fmt: skip
    return f"{names}: {', '.join(same)}" if same else names


def _describe_axes(scene: Scene, axes: Axes, number: int, columns: int) -> None:
    values = axis_label(scene.metric, scene.x != STEP, scene.declared.statistic)
    last = number + columns >= len(scene.panels)  # no panel is below it
    axes.tick_params(labelbottom=last)
    if scene.x == DOTS:
        # three panels beside names of rows are narrower than the label
        axes.set_xlabel(values if last and (columns < 3 or number % columns == 1) else "", fontsize=8.5)
        return
    if len(scene.panels) <= columns:
        axes.set_ylabel(values if number == 0 else "", fontsize=8.5)
    cells = [run.known for run in scene.gathered.runs]
    steps = "steps = users" if all(cell and cell.problem.fresh_users for cell in cells) else "steps"
    axes.set_xlabel((steps if scene.x == STEP else parameter_label(scene.x)) if last else "", fontsize=8.5)


def _curves(scene: Scene, axes: Axes, lines: Sequence[Line], ticks: int) -> None:
    """Curves against the step, or points against a setting, with at most so many decades named below them."""
    for which, log, decades in (("x", scene.x_log, ticks), ("y", scene.y_log, 6)):
        if log:
            style.logarithmic(axes, which, decades)
    if scene.swept:
        for group in scene.groups(lines):
            _points(scene, axes, group)
        _sweep_axis(scene, axes)
    else:
        for line in lines:
            _curve(scene, axes, line)
    _theory(scene, axes, lines)


def _curve(scene: Scene, axes: Axes, line: Line) -> None:
    """Mean and band against the step, where they are numbers."""
    rows, colour = scene.rows(line), scene.colour(line)
    mean, low, high = (np.where(np.isfinite(ends), ends, np.nan) for ends in (rows.mean, rows.ci_lo, rows.ci_hi))
    marker = "." if len(rows.step) < 8 else ""
    axes.plot(rows.step, mean, color=colour, linestyle=scene.dashes(line), linewidth=1.3, marker=marker)
    # an interval that reaches zero would fill a logarithmic panel to its lower edge
    low = np.maximum(low, mean / 10) if scene.y_log else low
    axes.fill_between(rows.step, low, high, color=colour, alpha=style.BAND_ALPHA, linewidth=0)
    inside = np.flatnonzero(np.isfinite(mean) & (mean >= scene.limits[0]) & (mean <= scene.limits[1]))
    last = int(inside[-1]) if len(inside) else 0
    _edge(scene, axes, line, float(rows.step[last]), float(mean[last]))


def _points(scene: Scene, axes: Axes, lines: Sequence[Line]) -> None:
    """Final means with their bars against a setting; joined where nothing else changes along the curve."""
    x, (mean, *bars) = np.array([scene.at(line) for line in lines]), np.array([_end(scene, line) for line in lines]).T
    # a line with diverged replicates is a gap in the curve, and infinity is beyond it
    mean = np.where([line.diverged > 0 for line in lines], np.nan, mean)
    look: dict[str, Any] = {"color": scene.colour(lines[0]), "marker": scene.marker(lines[0]), "markersize": 4,
                            "linewidth": 1.1, "elinewidth": 0.9, "capsize": 2}  # fmt: skip
    finite = sum(math.isfinite(scene.horizontal(line)) for line in lines)
    joined = "none" if scene.carried(lines) else scene.dashes(lines[0])
    for part, dashes in ((slice(finite), joined), (slice(finite, None), "none")):
        if len(x[part]):
            axes.errorbar(x[part], mean[part], [bar[part] for bar in bars], linestyle=dashes, **look)
    for line, place in zip(lines, x, strict=True):
        _edge(scene, axes, line, float(place), line.last[0])


def _end(scene: Scene, line: Line) -> tuple[float, float, float]:
    """The last mean of a line, and how far its bar reaches below and above."""
    mean, _, *ends = line.last
    low, high = (max(0.0, length) if math.isfinite(length) else 0.0 for length in (mean - ends[0], ends[1] - mean))
    return mean, min(low, 0.9 * abs(mean)) if scene.y_log else low, high


def _sweep_axis(scene: Scene, axes: Axes) -> None:
    """Room on both sides, and the names of few values and of infinity."""
    values, places = scene.finite_x, [scene.at(line) for line in scene.lines]
    low, high = min(places), max(places)
    room = max((high / low) ** 0.05, 1.1) if scene.x_log else 0.05 * (high - low) or 0.5
    axes.set_xlim(*((low / room, high * room) if scene.x_log else (low - room, high + room)))
    beyond = [line for line in scene.lines if not math.isfinite(scene.horizontal(line))]
    if not beyond and len(values) > 8:
        return
    # from the last value down those whose names have room, the first among them
    place = np.log(values) if scene.x_log else np.array(values)
    width = 0.8 * (place[-1] - place[0]) / (5 if beyond or len(scene.panels) <= 2 else 4)
    ticks = [len(values) - 1]
    for k in range(len(values) - 2, -1, -1):
        if place[ticks[-1]] - place[k] >= width and (k == 0 or place[k] - place[0] >= width):
            ticks.append(k)
    numbers = [values[k] for k in reversed(ticks)]
    names = [value_label(scene.x, value, scene.words) for value in numbers]
    if beyond:
        numbers.append(scene.at(beyond[0]))
        names.append(value_label(scene.x, math.inf, scene.words).replace(" ", "\n"))
    style.ticks_at(axes, numbers, names)


def _dot_rows(scene: Scene, lines: Sequence[Line]) -> list[tuple[int, ...]]:
    """The rows of a panel: where one factor makes them, all of its levels, so that panels compare."""
    if len(scene.plan.rows) == 1:
        return [(k,) for k in range(len(scene.plan.rows[0].levels))]
    return sorted({tuple(factor.of(line.settings) for factor in scene.plan.rows) for line in lines})


def _row_names(scene: Scene, lines: Sequence[Line]) -> list[str]:
    """In lines that fit beside the panel."""
    names = [[scene.label(f, k) for f, k in zip(scene.plan.rows, row, strict=True)] for row in _dot_rows(scene, lines)]
    return [style.wrapped(", ".join(name), 2.6, 7) for name in names]


def _dots(scene: Scene, axes: Axes, lines: Sequence[Line], ticks: int) -> None:
    """A row for each setting: final means with their intervals, or boxes."""
    if scene.y_log:
        axes.set_xscale("log")
    rows, count = _dot_rows(scene, lines), len(scene.colours)
    for line in lines:
        (mean, *bars), colour = _end(scene, line), scene.colour(line)
        # lines of one row are below each other, by their colour
        row = rows.index(tuple(factor.of(line.settings) for factor in scene.plan.rows))
        y = row + 0.5 * ((scene.level(scene.plan.colour, line) + 0.5) / count - 0.5)
        if scene.declared.kind == "box" and not line.diverged:
            low, high = quartiles(line)
            axes.barh([y], [high - low], left=low, height=0.36 / count, color=colour, alpha=0.45, edgecolor=colour)
        if math.isfinite(mean):
            axes.errorbar([mean], [y], xerr=[[bar] for bar in bars], fmt=scene.marker(line), color=colour, markersize=4,
                          elinewidth=0.9, capsize=2)  # fmt: skip
        for values in scene.curves.get(id(line), {}).values():
            ends = [y - 0.24 / count, y + 0.24 / count]
            axes.plot([values[-1]] * 2, ends, color="black", linewidth=1.1, zorder=5, gid="theory")
        _edge(scene, axes, line, y, mean, across=True)
    axes.set_yticks(range(len(rows)), _row_names(scene, lines), fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)


# --- (b)


def _edge(scene: Scene, axes: Axes, line: Line, place: float, value: float, across: bool = False) -> None:
    """A cross where replicates of a line diverged, an arrow where its last value is beyond the axis of values."""
    low, high = scene.limits
    up, down = (">", "<") if across else ("^", "v")
    arrow = up if line.last[0] > high else down if line.last[0] < low else ""
    if line.diverged or arrow:
        value = min(max(value, low), high) if math.isfinite(value) else high
        point = ([value], [place]) if across else ([place], [value])
        look: dict[str, Any] = {"markersize": 6, "markeredgewidth": 1.5, "clip_on": False, "zorder": 4}
        axes.plot(*point, "x" if line.diverged else arrow, color=scene.colour(line), **look)


# --- (c)


def _theory(scene: Scene, axes: Axes, lines: Sequence[Line]) -> None:
    """The curves of one panel: against the step, or the last values joined along the horizontal axis."""
    if not scene.swept:
        for line in lines:
            steps = scene.rows(line).step
            for name, values in scene.curves.get(id(line), {}).items():
                # an asymptote says nothing of the start
                late = (steps >= steps[-1] / LATE) | (kind_of(name) != "asymptote")
                _theory_curve(scene, axes, steps, np.where(late, values, np.nan), name, line)
        return
    for group in scene.groups(lines) if scene.curves else ():
        for name in dict.fromkeys(name for line in group for name in scene.curves[id(line)]):
            own = [line for line in group if name in scene.curves[id(line)]]
            ends = [(scene.at(line), float(scene.curves[id(line)][name][-1])) for line in own
                    if math.isfinite(scene.horizontal(line))]  # fmt: skip
            if ends and not scene.carried(own):
                x, y = np.array(ends).T
                _theory_curve(scene, axes, x, y, name, own[0])


def _theory_curve(scene: Scene, axes: Axes, x: np.ndarray, y: np.ndarray, name: str, line: Line) -> None:
    from matplotlib.colors import to_rgb

    dashes, colour = _theory_dashes(scene, kind_of(name)), np.array(to_rgb(scene.colour(line)))
    if kind_of(name) == "bound":
        colour = 1 - 0.5 * (1 - colour)  # paler than what is near the measured curves
    if name.startswith(CLOSURE):
        dashes, colour = "-", 0.6 * colour
    axes.plot(x, y, color=tuple(colour), linestyle=dashes, linewidth=1.1, zorder=1.8, gid="theory")


def _theory_dashes(scene: Scene, kind: str) -> Any:
    return style.THEORY_STYLES[scene.kinds.index(kind) % len(style.THEORY_STYLES)]


def _reference(scene: Scene, axes: Axes, lines: Sequence[Line]) -> None:
    """A dotted guide of the slope of theory below all curves of the panel, over the last decade and a half."""
    slope, rows = scene.exponent(lines), [line.rows for line in lines if not line.diverged]
    if slope is None or not rows:
        return
    last = max(float(own.step[-1]) for own in rows)
    start = max(last / LATE, min(float(own.step[own.step > 0][0]) for own in rows))
    # where a guide that touches a curve from below is at the last step
    level = 0.6 * min(float(np.min((own.mean * (own.step / last) ** -slope)[own.step >= start])) for own in rows)
    if not math.isfinite(level) or level <= 0:
        return
    (low, high), lowest = axes.get_ylim(), min(level, level * (start / last) ** slope)
    # room below the guide for its words
    axes.set_ylim(min(low, lowest / (high / low) ** 0.12), high)
    axes.plot([start, last], [level * (start / last) ** slope, level], ":", color="#444444", linewidth=1.1, zorder=1.5)
    text = f"slope {'$-$' if slope < 0 else ''}{fraction(abs(slope))}"
    look: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 8, "color": "#333333"}
    axes.annotate(text, (last, lowest), xytext=(0, -3), textcoords="offset points", **look)


# --- (d)


def _entries(scene: Scene) -> list[Any]:
    """Handles with their labels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def entry(words: str, **look: Any) -> Any:
        return Line2D([], [], label=words, **{"color": style.GREY, "markersize": 4.5, "linestyle": "", **look})

    styled, dotted, line = scene.plan.style, scene.x != STEP, "" if scene.x == DOTS else "-"
    handles = [
        entry(words, color=scene.colours[k], linewidth=1.2 if dotted else 2.0, linestyle="-" if styled else line,
              marker=style.MARKERS[k % len(style.MARKERS)] if dotted and styled is None else "")
        for k, words in enumerate(scene.labels(scene.plan.colour))
    ]  # fmt: skip
    handles += [
        entry(words, linestyle=line and style.STYLES[k], marker=style.MARKERS[k] if dotted else "")
        for k, words in enumerate(scene.labels(styled))
    ]
    statistic = {"median": "median and 95% CI", "quantiles": "median, 5% to 95%"}.get(scene.declared.statistic)
    replicates = from_to(line.replicates for line in scene.lines)
    words = f"{statistic or 'mean and 95% CI'}, {replicates} replicates"
    # one replicate has no interval, whose entry would promise a band
    if replicates == "1":
        handles.append(entry("one replicate", marker="o" if dotted else ""))
    else:
        shade = Patch(facecolor=style.GREY, alpha=style.BAND_ALPHA + 0.1, label=words)
        handles.append(entry(words, marker="|", markersize=9) if dotted else shade)
    if any(line.diverged for line in scene.lines):
        handles.append(entry("replicates diverged", marker="x", markersize=6, markeredgewidth=1.6))
    if any(scene.exponent(lines) is not None for lines in scene.panels.values()):
        handles.append(entry("slope of theory, first estimator", color="#444444", linestyle=":", linewidth=1.1))
    if any(name.startswith(CLOSURE) for name in scene.theory_names):
        handles.append(entry(CLOSURE, color="black", linestyle="-", linewidth=1.1))
    kinds = dict.fromkeys(kind_of(name) for name in scene.theory_names if not name.startswith(CLOSURE))
    if scene.x == DOTS:
        return [*handles, *([entry(" or ".join(kinds), color="black", marker="|", markersize=9)] if kinds else [])]
    return [*handles, *(entry(kind, linestyle=_theory_dashes(scene, kind), linewidth=1.1) for kind in kinds)]
