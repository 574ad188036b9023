"""One figure in the making: its lines, where each of them belongs, and the scales of its axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpexp.config.settings import Words
from dpexp.core.errors import UsageError
from dpexp.reporting.digits import from_to
from dpexp.reporting.of_results import looks
from dpexp.reporting.of_results.choose import DOTS, ESTIMATOR, STEP, Factor, Plan, Wishes, choose
from dpexp.reporting.of_results.gather import Gathered
from dpexp.reporting.of_results.lines import Line, Rows, Theory, exponent_of, fitted, lines_of
from dpexp.reporting.of_results.metrics import metric_of
from dpexp.reporting.of_results.statistic import of_replicates
from dpexp.reporting.slopes import Rate, decades

MOST_SLOPES = 120
"""lines of a figure whose trajectories are read for slopes"""
MOST_MARKED = 12
"""lines of a panel whose slopes can be written beside it"""
LOGARITHMIC = 8.0
"""largest over smallest from which an axis of positive numbers is logarithmic"""


@dataclass(frozen=True)
class Request:
    """What is to be drawn, as the command line says it; empty where the rules decide."""

    metric: str | None = None
    wishes: Wishes = field(default_factory=Wishes)
    estimators: tuple[str, ...] = ()
    log: str = ""
    """the logarithmic axes: x, y, xy or none"""
    theories: tuple[Theory, ...] = ()
    """asked for the exponents of reference slopes"""
    theory: bool = False
    """whether their curves are drawn as well"""
    slopes: bool = True
    """whether slopes are fitted, for which the trajectories are read"""
    title: str = ""
    only: str | None = None
    """an expression that picks cells"""
    statistic: str = "mean"
    """of the replicates: a name of `statistic.STATISTICS`"""
    kind: str = "line"
    """line, or box: final values of the replicates as boxes, a row for each setting"""
    width: float = looks.WIDTH
    """inches"""


WILD = 1e6
"""value of a line after one step, over the least of all lines, from which it sets no limit: it has all but diverged"""
MOST_DECADES = 1e8
"""largest over smallest value of an axis"""


class Scene:
    """The lines of a figure and their places. Raises UsageError for a request that cannot be met."""

    def __init__(self, gathered: Gathered, request: Request) -> None:
        if request.log not in ("", "x", "y", "xy", "none"):
            raise UsageError(f"--log is x, y, xy or none, not {request.log!r}")
        if request.kind not in ("line", "box"):
            raise UsageError(f"--kind is line or box, not {request.kind!r}")
        if request.kind == "box":
            # whiskers are quantiles, and boxes stand in rows
            request = replace(request, statistic="quantiles", wishes=replace(request.wishes, x=DOTS))
        gathered = gathered.estimated(request.estimators)
        self.metric = gathered.metric(request.metric)
        if request.statistic != "mean" and request.theory:
            raise UsageError(f"--statistic {request.statistic}: theory is of means", "leave out --theory")
        gathered = of_replicates(gathered, [self.metric], request.statistic)
        self.gathered, self.request = gathered, request
        self.lines = lines_of(gathered, self.metric)
        self.words: Words = gathered.words
        wishes = request.wishes
        if request.theory and not wishes.facet and wishes.hue != ESTIMATOR and len(gathered.estimators) > 1:
            wishes = replace(wishes, facet=(ESTIMATOR,))  # line styles are those of theory
        self.derived = ("n",) if all(run.steps_are_its_own for run in gathered.runs) else ()
        """settings that follow from others by definition"""
        # step 0 has no place on a logarithmic axis
        checkpoints = min(int((line.rows.step > 0).sum()) for line in self.lines)
        settings = [line.settings for line in self.lines]
        self.plan: Plan = choose(settings, gathered.sections, checkpoints, wishes, self.derived)
        self.colours = looks.colours_of(self.plan.hue)
        self.panels = self._panels()
        self.y_log, self.x_log = self._logarithmic()
        curves = self.plan.x == STEP and self.x_log and self.y_log and len(self.lines) <= MOST_SLOPES
        curves = curves and request.slopes and request.statistic == "mean"
        self.slopes: list[Rate | str] = (
            fitted(self.lines, self.metric, request.theories) if curves else [""] * len(self.lines)
        )
        """of every line; a reason where there is none, and no word where nobody looked for one"""

    @property
    def replicates(self) -> str:
        """How many, or from how many to how many."""
        return from_to(line.replicates for line in self.lines)

    @property
    def one_replicate(self) -> bool:
        return all(line.replicates == 1 for line in self.lines)

    # --- where a line belongs

    def level(self, factor: Factor | None, line: Line) -> int:
        return 0 if factor is None else factor.of(line.settings)

    def colour(self, line: Line) -> str:
        return self.colours[self.level(self.plan.hue, line)]

    def dashes(self, line: Line) -> Any:
        return looks.STYLES[self.level(self.plan.style, line)]

    def marker(self, line: Line) -> str:
        factor = self.plan.style or self.plan.hue
        return looks.MARKERS[self.level(factor, line) % len(looks.MARKERS)]

    def _panels(self) -> dict[tuple[int, ...], list[int]]:
        """Numbers of the lines of every panel, in the order of the facets; no panel is empty."""
        found: dict[tuple[int, ...], list[int]] = {}
        for number, line in enumerate(self.lines):
            place = tuple(factor.of(line.settings) for factor in self.plan.facets)
            found.setdefault(place, []).append(number)
        return dict(sorted(found.items()))

    def curves(self, members: Sequence[int]) -> list[list[int]]:
        """Numbers of the lines of a panel by colour and style: those of a curve against a number."""
        found: dict[tuple[int, int], list[int]] = {}
        for k in members:
            line = self.lines[k]
            found.setdefault((self.level(self.plan.hue, line), self.level(self.plan.style, line)), []).append(k)
        return list(found.values())

    def name(self, line: Line) -> str:
        """What varies, in words."""
        shown = [name for name in line.settings if name in self.plan.shown and name != ESTIMATOR]
        words = self.words.setting(shown, line.settings)
        return " ".join(filter(None, [words, line.estimator if ESTIMATOR in self.plan.shown else ""])) or "the setting"

    def carried(self, lines: list[Line]) -> list[str]:
        """Settings that change along these lines besides the one on the axis: then they must not be joined."""
        shown = {self.plan.x, *self.derived}
        return [
            name
            for name in self.plan.implied
            if name not in shown and len({line.settings.get(name) for line in lines}) > 1
        ]

    # --- numbers

    def horizontal(self, line: Line) -> float:
        return float(line.settings[self.plan.x])

    def finite_x(self) -> list[float]:
        return sorted({x for x in map(self.horizontal, self.lines) if math.isfinite(x)})

    def at(self, line: Line) -> float:
        """The place of a line on the horizontal axis; infinity stands beyond the last number."""
        x = self.horizontal(line)
        if math.isfinite(x):
            return x
        # a fifth of the axis beyond the last number, and never upon it
        finite = self.finite_x() or [1.0]
        if self.x_log:
            return float(finite[-1] * max((finite[-1] / finite[0]) ** 0.18, 1.5))
        return float(finite[-1] + max(0.18 * (finite[-1] - finite[0]), 0.5))

    def shown_rows(self, line: Line) -> Rows:
        """The rows of a line that are drawn: those of steps, or the last one."""
        return line.rows.at(line.rows.step > 0 if self.plan.x == STEP else slice(-1, None))

    def sound(self) -> list[Line]:
        """Lines that set the limits: no replicate has diverged, nor been thrown far off by the first step.

        Without one, lines without a diverged replicate, or all of them.
        """
        whole = [line for line in self.lines if not line.diverged]
        # all begin at one place, so that after a single step they are near each other
        first = {k: float(line.rows.mean[0]) for k, line in enumerate(whole) if line.rows.step[0] <= 1}
        least = min((value for value in first.values() if value > 0), default=math.inf)
        return [line for k, line in enumerate(whole) if first.get(k, 0.0) <= WILD * least] or whole or self.lines

    def _logarithmic(self) -> tuple[bool, bool]:
        """Whether the axis of values is logarithmic, and the other one."""
        values = np.concatenate([self.shown_rows(line).mean for line in self.sound()])
        values = values[np.isfinite(values)]
        positive = bool(len(values)) and bool((values > 0).all())
        # a share between 0 and 1 is read off a linear axis
        y = positive and float(values.max() / values.min()) >= LOGARITHMIC and not metric_of(self.metric).share
        x = self.plan.x == STEP
        if self.plan.x not in (STEP, DOTS):
            finite = self.finite_x()
            x = bool(finite) and finite[0] > 0 and finite[-1] / finite[0] >= LOGARITHMIC
            if "x" in self.request.log and not (finite and finite[0] > 0):
                raise UsageError(f"--log {self.request.log}: {self.plan.x} is not positive everywhere", "--log none")
        if not self.request.log:
            return y, x
        if "y" in self.request.log and not positive:
            raise UsageError(f"--log {self.request.log}: {self.metric} is not positive everywhere", "--log none")
        return "y" in self.request.log, "x" in self.request.log

    def limits(self) -> tuple[float, float] | None:
        """Of the axis of values: from the lines that have not diverged; those that have may leave at the top."""
        parts = []
        for line in self.sound():
            rows = self.shown_rows(line)
            near = (rows.ci_lo > rows.mean / 10) | (not self.y_log)
            parts += [rows.mean, rows.ci_hi, np.where(near, rows.ci_lo, np.nan)]
        values = np.concatenate(parts)
        values = values[np.isfinite(values) & ((values > 0) | (not self.y_log))]
        if not len(values):
            return None
        low, high = float(values.min()), float(values.max())
        if self.y_log:
            # what is below is rounding error, and would flatten all else
            low = float(values[values >= high / MOST_DECADES].min())
            room = max((high / low) ** 0.06, 1.12)
            return low / room, high * room
        room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
        return low - room, high + room

    def below(self) -> list[Line]:
        """Lines whose last value lies below the axis of values, where arrows stand for them."""
        limits = self.limits()
        return [] if limits is None else [line for line in self.lines if line.rows.mean[-1] < limits[0]]

    def above(self) -> list[Line]:
        """Lines without a diverged replicate whose last value lies above that axis; arrows stand for them too."""
        limits = self.limits()
        whole = [line for line in self.lines if not line.diverged]
        return [] if limits is None else [line for line in whole if line.rows.mean[-1] > limits[1]]

    # --- slopes

    @property
    def decade(self) -> str:
        """Over which steps the slopes are measured, in words."""
        return decades(self.slopes)

    def guide(self, members: Sequence[int]) -> float | None:
        """The exponent that theory gives the first estimator of a panel; None where it gives none, or several."""
        lines = [self.lines[k] for k in members]
        first = [line for line in lines if line.estimator == lines[0].estimator]
        theories = self.request.theories
        cells = [(line, cell) for line in first if (cell := line.run.known) is not None]
        found = {exponent_of(theories, cell, line.estimator, self.metric) for line, cell in cells}
        return next(iter(found)) if len(found) == 1 else None

    @property
    def guided(self) -> bool:
        """Whether a panel shows a reference slope."""
        plain = self.plan.x == STEP and self.x_log and self.y_log and not self.request.theory
        plain = plain and self.request.statistic == "mean"
        curves = plain and metric_of(self.metric).error
        return curves and any(self.guide(members) is not None for members in self.panels.values())

    def marked(self, members: list[int]) -> bool:
        """Whether the slopes of a panel's lines are written beside it."""
        return len(members) <= MOST_MARKED and any(isinstance(self.slopes[k], Rate) for k in members)
