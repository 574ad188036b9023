"""Any declaration as a figure: panels of curves, points or rows of dots with their bands, one legend and a caption.

(a) A panel for every combination of levels of what makes panels; axes are shared. (b) What is beyond the axes is marked
at their edge: a cross where replicates diverged, else an arrow. (c) Theory: its curves, with open markers, or a
reference slope. (d) The legend has every colour, line style, marker and shading of the figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.text import counted, fraction
from dpexp.reporting import style
from dpexp.reporting.digits import from_to
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.results.declaration import DOTS, STEP, Declaration
from dpexp.reporting.results.gather import OWN_RECORDS, Gathered, Source, gather, name_of
from dpexp.reporting.results.labels import estimator_name, parameter_label, parameters, value_label
from dpexp.reporting.results.lines import Line, Theory, column_of
from dpexp.reporting.results.metrics import STATISTICS, TERM, axis_label, metric_of
from dpexp.reporting.results.scene import Scene, kind_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_ROWS = 200
NARROW, TALL = 1.6, 9.2
"""inches: least width of a panel, and largest height of a figure of panels, which is that of a page"""
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
    settings = [*declaration.panel, declaration.colour, declaration.style]
    needs = [name for name in settings if name not in ("", "estimator", TERM)]
    gathered = gather([Source(results, name) for name in experiments], declaration.where or None, False, needs)
    return draw(gathered, declaration, theories)._replace(caption="")


def figure_of(
    sources: Sequence[Source],
    figure: Declaration,
    theories: Callable[[], Sequence[Theory]],
    others: Collection[str] = (),
) -> Figure:
    """The figure of some results, under a name that is none of `others`."""

    def draw_sources(results: Path) -> Drawing:
        return draw(gather(sources, figure.where or None), figure, theories())

    options: dict[str, bool | str | Sequence[str]] = {
        "": figure.y, "by": figure.x, "hue": figure.colour, "facet": figure.panel, "style": figure.style,
        "estimator": figure.estimators, "only": figure.where, "theory": figure.theory,
        "statistic": figure.statistic.replace("mean", ""), "kind": figure.kind.replace("line", ""),
    }  # fmt: skip
    needs = tuple(dict.fromkeys(source.name for source in sources))
    return Figure(name_of(sources, others, options), "any result", "", "", needs, draw_sources)


def draw(gathered: Gathered, declaration: Declaration | None = None, theories: Sequence[Theory] = ()) -> Drawing:
    """The figure, its numbers and its caption. Raises UsageError where it cannot be drawn as declared."""
    import matplotlib as mpl
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    scene = Scene(gathered, declaration or Declaration(), theories)
    if scene.declared.theory and not scene.theory_names:
        raise UsageError(f"no theory says anything of {scene.metric} in these results", NO_THEORY)
    width = float(mpl.rcParams["figure.figsize"][0])
    columns, rows = _grid(scene, width)
    canvas = Canvas(figsize=(width, 1.0), layout="constrained")
    title = style.wrapped(scene.declared.title or _title(scene), width - 0.2, "large")
    extra = style.legend(canvas, _entries(scene), width) + 0.18 * title.count("\n") + 0.3
    height = min(_height(scene, width / columns), max((TALL - extra) / rows, 1.1))
    canvas.set_size_inches(width, height * rows + extra)
    panels = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in panels[len(scene.panels) :]:
        axes.remove()
    labels = [scene.labels(factor) for factor in scene.plan.panels]
    for number, (axes, (place, lines)) in enumerate(zip(panels, scene.panels.items(), strict=False)):
        words = ", ".join(own[k] for own, k in zip(labels, place, strict=True))
        axes.set_title(style.wrapped(words, width / columns - (0.6 if number % columns == 0 else 0.3)))
        axes.set_axisbelow(True)
        last = number + columns >= len(scene.panels)  # no panel is below it
        axes.tick_params(labelbottom=last)
        _axes(scene, axes, max(3, int(2 * width / columns)))
        if scene.x == STEP:
            for line in lines:
                _curve(scene, axes, line)
        else:
            for group in scene.groups(lines):
                _points(scene, axes, group)
        if scene.turned:
            # three panels beside names of rows are narrower than the label
            axes.set_xlabel(_value_label(scene, width) if last and (columns < 3 or number % columns == 1) else "")
        else:
            axes.set_xlabel(_x_label(scene) if last else "")
    # they make room below the curves of all panels
    for axes, lines in zip(panels, scene.panels.values(), strict=False):
        _reference(scene, axes, lines)
    if not scene.turned:
        label = _value_label(scene, height * rows - 0.3)
        canvas.supylabel(label) if rows > 1 else panels[0].set_ylabel(label)
    canvas.suptitle(title)
    data = pd.concat([_numbers(scene, line) for lines in scene.panels.values() for line in lines], ignore_index=True)
    return Drawing(canvas, data, _caption(scene), parameters(scene.gathered))


def _numbers(scene: Scene, line: Line) -> pd.DataFrame:
    """What is drawn of a line: its settings, its rows and the curves of theory."""
    import pandas as pd

    rows = scene.rows(line)
    names = dict.fromkeys([*scene.plan.names, *scene.plan.implied])
    value = "mean" if scene.declared.statistic == "mean" else "median"
    numbers = {"step": rows.step, value: rows.mean, "ci_lo": rows.ci_lo, "ci_hi": rows.ci_hi, "n": rows.n,
               "n_diverged": rows.n_diverged}  # fmt: skip
    if scene.declared.kind == "box":
        numbers |= {"q25": rows.q25, "q75": rows.q75}
    curves = {kind_of(name): values for name, values in scene.curves.get(id(line), {}).items()}
    theory = {kind: curves.get(kind, math.nan) for kind in scene.kinds}
    return pd.DataFrame({**{column_of(name): line.settings.get(name) for name in names}, **numbers, **theory})


def _caption(scene: Scene) -> str:
    """What the picture cannot say by itself; parameters are in the head of the CSV."""
    lines, statistic = scene.lines, scene.declared.statistic
    metric, replicates = metric_of(scene.metric, statistic), from_to(line.replicates for line in lines)
    names = ", ".join(dict.fromkeys(source.name for source in scene.gathered.sources))
    # a single estimator is named here alone
    single = len({line.estimator for line in lines}) == 1
    words = metric.words + (f" of {estimator_name(lines[0].estimator, lines[0].settings)}" if single else "")
    last = from_to(int(line.rows.step[-1]) for line in lines)
    words += f", against the number of steps, to {last}" if scene.x == STEP else f", at the last step, {last}"
    words += f", against {scene.x}" if scene.x not in (STEP, DOTS) else ""
    band = "Boxes: quartiles. Points: medians. Bars" if scene.declared.kind == "box" else "Bands"
    sentences = [OWN_RECORDS] if any(run.own_records for run in scene.gathered.runs) else []
    sentences += [
        f"{names}: {words}.",
        "One replicate of every setting, so there is no band." if replicates == "1"
        else f"{band}: {STATISTICS[statistic].band} over {replicates} replicates.",
    ]  # fmt: skip
    if scene.theory_names:
        sentences.append(f"Theory, for at most three colours: {'; '.join(scene.theory_names)}.")
    groups = [group for members in scene.panels.values() for group in scene.groups(members)]
    if changing := sorted(
        {name for group in groups for name in scene.carried(group)} if scene.x not in (STEP, DOTS) else ()
    ):
        sentences.append(f"Points are not joined, since {', '.join(changing)} changes with {scene.x}.")
    if wild := [line for line in lines if line.diverged]:
        count = f"{max(line.diverged for line in wild)} of {wild[0].replicates}"
        settings = f"{counted(len(wild), 'setting')}, at most {count}"
        sentences.append(f"Crosses: replicates diverged in {settings}; no mean is over survivors.")
    if beyond := scene.beyond():
        sentences.append(f"Arrows: beyond the axis, at most {max(line.last[0] for line in beyond):.2g}.")
    return " ".join([*sentences, *(f"{remark}." for remark in scene.gathered.remarks)])


# --- (a)


def _grid(scene: Scene, width: float) -> tuple[int, int]:
    """Columns and rows of panels: a full product of two factors is a grid of them, others are filled row by row."""
    count, factors = len(scene.panels), scene.plan.panels
    # as many as there is room for, and more where a page would be too high
    limit = max(1, int(width / NARROW), math.ceil(count * 1.1 / TALL))
    product = len(factors) == 2 and count == math.prod(len(factor.levels) for factor in factors)
    if product and len(factors[1].levels) <= limit:
        columns = len(factors[1].levels)
    else:
        columns = min(limit, 1 if count == 1 else 2 if count in (2, 4) or scene.turned else 3 if count <= 9 else 4)
    return columns, -(-count // columns)


def _height(scene: Scene, width: float) -> float:
    """Inches of a panel of this width with its title and labels: rows need their room."""
    if not scene.turned:
        return min(max(0.8 * width, 1.8), 3.4)
    names = _row_names(scene)
    if len(names) > MOST_ROWS:
        raise UsageError(f"{len(names)} settings are too many for one figure", "--only picks cells, such as mu=1")
    lines = max(name.count("\n") + 1 for name in names)
    return 0.8 + len(names) * max(0.2, 0.05 + 0.016 * style.points("small") * lines)


def _row_names(scene: Scene) -> list[str]:
    """In lines that fit next to the panel."""
    return [style.wrapped(name, 2.6, "small") for name in scene.labels(scene.plan.rows) or [""]]


def _title(scene: Scene) -> str:
    runs = scene.gathered.runs
    names = ", ".join(dict.fromkeys(source.name for source in scene.gathered.sources))
    same = [str(runs[0].settings[name]) for name in ("problem", "algorithm")
            if len({run.settings[name] for run in runs}) == 1]  # fmt: skip
    return f"{names}: {', '.join(same)}" if same else names


def _value_label(scene: Scene, inches: float) -> str:
    words, *symbol = axis_label(scene.metric, scene.x != STEP, scene.declared.statistic).split("\n")
    return "\n".join([style.wrapped(words, inches), *symbol])


def _x_label(scene: Scene) -> str:
    cells = [run.known for run in scene.gathered.runs]
    steps = "steps = users" if all(cell and cell.problem.fresh_users for cell in cells) else "steps"
    return steps if scene.x == STEP else parameter_label(scene.x)


def _axes(scene: Scene, axes: Axes, ticks: int) -> None:
    """Scales, limits and the names of few values, of infinity and of rows, with at most so many decades named."""
    values, others = ("x", "y") if scene.turned else ("y", "x")
    if scene.y_log:
        style.logarithmic(axes, values, ticks if scene.turned else 6)
    if scene.x_log:
        style.logarithmic(axes, others, ticks)
    low, high = scene.limits
    if scene.kinds and scene.y_log:
        # room for theory, of which a bound may leave at the top
        low, high = low / 3, high * (30 if "bound" in scene.kinds else 3)
    axes.set(**{f"{values}lim": (low, high)})
    if scene.turned:
        names = _row_names(scene)
        axes.set_yticks(range(len(names)), names, fontsize="small")
        axes.set_ylim(len(names) - 0.4, -0.6)
    elif scene.x != STEP:
        places = [scene.at(line) for line in scene.lines]
        low, high = min(places), max(places)
        room = max((high / low) ** 0.05, 1.1) if scene.x_log else 0.05 * (high - low) or 0.5
        axes.set_xlim(*((low / room, high * room) if scene.x_log else (low - room, high + room)))
        beyond = [place for line, place in zip(scene.lines, places, strict=True) if scene.horizontal(line) == math.inf]
        if len(scene.finite_x) <= 8 or beyond:
            # so many names as there is room for, the last of the finite values among them
            named = scene.finite_x[:: -max(1, -(-len(scene.finite_x) // ticks))]
            words = [value_label(scene.x, value, scene.words) for value in [*named, *([math.inf] if beyond else [])]]
            style.ticks_at(axes, [*named, *beyond[:1]], [word.replace(" ", "\n") for word in words])


def _curve(scene: Scene, axes: Axes, line: Line) -> None:
    """Mean and band against the step, where they are numbers, and theory over them."""
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
    for name, values in scene.curves.get(id(line), {}).items():
        # an asymptote says nothing of the start
        late = (rows.step >= rows.step[-1] / LATE) | (kind_of(name) != "asymptote")
        _theory(scene, axes, rows.step, np.where(late, values, np.nan), name, line)


def _points(scene: Scene, axes: Axes, lines: Sequence[Line]) -> None:
    """Final means with their bars against a setting, joined where nothing else changes along the curve; or in rows,
    as boxes too."""
    x, (mean, *bars) = np.array([scene.at(line) for line in lines]), np.array([_end(scene, line) for line in lines]).T
    # a line with diverged replicates is a gap in the curve, and infinity is beyond it
    mean = np.where([line.diverged > 0 for line in lines], np.nan, mean)
    look: dict[str, Any] = {"color": scene.colour(lines[0]), "marker": scene.marker(lines[0]), "markersize": 4,
                            "linewidth": 1.1, "elinewidth": 0.9, "capsize": 2}  # fmt: skip
    finite = sum(math.isfinite(scene.horizontal(line)) for line in lines)
    joined = "none" if scene.turned or scene.carried(lines) else scene.dashes(lines[0])
    for part, dashes in ((slice(finite), joined), (slice(finite, None), "none")):
        if len(x[part]):
            own = [bar[part] for bar in bars]
            places = (mean[part], x[part], None, own) if scene.turned else (x[part], mean[part], own)
            axes.errorbar(*places, linestyle=dashes, **look)
    for line, place in zip(lines, x, strict=True):
        _edge(scene, axes, line, float(place), line.last[0])
        if scene.declared.kind == "box" and not line.diverged:
            low, height = line.rows.q25[-1], 0.36 / len(scene.colours)
            axes.barh([place], [line.rows.q75[-1] - low], left=low, height=height, alpha=0.45, color=look["color"],
                      edgecolor=look["color"])  # fmt: skip
    for name in scene.theory_names:
        ends = [float(scene.curves.get(id(line), {}).get(name, [math.nan])[-1]) for line in lines]
        _theory(scene, axes, x[:finite], np.array(ends[:finite]), name, lines[0])


def _end(scene: Scene, line: Line) -> tuple[float, float, float]:
    """The last mean of a line, and how far its bar reaches below and above."""
    mean, _, *ends = line.last
    low, high = (max(0.0, length) if math.isfinite(length) else 0.0 for length in (mean - ends[0], ends[1] - mean))
    return mean, min(low, 0.9 * abs(mean)) if scene.y_log else low, high


# --- (b)


def _edge(scene: Scene, axes: Axes, line: Line, place: float, value: float) -> None:
    """A cross where replicates of a line diverged, an arrow where its last value is beyond the axis of values."""
    low, high = scene.limits
    up, down = (">", "<") if scene.turned else ("^", "v")
    arrow = up if line.last[0] > high else down if line.last[0] < low else ""
    if line.diverged or arrow:
        value = min(max(value, low), high) if math.isfinite(value) else high
        look: dict[str, Any] = {"markersize": 6, "markeredgewidth": 1.5, "clip_on": False, "zorder": 4}
        point = (value, place) if scene.turned else (place, value)
        axes.plot(*point, "x" if line.diverged else arrow, color=scene.colour(line), **look)


# --- (c)


def _theory(scene: Scene, axes: Axes, x: np.ndarray, y: np.ndarray, name: str, line: Line) -> None:
    """A curve of theory, in the colour and dashes of the line that it is for; a bound is paler than what is near. Of
    rows a mark each."""
    from matplotlib.colors import to_rgb

    if scene.turned:
        axes.plot(y, x, "|", color="black", markersize=9, gid="theory", zorder=5)
        return
    colour = 1 - (0.55 if kind_of(name) == "bound" else 1) * (1 - np.array(to_rgb(scene.colour(line))))
    look = style.THEORY[scene.kinds.index(kind_of(name)) % len(style.THEORY)]
    axes.plot(x, y, color=tuple(colour), linestyle=scene.dashes(line), gid="theory", zorder=2.5, **look)


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
    style.note(axes, text, (last, lowest), (0, -3), ha="right", va="top", color="#333333")


# --- (d)


def _entries(scene: Scene) -> list[Any]:
    """Handles with their labels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def entry(words: str, **look: Any) -> Any:
        return Line2D([], [], label=words, **{"color": style.GREY, "markersize": 4.5, "linestyle": "", **look})

    styled, dotted, line = scene.plan.style, scene.x != STEP, "" if scene.turned else "-"
    handles = [
        entry(words, color=scene.colours[k], linewidth=1.2 if dotted else 2.0, linestyle="-" if styled else line,
              marker=style.MARKERS[k % len(style.MARKERS)] if dotted and styled is None else "")
        for k, words in enumerate(scene.labels(scene.plan.colour))
    ]  # fmt: skip
    handles += [
        entry(words, linestyle=line and style.STYLES[k], marker=style.MARKERS[k] if dotted else "")
        for k, words in enumerate(scene.labels(styled))
    ]
    replicates = from_to(line.replicates for line in scene.lines)
    words = f"{STATISTICS[scene.declared.statistic].short}, {replicates} replicates"
    # one replicate has no interval, whose entry would promise a band
    if replicates == "1":
        handles.append(entry("one replicate", marker="o" if dotted else ""))
    else:
        shade = Patch(facecolor="#c9c9c9", label=words)
        handles.append(entry(words, marker="|", markersize=9) if dotted else shade)
    if any(line.diverged for line in scene.lines):
        handles.append(entry("replicates diverged", marker="x", markersize=6, markeredgewidth=1.6))
    if any(scene.exponent(lines) is not None for lines in scene.panels.values()):
        handles.append(entry("slope of theory, first estimator", color="#444444", linestyle=":", linewidth=1.1))
    if scene.turned and scene.kinds:
        return [*handles, entry(" or ".join(scene.kinds), color="black", marker="|", markersize=9)]
    return [
        *handles,
        *(entry(kind, linestyle="-", **style.THEORY[k % len(style.THEORY)]) for k, kind in enumerate(scene.kinds)),
    ]
