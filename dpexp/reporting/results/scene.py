"""One figure in the making: its lines, the place of each of them, the scales of its axes and the curves of theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpexp.config.cell_settings import Words
from dpexp.core.errors import UsageError
from dpexp.reporting import style
from dpexp.reporting.results.choose import ESTIMATOR, Factor, choose
from dpexp.reporting.results.declaration import DOTS, STEP, Declaration
from dpexp.reporting.results.gather import Gathered
from dpexp.reporting.results.labels import estimator_name, level_label
from dpexp.reporting.results.lines import Line, Rows, Theory, drawn_of, exponent_of, lines_of
from dpexp.reporting.results.metrics import COEFFICIENTS, metric_of
from dpexp.reporting.results.statistic import of_replicates
from dpexp.store.stats import is_coordinate

LOGARITHMIC = 8.0
"""largest over smallest from which an axis of positive numbers is logarithmic"""
WILD = 1e6
"""value of a line after one step, over the least of all lines, from which it sets no limit: it has all but diverged"""
MOST_DECADES = 1e8
"""largest over smallest value of an axis"""
MOST_HUES = 3
"""colours with theory: the first, a middle one and the last, as more curves cannot be told apart"""


class Scene:
    """The lines of a figure and their places. Raises UsageError for a declaration that these results cannot meet."""

    def __init__(self, gathered: Gathered, said: Declaration, theories: Sequence[Theory] = ()) -> None:
        if said.kind == "box":
            # whiskers are quantiles, and boxes are rows
            said = replace(said, statistic="quantiles", x=DOTS)
        gathered = gathered.estimated(said.estimators)
        if said.theory and not said.panel and said.colour != ESTIMATOR and len(gathered.estimators) > 1:
            said = replace(said, panel=(ESTIMATOR,))  # line styles are those of theory
        self.metric = gathered.metric(said.y or None)
        self.said, self.theories = said, theories
        named = gathered.coordinates if self.metric == COEFFICIENTS else [self.metric]
        self.gathered = of_replicates(gathered, named, said.statistic)
        self.lines = lines_of(self.gathered, self.metric)
        self.words: Words = gathered.words
        self.derived = ("n",) if all(run.steps_are_its_own for run in gathered.runs) else ()
        """settings that follow from others by definition"""
        # step 0 has no place on a logarithmic axis
        checkpoints = min(int((line.rows.step > 0).sum()) for line in self.lines)
        settings = [line.settings for line in self.lines]
        self.plan = choose(settings, gathered.sections, checkpoints, said, self.derived)
        self.colours = style.colours_of(self.plan.colour)
        self.panels: dict[tuple[int, ...], list[Line]] = {}
        """lines of every panel, in the order of the facets; no panel is empty"""
        for line in self.lines:
            self.panels.setdefault(tuple(self.level(factor, line) for factor in self.plan.panels), []).append(line)
        self.panels = dict(sorted(self.panels.items()))
        self.y_log, self.x_log = self._logarithmic()
        self.limits = self._limits()
        self.curves = {id(line): self._theory(line) for line in self.lines} if said.theory else {}
        """of theory, by line"""
        self.theory_names = list(dict.fromkeys(name for curves in self.curves.values() for name in curves))

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
        found: dict[tuple[int, int], list[Line]] = {}
        for line in sorted(lines, key=self.horizontal):
            found.setdefault((self.level(self.plan.colour, line), self.level(self.plan.style, line)), []).append(line)
        return [found[key] for key in sorted(found)]

    def carried(self, lines: Sequence[Line]) -> list[str]:
        """Settings that change along these lines besides the one on the axis: then they must not be joined."""
        names = [name for name in self.plan.implied if name not in (self.plan.x, *self.derived)]
        return [name for name in names if len({line.settings.get(name) for line in lines}) > 1]

    def label(self, factor: Factor, level: int) -> str:
        """A level in words."""
        if factor.names == (ESTIMATOR,):
            return estimator_name(next(line for line in self.lines if factor.of(line.settings) == level))
        return level_label(factor, level, self.words)

    def labels(self, factor: Factor | None) -> list[str]:
        """Of all its levels."""
        return [self.label(factor, k) for k in range(len(factor.levels))] if factor is not None else []

    def name(self, line: Line) -> str:
        """What varies, in words."""
        shown = [name for name in line.settings if name in self.plan.shown and name != ESTIMATOR]
        words = self.words.setting(shown, line.settings)
        return " ".join(filter(None, [words, line.estimator if ESTIMATOR in self.plan.shown else ""])) or "the setting"

    def rows(self, line: Line) -> Rows:
        """The rows of a line that are drawn: those of steps, or the last one."""
        return line.rows.at(line.rows.step > 0 if self.plan.x == STEP else slice(-1, None))

    def horizontal(self, line: Line) -> float:
        return float(line.settings[self.plan.x])

    def finite_x(self) -> list[float]:
        return sorted({x for x in map(self.horizontal, self.lines) if math.isfinite(x)})

    def at(self, line: Line) -> float:
        """The place of a line on the horizontal axis; infinity is a fifth of the axis beyond the last number."""
        if math.isfinite(x := self.horizontal(line)):
            return x
        finite = self.finite_x() or [1.0]
        if self.x_log:
            return float(finite[-1] * max((finite[-1] / finite[0]) ** 0.18, 1.5))
        return float(finite[-1] + max(0.18 * (finite[-1] - finite[0]), 0.5))

    def _sound(self) -> list[Line]:
        """Lines that set the limits: no replicate has diverged, nor been thrown far off by the first step."""
        whole = [line for line in self.lines if not line.diverged]
        # all begin at one place, so that after a single step they are near each other
        first = {id(line): float(line.rows.mean[0]) for line in whole if line.rows.step[0] <= 1}
        least = min((value for value in first.values() if value > 0), default=math.inf)
        return [line for line in whole if first.get(id(line), 0.0) <= WILD * least] or whole or self.lines

    def _logarithmic(self) -> tuple[bool, bool]:
        """Whether the axis of values is logarithmic, and the other one."""
        values = np.concatenate([self.rows(line).mean for line in self._sound()])
        values = values[np.isfinite(values)]
        swept = self.finite_x() if self.plan.x not in (STEP, DOTS) else []

        def can(numbers: Sequence[float] | np.ndarray) -> bool:
            return len(numbers) > 0 and min(numbers) > 0

        if log := self.said.log:
            for axis, numbers, name in (("y", values, self.metric), ("x", swept, self.plan.x)):
                if axis in log and not can(numbers) and not (axis == "x" and self.plan.x == STEP):
                    raise UsageError(f"--log {log}: {name} is not positive everywhere", "--log none")
            return "y" in log, "x" in log
        # a share between 0 and 1 is read off a linear axis
        y = can(values) and values.max() / values.min() >= LOGARITHMIC and not metric_of(self.metric).share
        return bool(y), self.plan.x == STEP or (can(swept) and swept[-1] / swept[0] >= LOGARITHMIC)

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
            # what is below is rounding error, and would flatten all else
            low = float(values[values >= high / MOST_DECADES].min())
            room = max((high / low) ** 0.06, 1.12)
            return low / room, high * room
        room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
        return low - room, high + room

    def beyond(self) -> list[Line]:
        """Lines without a diverged replicate whose last value is outside of the axis."""
        low, high = self.limits
        return [line for line in self.lines if not line.diverged and not low <= line.rows.mean[-1] <= high]

    def exponent(self, lines: Sequence[Line]) -> float | None:
        """What theory gives the first estimator of a panel; None where it gives none, or several."""
        plain = self.plan.x == STEP and self.x_log and self.y_log and not self.said.theory
        if not plain or self.said.statistic != "mean" or not metric_of(self.metric).error:
            return None
        cells = [(line, line.run.known) for line in lines if line.estimator == lines[0].estimator]
        found = {exponent_of(self.theories, cell, line.estimator, self.metric) for line, cell in cells if cell}
        return next(iter(found)) if len(found) == 1 else None

    def _theory(self, line: Line) -> dict[str, np.ndarray]:
        """The curves at the steps that are drawn; nothing for a line whose colour has none."""
        if is_coordinate(line.metric):
            return drawn_of(self.theories, line.run.cell, line.estimator, line.metric, self.rows(line).step)
        count = len(self.colours)
        shown = set(range(count)) if count <= MOST_HUES else {0, count // 2, count - 1}
        if self.level(self.plan.colour, line) not in shown or self.plan.x == DOTS:
            return {}
        return drawn_of(self.theories, line.run.cell, line.estimator, self.metric, self.rows(line).step)
