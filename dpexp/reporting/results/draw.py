"""Any declaration as a figure: one long table of what is drawn, panels of curves, points or rows, and a caption.

(a) The table has a row for each line and step, or its last step, with its panel, colour, style and place along the
axis, and the curves of theory. (b) A panel for every level of what makes panels; axes are shared, and hold all that has
not diverged. A line ends with a cross where a replicate diverges. (c) Theory has open markers; else there is a
reference slope. (d) The legend has every colour, line style, marker and shading of the figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from dpexp.config.cell_settings import Words
from dpexp.core.errors import UsageError
from dpexp.core.text import fraction
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting import style
from dpexp.reporting.digits import curve_names, from_to
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.results.choose import DOTS, STEP, Declaration, choose
from dpexp.reporting.results.gather import OWN_RECORDS, Gathered, Line, Theory, column_of, gather, lines_of, name_of
from dpexp.reporting.results.labels import STATISTICS, Metric, level_labels, metric_of, parameter_label, value_label
from dpexp.reporting.templates import filled
from dpexp.store.stats import is_coordinate

LOGARITHMIC = 8.0  # largest over smallest from which an axis of positive numbers is logarithmic
MOST_ROWS, MOST_MARKERS = 200, 30
NARROW, TALL = 1.6, 9.2
"""inches: least width of a panel, and largest height of a figure, which is that of a page"""


def figure_of(
    folders: Sequence[Path], figure: Declaration, theories: Callable[[], Sequence[Theory]], others: Collection[str] = ()
) -> Figure:
    """The figure of some results, under a name that is none of `others`."""
    options = {key: value for key, value in vars(figure).items() if value != getattr(Declaration, key)}
    needs = tuple(dict.fromkeys(folder.name for folder in folders))
    return Figure(name_of(folders, others, options), "any result", "", "", needs,
                  lambda results: draw(gather(folders, figure.only or None), figure, theories()))  # fmt: skip


def draw(gathered: Gathered, declared: Declaration, theories: Sequence[Theory] = ()) -> Drawing:
    """The figure, its numbers and its caption. Raises UsageError where it cannot be drawn as declared."""
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
        cells = [cell for line in lines if (cell := line.run.cell)]
        linear = [own for cell in cells if isinstance(own := cell.problem, LinearPredictorProblem)]
        words = filled("dpexp.reporting.results", "no_theory.txt", metric=name, cells=cells, linear=linear)
        raise UsageError(*words.splitlines())
    theory, last = curve_names(scene.theory), from_to(int(line.rows["step"].iloc[-1]) for line in lines)
    theory = theory and f"Theory, for at most three colours: {theory}."
    # what the picture cannot say by itself; parameters are in the head of the CSV
    caption = filled("dpexp.reporting.results", "caption.txt", scene=scene, gathered=gathered, last=last,
                     own_records=OWN_RECORDS, theory=theory)  # fmt: skip
    words, remark = " ".join(caption.splitlines()), theory and f" {theory}"
    return Drawing(scene.draw(), scene.numbers(), words, gathered.constants, remark)


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
        # step 0 has no place on a logarithmic axis, and some metrics are of the last step alone
        known = max(int(line.rows["mean"].notna().sum()) for line in lines)
        checkpoints = min(known, *(int((line.rows["step"] > 0).sum()) for line in lines))
        self.plan = plan = choose(settings, sections, checkpoints, declared)
        self.steps, self.turned = plan.x == STEP, plan.x == DOTS
        """turned: rows are along the vertical axis, and values along the other one"""
        parts = ("panel", "colour", "style", "row")
        self.labels = {part: level_labels(getattr(plan, part), self.words, settings) for part in parts}
        if (rows := len(plan.row.levels)) > MOST_ROWS:
            raise UsageError(f"{rows} settings are too many for one figure", "--only picks cells, such as mu=1")
        self.colours = style.colours_of(plan.colour)
        self.theory: dict[str, str] = {}
        """kinds of curves, by their names: `bound, Theorem 3` is a bound"""
        self.table = self._table()
        self.kinds = list(dict.fromkeys(self.theory.values()))
        # markers of a line with many points would hide all else
        many = not self.turned and self.table["x"].nunique() > MOST_MARKERS
        self.markers = [""] * len(style.MARKERS) if many or self.steps else style.MARKERS
        self.y_log = not metric.share and _spans_decades(self.table["mean"][self.table["n_diverged"] == 0])
        self.x_log = self.steps or (not self.turned and _spans_decades(self.table["x"]))
        first, last = self.table["x"][np.isfinite(self.table["x"])].agg(["min", "max"])
        # infinity is a fifth beyond the last finite number
        self.beyond = last * max((last / first) ** 0.18, 1.5) if self.x_log else last + max(0.18 * (last - first), 0.5)
        self.table["at"] = self.table["x"].clip(upper=self.beyond)

    def _table(self) -> pd.DataFrame:
        """(a)"""
        plan, parts = self.plan, []
        # theory of the first colour, a middle one and the last: more curves cannot be distinguished
        hues = {0, len(self.colours) // 2, len(self.colours) - 1}
        codes = zip(plan.panel.codes, plan.colour.codes, plan.style.codes, plan.row.codes, strict=True)
        for number, (line, (panel, colour, dashes, row)) in enumerate(zip(self.lines, codes, strict=True)):
            rows = line.rows[line.rows["step"] > 0] if self.steps else line.rows.tail(1)
            has_theory = self.declared.theory and (is_coordinate(line.metric) or (colour in hues and not self.turned))
            curves = line.curves(self.theories, rows["step"].to_numpy(), drawn=True) if has_theory else {}
            self.theory |= {name: name.partition(",")[0] for name in curves}
            by_kind = {self.theory[name]: values for name, values in curves.items()}
            # within a row by the colour
            place = row + 0.5 * ((colour + 0.5) / len(self.colours) - 0.5)
            x = rows["step"] if self.steps else place if self.turned else float(line.settings[plan.x])
            parts.append(rows.assign(line=number, panel=panel, colour=colour, style=dashes, x=x, **by_kind))
        return pd.concat(parts, ignore_index=True).sort_values(["panel", "line", "step"], kind="stable")

    def numbers(self) -> pd.DataFrame:
        """What is drawn: the settings of every line, its rows and the curves of theory."""
        lines, value = self.table["line"], "mean" if self.declared.statistic == "mean" else "median"
        columns = {column_of(name): [self.lines[k].settings.get(name) for k in lines] for name in self.plan.names}
        own = ["step", "mean", "ci_lo", "ci_hi", "n", "n_diverged", *["q25", "q75"] * self.boxes]
        table = self.table[[*own, *self.kinds]].rename(columns={"mean": value})
        return pd.concat([pd.DataFrame(columns, index=table.index, dtype=object), table], axis=1).reset_index(drop=True)

    @cached_property
    def slopes(self) -> dict[int, float]:
        """By panel what theory gives its first estimator; no panel where it gives none, or several."""
        first, exponents = dict[int, str](), dict[int, set[float | None]]()
        plain = self.steps and self.y_log and self.metric.error and self.declared.statistic == "mean"
        lines = zip(self.lines, self.plan.panel.codes, strict=True) if plain and not self.declared.theory else ()
        for line, panel in lines:
            if line.estimator == first.setdefault(panel, line.estimator) and (cell := line.run.cell):
                powers = (theory.exponent(cell, line.estimator, line.metric) for theory in self.theories)
                exponents.setdefault(panel, set()).add(next((power for power in powers if power is not None), None))
        return {panel: own for panel, (own, *others) in exponents.items() if own is not None and not others}

    def draw(self) -> Canvas:
        """(b) As wide as matplotlib's settings say, and as high as panels and words need."""
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
            line = 1.2 / 72 * style.points(size) * max(name.count("\n") + 1 for name in names)
            height = 0.8 + len(names) * (max(0.2, 0.05 + line) if few_rows else 0.96 * line)
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
            last = number + columns >= count  # no panel is below it
            own_title = style.wrapped(self.labels["panel"][number], width / columns - 0.5)
            axes.set(title=own_title, xlabel=x_label if last else "", axisbelow=True)
            axes.use_sticky_edges = False
            axes.margins(0.05, 0.12)
            axes.tick_params(labelbottom=last)
            if self.turned:
                axes.tick_params("y", labelsize=size)
            for _, own in inside.sort_values("x").groupby([*["line"] * self.steps, "colour", "style"]):
                look = own[["colour", "style"]].iloc[0]
                _line(self, axes, own, *look)
                _theory(self, axes, own, *look)
            calm = inside[inside["n_diverged"] == 0]
            if number in self.slopes and len(calm):
                _reference(axes, calm, self.slopes[number])
        if self.kinds and self.y_log and not self.turned:
            # room for theory, of which a bound may leave at the top
            low, high = panels[0].get_ylim()
            panels[0].set_ylim(low / 3, high * (30 if "bound" in self.kinds else 3))
        if not self.turned:
            canvas.supylabel(label) if columns < count else panels[0].set_ylabel(label)
        canvas.suptitle(title)
        return canvas

    def _scale(self, axes: Axes, ticks: int, rows: Sequence[str]) -> None:
        """Scales, at most so many decades named, and names of few values, infinity and rows; all panels share them."""
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


def _theory(scene: Scene, axes: Axes, rows: pd.DataFrame, hue: int, dashes: int) -> None:
    """(c) Curves of theory, in the colour and dashes of the line that they are for; a bound is paler than what is near.
    Of rows a mark each."""
    for kind, look in zip(scene.kinds, style.THEORY, strict=False):
        if scene.turned:
            axes.plot(rows[kind], rows["at"], "|", color="black", markersize=9, gid="theory", zorder=5)
            continue
        # an asymptote says nothing of the start
        first = rows["step"].max() / style.GUIDE if kind == "asymptote" else 0
        own = rows[np.isfinite(rows["x"]) & (rows["step"] >= first)]
        if own[kind].notna().any():
            colour = 1 - (0.55 if kind == "bound" else 1) * (1 - np.array(to_rgb(scene.colours[hue])))
            curve = Line2D(own["at"], own[kind], linestyle=style.STYLES[dashes], color=tuple(colour), **look)
            # an artist sets no limits: a bound may be far above
            axes.add_artist(curve).set(gid="theory", zorder=2.5)


def _reference(axes: Axes, rows: pd.DataFrame, slope: float) -> None:
    """(c) A dotted guide of the slope of theory below all curves of the panel, over the last decade and a half."""
    last = float(rows["step"].max())
    late = rows[rows["step"] >= last / style.GUIDE]
    # where a guide that touches a curve from below is at the last step
    level, start = 0.6 * float((late["mean"] * (late["step"] / last) ** -slope).min()), float(late["step"].min())
    style.guide(axes, (start, last), level, slope, f"slope {'$-$' if slope < 0 else ''}{fraction(abs(slope))}")


def _entries(scene: Scene) -> list[Any]:
    """(d) Handles with their labels."""
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
