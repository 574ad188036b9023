"""Theory over measured lines: the curves that papers give for the cells of a panel, of at most three colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.reporting.of_results import looks
from dpexp.reporting.of_results.choose import DOTS, STEP
from dpexp.reporting.of_results.lines import Line, curves_of
from dpexp.reporting.of_results.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_HUES = 3
"""colours with theory: the first, a middle one and the last, as more curves cannot be told apart"""
LATE = 30.0
"""an asymptote is drawn over this factor of steps before the end"""
DASHES: tuple[Any, ...] = ((0, (5, 1.5, 1, 1.5)), (0, (3, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5, 1, 1.5)))


class Overlay:
    """The curves of theory for the lines of a scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        hue = scene.plan.hue
        count = 1 if hue is None else len(hue.levels)
        # more colours with theory cannot be told apart: the ends and the middle stand for them
        self.hues = set(range(count)) if count <= MOST_HUES else {0, count // 2, count - 1}
        self.curves = [self._of(line) for line in scene.lines]
        self.names = list(dict.fromkeys(kind(name) for curves in self.curves for name in curves))

    def _of(self, line: Line) -> dict[str, np.ndarray]:
        """The curves at the steps that are drawn; nothing for a line whose colour has none."""
        scene = self.scene
        if scene.level(scene.plan.hue, line) not in self.hues or scene.plan.x == DOTS:
            return {}
        steps = scene.shown_rows(line).step
        return curves_of(scene.request.theories, line.run.cell, line.estimator, scene.metric, steps)

    def columns(self, number: int) -> dict[str, Any]:
        """The curves of one line at the steps that are drawn, by kind; nan where it has none."""
        own = {kind(name): values for name, values in self.curves[number].items()}
        return {name: own.get(name, math.nan) for name in self.names}

    def draw(self, axes: Axes, members: Sequence[int]) -> None:
        """The curves of one panel: against the step, or the last values joined along the horizontal axis."""
        scene = self.scene
        if scene.plan.x == STEP:
            for k in members:
                steps = scene.shown_rows(scene.lines[k]).step
                # an asymptote says nothing of the start
                late = steps >= steps[-1] / LATE
                for name, values in self.curves[k].items():
                    shown = np.where(late, values, np.nan) if kind(name) == "asymptote" else values
                    self._curve(axes, steps, shown, name, scene.lines[k])
            return
        for group in scene.curves(members):
            for name in dict.fromkeys(name for k in group for name in self.curves[k]):
                told = [(scene.lines[k], float(self.curves[k][name][-1])) for k in group if name in self.curves[k]]
                finite = sorted((scene.at(line), y) for line, y in told if math.isfinite(scene.horizontal(line)))
                # as for measured points: joined where nothing else changes
                if finite and not scene.carried([line for line, _ in told]):
                    x, y = np.array(finite).T
                    self._curve(axes, x, y, name, told[0][0])

    def _curve(self, axes: Axes, x: np.ndarray, y: np.ndarray, name: str, line: Line) -> None:
        dashes = DASHES[self.names.index(kind(name)) % len(DASHES)]
        axes.plot(x, y, color=self.scene.colour(line), linestyle=dashes, linewidth=1.1, zorder=1.8, gid="theory")

    def handles(self) -> list[Any]:
        """What the legend says of them."""
        from matplotlib.lines import Line2D

        return [
            Line2D([], [], color=looks.GREY, linestyle=DASHES[k % len(DASHES)], linewidth=1.1, label=name)
            for k, name in enumerate(self.names)
        ]

    def sources(self) -> list[str]:
        """The full names of the curves, with their theorems."""
        return list(dict.fromkeys(name for curves in self.curves for name in curves))


def kind(name: str) -> str:
    """What a curve is, without the theorem: `bound, Theorem 3` is a bound."""
    return name.partition(",")[0]
