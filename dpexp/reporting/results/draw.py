"""Any declaration as a figure: one long table of what is drawn, panels of curves, points or rows, and a caption.

(a) The table has a row for each line and step, or its last step, with its panel, colour, style and place along the
axis, and the curves of theory. (b) A panel for every level of what makes panels; axes are shared, and hold all that has
not diverged. A line ends with a cross where a replicate diverges. (c) Theory has open markers; else there is a
reference slope. (d) The legend has every colour, line style, marker and shading of the figure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.config.cell_settings import Words
from dpexp.core.errors import UsageError
from dpexp.core.text import fraction
from dpexp.reporting import style
from dpexp.reporting.digits import from_to
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.results.choose import DOTS, STEP, Declaration, choose
from dpexp.reporting.results.gather import OWN_RECORDS, Gathered, Line, Theory, column_of, gather, lines_of, name_of
from dpexp.reporting.results.labels import STATISTICS, Metric, level_labels, metric_of, parameter_label, value_label
from dpexp.reporting.templates import filled
from dpexp.store.stats import is_coordinate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LOGARITHMIC = 8.0
"""largest over smallest from which an axis of positive numbers is logarithmic"""
MOST_ROWS, MOST_MARKERS = 200, 30
NARROW, TALL = 1.6, 9.2
"""inches: least width of a panel, and largest height of a figure, which is that of a page"""
INDEX = re.compile(r"(?<== )(\d\.\d\d)")
"""J in the name of a prediction"""
NO_THEORY = (
    "theory of ldp-sgd is of param_distance_sq and loss_gap on linear predictors, with noise that does not depend on "
    "the gradient (delta = 0 has not); see docs page figures"
)


def figure_of(
    folders: Sequence[Path], figure: Declaration, theories: Callable[[], Sequence[Theory]], others: Collection[str] = ()
) -> Figure:
    """The figure of some results, under a name that is none of `others`."""
    options = {key: value for key, value in vars(figure).items() if value != getattr(Declaration, key)}
    needs = tuple(dict.fromkeys(folder.name for folder in folders))
    return Figure(name_of(folders, others, options), "any result", "", "", needs,
                  lambda results: draw(gather(folders, figure.only or None), figure, theories()))  # fmt: skip


def draw(gathered: Gathered, declaration: Declaration | None = None, theories: Sequence[Theory] = ()) -> Drawing:
    """The figure, its numbers and its caption. Raises UsageError where it cannot be drawn as declared."""
    declared = declaration or Declaration()
    # whiskers are quantiles, and boxes are rows
    declared = replace(declared, statistic="quantiles", x=DOTS) if declared.kind == "box" else declared
    gathered = gathered.of(declared.estimator, declared.statistic)
    name = gathered.metric(declared.metric)
    shared = [{str(run.settings[name]) for run in gathered.runs} for name in ("problem", "algorithm")]
    same = ", ".join(name for names in shared for name in names if len(names) == 1)
    title = declared.title or (f"{gathered.names}: {same}" if same else gathered.names)
    lines, metric = lines_of(gathered, name), metric_of(name, declared.statistic)
    scene = Scene(lines, declared, metric, title, gathered.sections, theories)
    if declared.theory and not scene.theory:
        raise UsageError(f"no theory says anything of {name} in these results", NO_THEORY)
    words, remark = caption(scene, gathered), " ".join(["", *_theory_sentence(scene)])
    return Drawing(scene.draw(), scene.numbers(), words, gathered.constants, remark=remark)


class Scene:
    """The table of a figure and the scales of its axes. Raises UsageError for a declaration that cannot be met."""

    def __init__(
        self, lines: Sequence[Line], declared: Declaration, metric: Metric, title: str, sections: Mapping[str, str],
        theories: Sequence[Theory] = (),
    ) -> None:  # fmt: skip
        self.lines, self.declared, self.metric, self.title, self.theories = lines, declared, metric, title, theories
        self.boxes, self.statistic = declared.kind == "box", STATISTICS[declared.statistic]
        settings = [line.settings for line in lines]
        self.words, self.replicates = Words(settings), from_to(line.replicates for line in lines)
        # step 0 has no place on a logarithmic axis
        checkpoints = min(int((line.rows["step"] > 0).sum()) for line in lines)
        self.plan = plan = choose(settings, sections, checkpoints, declared)
        self.steps, self.turned = plan.x == STEP, plan.x == DOTS
        """turned: rows are along the vertical axis, and values along the other one"""
        factors = {"panel": plan.panel, "colour": plan.colour, "style": plan.style, "row": plan.row}
        self.labels = {key: level_labels(factor, self.words, settings) for key, factor in factors.items()}
        if len(self.labels["row"]) > MOST_ROWS:
            message = f"{len(self.labels['row'])} settings are too many for one figure"
            raise UsageError(message, "--only picks cells, such as mu=1")
        self.colours = style.colours_of(plan.colour)
        self.theory: dict[str, str] = {}
        """kinds of curves by their names: `bound, Theorem 3` is a bound"""
        self.table = self._table()
        self.kinds = list(dict.fromkeys(self.theory.values()))
        # markers of a line with many points would hide all else
        many = not self.turned and self.table["x"].nunique() > MOST_MARKERS
        self.markers = [""] * len(style.MARKERS) if many or self.steps else style.MARKERS
        calm = self.table[self.table["n_diverged"] == 0]
        self.y_log = not metric.share and _spans_decades(calm["mean"])
        self.x_log = self.steps or (not self.turned and _spans_decades(self.table["x"]))
        finite = self.table["x"][np.isfinite(self.table["x"])]
        first, last = finite.min(), finite.max()
        # infinity is a fifth beyond the last finite number
        self.beyond = last * max((last / first) ** 0.18, 1.5) if self.x_log else last + max(0.18 * (last - first), 0.5)
        self.table["at"] = self.table["x"].clip(upper=self.beyond)

    def _table(self) -> pd.DataFrame:
        """(a)"""
        import pandas as pd

        plan, parts = self.plan, []
        # theory of the first colour, a middle one and the last: more curves cannot be distinguished
        hues = {0, len(self.colours) // 2, len(self.colours) - 1}
        for number, line in enumerate(self.lines):
            rows = line.rows[line.rows["step"] > 0] if self.steps else line.rows.tail(1)
            colour, curves = plan.colour.codes[number], {}
            if self.declared.theory and (is_coordinate(line.metric) or (colour in hues and not self.turned)):
                curves = line.curves(self.theories, rows["step"].to_numpy(), drawn=True)
            kinds = {name: name.partition(",")[0] for name in curves}
            self.theory |= kinds
            # within a row by the colour
            place = plan.row.codes[number] + 0.5 * ((colour + 0.5) / len(self.colours) - 0.5)
            x = rows["step"] if self.steps else place if self.turned else float(line.settings[plan.x])
            parts.append(rows.assign(line=number, panel=plan.panel.codes[number], colour=colour, x=x,
                                     style=plan.style.codes[number],
                                     **{kinds[name]: values for name, values in curves.items()}))  # fmt: skip
        return pd.concat(parts, ignore_index=True).sort_values(["panel", "line", "step"], kind="stable")

    def numbers(self) -> pd.DataFrame:
        """What is drawn: the settings of every line, its rows and the curves of theory."""
        import pandas as pd

        lines, value = self.table["line"], "mean" if self.declared.statistic == "mean" else "median"
        columns = {column_of(name): [self.lines[k].settings.get(name) for k in lines] for name in self.plan.names}
        own = ["step", "mean", "ci_lo", "ci_hi", "n", "n_diverged", *["q25", "q75"] * self.boxes]
        table = self.table[[*own, *self.kinds]].rename(columns={"mean": value})
        return pd.concat([pd.DataFrame(columns, index=table.index, dtype=object), table], axis=1).reset_index(drop=True)

    @cached_property
    def slopes(self) -> dict[int, float]:
        """By panel what theory gives its first estimator; no panel where it gives none, or several."""
        slopes = {}
        plain = self.steps and self.y_log and self.metric.error and self.declared.statistic == "mean"
        for panel in range(len(self.plan.panel.levels)) if plain and not self.declared.theory else ():
            lines = [line for line, code in zip(self.lines, self.plan.panel.codes, strict=True) if code == panel]
            own = [line for line in lines if line.estimator == lines[0].estimator]
            exponents = {line.exponent(self.theories) for line in own if line.run.cell}
            if len(exponents) == 1 and (slope := exponents.pop()) is not None:
                slopes[panel] = slope
        return slopes

    def draw(self) -> Canvas:
        """(b) As wide as matplotlib's settings say, and as high as panels and words need."""
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas

        width, count = float(mpl.rcParams["figure.figsize"][0]), len(self.labels["panel"])
        # as many columns as there is room for, and more where a page would be too high
        usual = 2 if count in (2, 4) or self.turned else max(3, math.ceil(math.sqrt(count)))
        columns = max(min(count, usual, int(width / NARROW)), math.ceil(count * 1.1 / TALL))
        rows = -(-count // columns)
        canvas = Canvas(figsize=(width, 1.0), layout="constrained")
        title = style.wrapped(self.title, width - 0.2, "large")
        extra = style.legend(canvas, _entries(self), width) + 0.18 * title.count("\n") + 0.3
        height = max(min(0.8 * width / columns, 3.4, (TALL - extra) / rows), 1.1)
        # so that a hundred rows fit a page
        few_rows = 0.2 * len(self.labels["row"]) < TALL
        size, room = ("small", 2.6) if few_rows else ("xx-small", width / 2)
        names = [style.wrapped(name, room, size) for name in self.labels["row"]]
        if self.turned:
            line = 0.016 * style.points(size) * max(name.count("\n") + 1 for name in names)
            height = 0.8 + len(names) * (max(0.2, 0.05 + line) if few_rows else line)
        canvas.set_size_inches(width, height * rows + extra)
        panels = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axes in panels[count:]:
            axes.remove()
        label = ("final " if not self.steps and self.metric.symbol else "") + self.metric.words
        label = style.wrapped(label, width / columns if self.turned else height * rows - 0.3)
        label += f"\n${self.metric.symbol}$" if self.metric.symbol else ""
        x_label = label if self.turned else "steps" if self.steps else parameter_label(self.plan.x)
        self._scale(panels[0], max(3, int(2 * width / columns)), names)
        for number, (axes, (_, inside)) in enumerate(zip(panels, self.table.groupby("panel"), strict=False)):
            axes.set_title(style.wrapped(self.labels["panel"][number], width / columns - 0.5))
            axes.set_axisbelow(True)
            axes.use_sticky_edges = False
            axes.margins(0.05, 0.12)
            last = number + columns >= count  # no panel is below it
            axes.tick_params(labelbottom=last)
            if self.turned:
                axes.tick_params("y", labelsize=size)
            axes.set_xlabel(x_label if last else "")
            key: tuple[int, ...]
            for key, own in inside.groupby([*["line"] * self.steps, "colour", "style"]):  # type: ignore[assignment]
                points, look = own.sort_values("x"), key[-2:]
                _line(self, axes, points, *look)
                for kind in self.kinds:
                    _theory(self, axes, points, kind, *look)
            if number in self.slopes:
                _reference(axes, inside[inside["n_diverged"] == 0], self.slopes[number])
        if self.kinds and self.y_log and not self.turned:
            # room for theory, of which a bound may leave at the top
            low, high = panels[0].get_ylim()
            panels[0].set_ylim(low / 3, high * (30 if "bound" in self.kinds else 3))
        if not self.turned:
            canvas.supylabel(label) if columns < count else panels[0].set_ylabel(label)
        canvas.suptitle(title)
        return canvas

    def _scale(self, axes: Axes, ticks: int, rows: Sequence[str]) -> None:
        """Scales and the names of few values, of infinity and of rows, with at most so many decades named.

        Panels share them with the first one.
        """
        if self.y_log:
            style.logarithmic(axes, "x" if self.turned else "y", ticks if self.turned else 6)
        if self.x_log:
            style.logarithmic(axes, "x", ticks)
        values = sorted(set(self.table["x"]))
        if self.turned:
            axes.set_yticks(range(len(rows)), rows)
            axes.set_ylim(len(rows) - 0.4, -0.6)
        elif not self.steps and (len(values) <= 8 or not math.isfinite(values[-1])):
            # so many names as there is room for, the last one among them
            named = values[:: -max(1, -(-len(values) // ticks))]
            names = [value_label(self.plan.x, value, self.words).replace(" ", "\n") for value in named]
            style.ticks_at(axes, [min(value, self.beyond) for value in named], names)


def _spans_decades(values: pd.Series[float]) -> bool:
    """Whether all finite values are positive, and so far apart that an axis should be logarithmic."""
    finite = values[np.isfinite(values)]
    return bool(len(finite) and finite.min() > 0 and finite.max() / finite.min() >= LOGARITHMIC)


def caption(scene: Scene, gathered: Gathered) -> str:
    """What the picture cannot say by itself; parameters are in the head of the CSV."""
    last = from_to(int(line.rows["step"].iloc[-1]) for line in scene.lines)
    words = {"last": last, "own_records": OWN_RECORDS, "theory": _theory_sentence(scene)}
    text = filled("dpexp.reporting.results", "caption.txt", scene=scene, gathered=gathered, **words)
    return " ".join(text.splitlines())


def _theory_sentence(scene: Scene) -> list[str]:
    return [f"Theory, for at most three colours: {_in_short(scene.theory)}."] if scene.theory else []


def _in_short(names: Iterable[str]) -> str:
    """Names of curves, once for all that differ in their index J alone, with its range."""
    indices: dict[tuple[str, str], list[str]] = {}
    for name in names:
        start, index, end = INDEX.split(name) if INDEX.search(name) else (name, "", "")
        indices.setdefault((start, end), []).append(index)
    ranges = {key: " to ".join(dict.fromkeys((min(own), max(own)))) for key, own in indices.items()}
    return "; ".join(f"{start}{index}{end}" for (start, end), index in ranges.items())


def _line(scene: Scene, axes: Axes, rows: pd.DataFrame, hue: int, dashes: int) -> None:
    """Means up to where a replicate diverges: against the step with a band; against a setting with bars, joined up to
    infinity; or in rows, as boxes too."""
    colour, linestyle, at = scene.colours[hue], style.STYLES[dashes], rows["at"]
    mean = rows["mean"].mask(rows["n_diverged"] > 0).replace([math.inf, -math.inf], math.nan)
    # an interval that reaches zero would fill a logarithmic panel to its lower edge
    low, high = rows["ci_lo"].clip(lower=mean / 10) if scene.y_log else rows["ci_lo"], rows["ci_hi"]
    wild = rows[rows["n_diverged"] > 0]
    if scene.steps:
        axes.plot(at, mean, color=colour, linestyle=linestyle, linewidth=1.3, marker="." if len(rows) < 8 else "")
        axes.fill_between(at, low.where(mean.notna()), high, color=colour, alpha=style.BAND_ALPHA, linewidth=0)
        wild = wild.head(1)
    else:
        marker = scene.markers[dashes if scene.plan.style.names else hue]
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4}
        bars = [side.clip(lower=0).replace(math.inf, 0) for side in (mean - low, high - mean)]
        points = (mean, at, None, bars) if scene.turned else (at, mean, bars)
        axes.errorbar(*points, linestyle="none", elinewidth=0.9, capsize=2, **look)
        if not scene.turned:
            finite = np.isfinite(rows["x"])
            axes.plot(at[finite], mean[finite], linestyle=linestyle, linewidth=1.1, **look)
        if scene.boxes:
            axes.barh(at, (rows["q75"] - rows["q25"]).where(mean.notna()), left=rows["q25"], alpha=style.BOX_ALPHA,
                      height=0.36 / len(scene.colours), color=colour, edgecolor=colour)  # fmt: skip
    # where replicates diverged: at the edge of the axis of values
    edge = axes.get_yaxis_transform() if scene.turned else axes.get_xaxis_transform()
    for place in wild["at"]:
        point = (1.0, place) if scene.turned else (place, 1.0)
        axes.plot(*point, "x", transform=edge, color=colour, markersize=6, markeredgewidth=1.5, clip_on=False)


# --- (c)


def _theory(scene: Scene, axes: Axes, rows: pd.DataFrame, kind: str, hue: int, dashes: int) -> None:
    """A curve of theory, in the colour and dashes of the line that it is for; a bound is paler than what is near. Of
    rows a mark each."""
    from matplotlib.colors import to_rgb
    from matplotlib.lines import Line2D

    if scene.turned:
        axes.plot(rows[kind], rows["at"], "|", color="black", markersize=9, gid="theory", zorder=5)
        return
    # an asymptote says nothing of the start
    rows = rows[np.isfinite(rows["x"]) & ((kind != "asymptote") | (rows["step"] >= rows["step"].max() / style.GUIDE))]
    if rows[kind].notna().any():
        colour = 1 - (0.55 if kind == "bound" else 1) * (1 - np.array(to_rgb(scene.colours[hue])))
        look = {**style.THEORY[scene.kinds.index(kind)], "linestyle": style.STYLES[dashes]}
        # an artist sets no limits: a bound may be far above
        axes.add_artist(Line2D(rows["at"], rows[kind], color=tuple(colour), gid="theory", zorder=2.5, **look))


def _reference(axes: Axes, rows: pd.DataFrame, slope: float) -> None:
    """A dotted guide of the slope of theory below all curves of the panel, over the last decade and a half."""
    if rows.empty:
        return
    last = float(rows["step"].max())
    late = rows[rows["step"] >= last / style.GUIDE]
    # where a guide that touches a curve from below is at the last step
    level, start = 0.6 * float((late["mean"] * (late["step"] / last) ** -slope).min()), float(late["step"].min())
    style.guide(axes, (start, last), level, slope, f"slope {'$-$' if slope < 0 else ''}{fraction(abs(slope))}")


# --- (d)


def _entries(scene: Scene) -> list[Any]:
    """Handles with their labels."""
    from matplotlib.lines import Line2D

    entry = partial(Line2D, [], [], color=style.GREY, markersize=4.5, linestyle="")
    dotted, styled, line = not scene.steps, bool(scene.plan.style.names), "" if scene.turned else "-"
    handles = []
    if scene.plan.colour.names:
        look: dict[str, Any] = {"linewidth": 1.2 if dotted else 2.0, "linestyle": "-" if styled else line}
        for words, colour, marker in zip(scene.labels["colour"], scene.colours, scene.markers, strict=False):
            handles.append(entry(label=words, color=colour, marker="" if styled else marker, **look))
    if styled:
        for words, dashes, marker in zip(scene.labels["style"], style.STYLES, scene.markers, strict=False):
            handles.append(entry(label=words, linestyle=line and dashes, marker=marker))
    words = f"{'quartiles, ' * scene.boxes}{scene.statistic.short}, {scene.replicates} replicates"
    # one replicate has no interval, whose entry would promise a band
    if scene.replicates == "1":
        handles += [entry(label="one replicate", marker="o" if dotted else "")] * scene.metric.sampled
    elif dotted and not scene.boxes:
        handles.append(entry(label=words, marker="_" if scene.turned else "|", markersize=9))
    else:
        handles.append(entry(label=words, linestyle="-", linewidth=6.0, alpha=style.BOX_ALPHA))
    if (scene.table["n_diverged"] > 0).any():
        handles.append(entry(label="replicates diverged", marker="x", markersize=6, markeredgewidth=1.6))
    if scene.slopes:
        handles.append(entry(label="slope of theory, first estimator", color="#444444", linestyle=":", linewidth=1.1))
    if scene.turned and scene.kinds:
        return [*handles, entry(label=" or ".join(scene.kinds), color="black", marker="|", markersize=9)]
    return [*handles, *(entry(label=kind, linestyle="-", **style.THEORY[k]) for k, kind in enumerate(scene.kinds))]
