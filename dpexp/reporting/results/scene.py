"""One figure in the making: its lines, the place of each of them, the scales of its axes and the curves of theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpexp.reporting import style
from dpexp.reporting.results.choose import LEAST_IMPORTANT, Factor, choose
from dpexp.reporting.results.declaration import DOTS, STEP, Declaration
from dpexp.reporting.results.gather import Gathered
from dpexp.reporting.results.labels import level_label
from dpexp.reporting.results.lines import Line, Rows, Theory, curves_of, exponent_of, lines_of
from dpexp.reporting.results.metrics import metric_of
from dpexp.store.stats import is_coordinate

LOGARITHMIC = 8.0
"""largest over smallest from which an axis of positive numbers is logarithmic"""
WILD = 1e6
"""first value of a line, over the least of all lines, from which it sets no limit: it has all but diverged"""
MOST_DECADES = 1e8
"""largest over smallest value of an axis: what is below is rounding error"""
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
        self.declared, self.theories, self.words = declared, theories, gathered.words
        self.gathered = gathered.of(declared.estimators, declared.statistic)
        self.metric = self.gathered.metric(declared.y)
        self.lines = lines_of(self.gathered, self.metric)
        # step 0 has no place on a logarithmic axis
        checkpoints = min(int((line.rows.step > 0).sum()) for line in self.lines)
        self.plan = choose([line.settings for line in self.lines], gathered.sections, checkpoints, declared)
        self.x: str = self.plan.x
        self.turned = self.x == DOTS
        """whether rows are along the vertical axis, and values along the other one"""
        self.finite_x = sorted({x for x in map(self.horizontal, self.lines) if math.isfinite(x)}) or [1.0]
        self.x_log = self.x == STEP or (not self.turned and _spans_decades(np.array(self.finite_x)))
        self.colours = style.colours_of(self.plan.colour)
        places = [tuple(factor.of(line.settings) for factor in self.plan.panels) for line in self.lines]
        self.panels = {place: [line for line, own in zip(self.lines, places, strict=True) if own == place]
                       for place in sorted(set(places))}  # fmt: skip
        """lines of every panel, in the order of the facets"""
        self.y_log, low, high = self._values()
        self.limits = low, high
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
        names = [name for name in self.plan.implied if name not in LEAST_IMPORTANT]
        return [name for name in names if len({line.settings.get(name) for line in lines}) > 1]

    def labels(self, factor: Factor | None) -> list[str]:
        """The levels of a factor in words; what several algorithms share is called after none of them."""
        labels: list[str] = []
        if factor is None:
            return labels
        for level in range(len(factor.levels)):
            own = [line.settings for line in self.lines if self.level(factor, line) == level]
            shared = len({settings.get("algorithm") for settings in own}) > 1
            labels.append(level_label(factor, level, self.words, own[0] | ({"algorithm": ""} if shared else {})))
        return labels

    def rows(self, line: Line) -> Rows:
        """The rows of a line that are drawn: those of steps, or the last one."""
        return line.rows.at(line.rows.step > 0 if self.x == STEP else slice(-1, None))

    def horizontal(self, line: Line) -> float:
        """The value of a line along the axis; the number of its row."""
        return float(line.settings[self.x] if self.x not in (STEP, DOTS) else self.level(self.plan.rows, line))

    def at(self, line: Line) -> float:
        """The place of a line on that axis: within a row by its colour, infinity a fifth beyond the last number."""
        x, first, last = self.horizontal(line), self.finite_x[0], self.finite_x[-1]
        if self.turned:
            return x + 0.5 * ((self.level(self.plan.colour, line) + 0.5) / len(self.colours) - 0.5)
        if math.isfinite(x):
            return x
        return float(last * max((last / first) ** 0.18, 1.5) if self.x_log else last + max(0.18 * (last - first), 0.5))

    def beyond(self) -> list[Line]:
        """Lines without a diverged replicate whose last value is outside of the axis."""
        low, high = self.limits
        return [line for line in self.lines if not line.diverged and not low <= line.last[0] <= high]

    def exponent(self, lines: Sequence[Line]) -> float | None:
        """What theory gives the first estimator of a panel; None where it gives none, or several."""
        plain = self.x == STEP and self.y_log and not self.declared.theory and self.declared.statistic == "mean"
        if not plain or not metric_of(self.metric).error:
            return None
        cells = [cell for line in lines if line.estimator == lines[0].estimator and (cell := line.run.known)]
        exponents = {exponent_of(self.theories, cell, lines[0].estimator, self.metric) for cell in cells}
        return next(iter(exponents)) if len(exponents) == 1 else None

    def _values(self) -> tuple[bool, float, float]:
        """Whether the axis of values is logarithmic, and its limits with some room, from the lines that have not
        diverged, nor been thrown far off by the first step; a share is read off a linear axis."""
        lines = [line for line in self.lines if not line.diverged]
        # all begin at one place, so that after a single step they are near each other
        first = {id(line): float(line.rows.mean[0]) for line in lines if line.rows.step[0] <= 1}
        least = min((value for value in first.values() if value > 0), default=math.inf)
        lines = [line for line in lines if first.get(id(line), 0.0) <= WILD * least] or lines or self.lines
        means, lows, highs = (np.concatenate([self.rows(line)[k] for line in lines]) for k in (1, 3, 4))
        log = _spans_decades(means) and not metric_of(self.metric).share
        values = np.concatenate([means, highs, np.where((lows > means / 10) | (not log), lows, np.nan)])
        values = values[np.isfinite(values) & ((values > 0) | (not log))]
        if not len(values):
            return log, -1.0, 1.0
        high = float(values.max())
        low = float(values[values >= high / MOST_DECADES].min() if log else values.min())
        if log:
            room = max((high / low) ** 0.06, 1.12)
            return log, low / room, high * room
        room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
        return log, low - room, high + room

    def _theory(self, line: Line) -> dict[str, np.ndarray]:
        """The curves at the steps that are drawn; of more than three colours three have them."""
        count, coordinate = len(self.colours), is_coordinate(line.metric)
        hues = range(count) if count <= MOST_HUES else (0, count // 2, count - 1)
        if not coordinate and (self.turned or self.level(self.plan.colour, line) not in hues):
            return {}
        return curves_of(self.theories, line.run.cell, line.estimator, line.metric, self.rows(line).step, drawn=True)


def _spans_decades(values: np.ndarray) -> bool:
    """Whether all finite values are positive, and so far apart that an axis should be logarithmic."""
    finite = values[np.isfinite(values)]
    return bool(len(finite) and finite.min() > 0 and finite.max() / finite.min() >= LOGARITHMIC)
