"""One figure in the making: its lines, the place of each of them, the scales of its axes and the curves of theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.reporting import style
from dpexp.reporting.results.choose import ESTIMATOR, Factor, choose
from dpexp.reporting.results.declaration import DOTS, STEP, Declaration
from dpexp.reporting.results.gather import Gathered
from dpexp.reporting.results.labels import level_label
from dpexp.reporting.results.lines import Line, Rows, Theory, curves_of, exponent_of, lines_of, of_replicates
from dpexp.reporting.results.metrics import COEFFICIENTS, metric_of
from dpexp.store.stats import is_coordinate

LOGARITHMIC = 8.0
"""largest over smallest from which an axis of positive numbers is logarithmic"""
WILD = 1e6
"""value of a line after one step, over the least of all lines, from which it sets no limit: it has all but diverged"""
MOST_DECADES = 1e8
"""largest over smallest value of an axis"""
MOST_HUES = 3
"""colours with theory: the first, a middle one and the last, as more curves cannot be distinguished"""


def kind_of(name: str) -> str:
    """What a curve is, without the theorem: `bound, Theorem 3` is a bound."""
    return name.partition(",")[0]


class Scene:
    """The lines of a figure and their places. Raises UsageError for a declaration that these results cannot meet."""

    def __init__(self, gathered: Gathered, declared: Declaration, theories: Sequence[Theory] = ()) -> None:
        if declared.kind == "box":
            # whiskers are quantiles, and boxes are rows
            declared = replace(declared, statistic="quantiles", x=DOTS)
        gathered = gathered.estimated(declared.estimators)
        if declared.theory and not declared.panel and declared.colour != ESTIMATOR and len(gathered.estimators) > 1:
            declared = replace(declared, panel=(ESTIMATOR,))  # line styles are those of theory
        self.metric = gathered.metric(declared.y or None)
        self.declared, self.theories, self.words = declared, theories, gathered.words
        metrics = gathered.coordinates if self.metric == COEFFICIENTS else [self.metric]
        self.gathered = of_replicates(gathered, metrics, declared.statistic)
        self.lines = lines_of(self.gathered, self.metric)
        # step 0 has no place on a logarithmic axis
        checkpoints = min(int((line.rows.step > 0).sum()) for line in self.lines)
        settings = [line.settings for line in self.lines]
        self.plan = choose(settings, gathered.sections, checkpoints, declared, gathered.derived)
        self.x = self.plan.x
        if declared.theory and self.plan.style is not None and self.x == STEP:
            message = "--theory draws its curves by line style, which --style uses too"
            raise UsageError(message, "--facet in place of --style")
        self.swept = self.x not in (STEP, DOTS)
        """whether a setting is on the horizontal axis"""
        self.finite_x = sorted({x for x in map(self.horizontal, self.lines) if math.isfinite(x)} if self.swept else ())
        self.colours = style.colours_of(self.plan.colour)
        places = [tuple(factor.of(line.settings) for factor in self.plan.panels) for line in self.lines]
        self.panels = {place: [line for line, own in zip(self.lines, places, strict=True) if own == place]
                       for place in sorted(set(places))}  # fmt: skip
        """lines of every panel, in the order of the facets"""
        self.y_log, self.x_log = self._logarithmic()
        self.limits = self._limits()
        self.curves = {id(line): self._theory(line) for line in self.lines} if declared.theory else {}
        """of theory, by line"""
        self.theory_names = list(dict.fromkeys(name for curves in self.curves.values() for name in curves))
        self.kinds = list(dict.fromkeys(map(kind_of, self.theory_names)))

    def level(self, factor: Factor | None, line: Line) -> int:
        return 0 if factor is None else factor.of(line.settings)

    def colour(self, line: Line) -> str:
        return self.colours[self.level(self.plan.colour, line)]

    def dashes(self, line: Line) -> Any:
        return style.STYLES[self.level(self.plan.style, line)]

    def marker(self, line: Line) -> str:
        return style.MARKERS[self.level(self.plan.style or self.plan.colour, line) % len(style.MARKERS)]

    def groups(self, lines: Sequence[Line]) -> list[list[Line]]:
        """Lines of a panel by colour and style, along the horizontal axis: those of a curve against a setting."""
        groups: dict[tuple[int, int], list[Line]] = {}
        for line in sorted(lines, key=self.horizontal):
            key = self.level(self.plan.colour, line), self.level(self.plan.style, line)
            groups.setdefault(key, []).append(line)
        return [groups[key] for key in sorted(groups)]

    def carried(self, lines: Sequence[Line]) -> list[str]:
        """Settings that change along these lines besides the one on the axis: then they must not be joined."""
        names = [name for name in self.plan.implied if name not in (self.x, *self.gathered.derived)]
        return [name for name in names if len({line.settings.get(name) for line in lines}) > 1]

    def label(self, factor: Factor, level: int) -> str:
        """A level in words."""
        own = [line.settings for line in self.lines if factor.of(line.settings) == level]
        # what several algorithms share is called after none of them
        shared = len({settings.get("algorithm") for settings in own}) > 1
        return level_label(factor, level, self.words, own[0] | {"algorithm": ""} if shared else own[0])

    def labels(self, factor: Factor | None) -> list[str]:
        """Of all its levels."""
        return [self.label(factor, k) for k in range(len(factor.levels))] if factor is not None else []

    def name(self, line: Line) -> str:
        """What varies, in words."""
        names = [name for name in line.settings if name in self.plan.names and name != ESTIMATOR]
        estimator = line.estimator if ESTIMATOR in self.plan.names else ""
        return " ".join(filter(None, [self.words.setting(names, line.settings), estimator])) or "the setting"

    def rows(self, line: Line) -> Rows:
        """The rows of a line that are drawn: those of steps, or the last one."""
        return line.rows.at(line.rows.step > 0 if self.x == STEP else slice(-1, None))

    def horizontal(self, line: Line) -> float:
        return float(line.settings[self.x])

    def at(self, line: Line) -> float:
        """The place of a line on the horizontal axis; infinity is a fifth of the axis beyond the last number."""
        if math.isfinite(x := self.horizontal(line)):
            return x
        first, *_, last = [*self.finite_x, *self.finite_x] or [1.0, 1.0]
        if self.x_log:
            return float(last * max((last / first) ** 0.18, 1.5))
        return float(last + max(0.18 * (last - first), 0.5))

    def _sound(self) -> list[Line]:
        """Lines that set the limits: no replicate has diverged, nor been thrown far off by the first step."""
        lines = [line for line in self.lines if not line.diverged]
        # all begin at one place, so that after a single step they are near each other
        first = {id(line): float(line.rows.mean[0]) for line in lines if line.rows.step[0] <= 1}
        least = min((value for value in first.values() if value > 0), default=math.inf)
        return [line for line in lines if first.get(id(line), 0.0) <= WILD * least] or lines or self.lines

    def _logarithmic(self) -> tuple[bool, bool]:
        """Whether the axis of values is logarithmic, and the other one."""
        values = np.concatenate([self.rows(line).mean for line in self._sound()])
        values, x = values[np.isfinite(values)], np.array(self.finite_x)
        positive = {"y": len(values) > 0 and values.min() > 0, "x": len(x) > 0 and x.min() > 0}
        if log := self.declared.log:
            for axis, name in (("y", self.metric), ("x", self.x)):
                if axis in log and not positive[axis] and not (axis == "x" and self.x == STEP):
                    raise UsageError(f"--log {log}: {name} is not positive everywhere", "--log none")
            return "y" in log, "x" in log
        # a share between 0 and 1 is read off a linear axis
        y = positive["y"] and values.max() / values.min() >= LOGARITHMIC and not metric_of(self.metric).share
        return bool(y), self.x == STEP or bool(positive["x"] and x[-1] / x[0] >= LOGARITHMIC)

    def _limits(self) -> tuple[float, float]:
        """Of the axis of values, with some room: from the lines that have not diverged."""
        parts = []
        for line in self._sound():
            rows = self.rows(line)
            near = (rows.ci_lo > rows.mean / 10) | (not self.y_log)
            parts += [rows.mean, rows.ci_hi, np.where(near, rows.ci_lo, np.nan)]
        values = np.concatenate(parts)
        values = values[np.isfinite(values) & ((values > 0) | (not self.y_log))]
        if not len(values):
            return (0.1, 10.0) if self.y_log else (-1.0, 1.0)
        low, high = float(values.min()), float(values.max())
        if self.y_log:
            # what is below is rounding error, and would flatten everything else
            low = float(values[values >= high / MOST_DECADES].min())
            room = max((high / low) ** 0.06, 1.12)
            return low / room, high * room
        room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
        return low - room, high + room

    def beyond(self) -> list[Line]:
        """Lines without a diverged replicate whose last value is outside of the axis."""
        low, high = self.limits
        return [line for line in self.lines if not line.diverged and not low <= line.last[0] <= high]

    def exponent(self, lines: Sequence[Line]) -> float | None:
        """What theory gives the first estimator of a panel; None where it gives none, or several."""
        plain = self.x == STEP and self.x_log and self.y_log and not self.declared.theory
        if not plain or self.declared.statistic != "mean" or not metric_of(self.metric).error:
            return None
        first = [line for line in lines if line.estimator == lines[0].estimator]
        cells = [cell for line in first if (cell := line.run.known)]
        exponents = {exponent_of(self.theories, cell, lines[0].estimator, self.metric) for cell in cells}
        return next(iter(exponents)) if len(exponents) == 1 else None

    def _theory(self, line: Line) -> dict[str, np.ndarray]:
        """The curves at the steps that are drawn; of more than three colours three have them."""
        count = len(self.colours)
        hues = range(count) if count <= MOST_HUES else (0, count // 2, count - 1)
        coordinate = is_coordinate(line.metric)
        if not coordinate and (self.x == DOTS or self.level(self.plan.colour, line) not in hues):
            return {}
        metric = line.metric if coordinate else self.metric
        return curves_of(self.theories, line.run.cell, line.estimator, metric, self.rows(line).step, drawn=True)
