"""How figures look: sizes, colours, line styles, legends; colours stay apart under colour-vision deficiency."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.config.cell_settings import spelled
from dpexp.reporting.results.choose import Factor, is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK = "#111111"
BUDGET_COLOURS = {"0.5": "#8c1245", "1": "#f0973c", "2": "#2f9e74", "3": "#2f66ad", "non-private": BLACK}
"""dark red, orange, green, blue and black: lightness 30, 70, 58, 43 and 5, so that they differ in grey print and
with each colour-vision deficiency"""
SPARE_COLOURS = ("#7a4fa3", "#c9a300", "#5c5c5c", "#8fb8de")
BAND_ALPHA, BOX_ALPHA = 0.22, 0.45
GUIDE = 30.0
"""last step over first step of a reference slope, and of an asymptote"""
COLOURS = ("#2f66ad", "#f0973c", "#8c1245", "#2f9e74", BLACK, "#b58ad6", "#5c5c5c", "#8fb8de")
"""the first five are those of budgets, which differ in grey print and for colour-blind readers; more have markers"""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p")
STYLES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
THEORY: tuple[dict[str, Any], ...] = tuple(
    {"marker": marker, "markersize": 3.6, "markerfacecolor": "white", "markeredgewidth": 0.8, "linewidth": 0.8,
     "markevery": 0.11} for marker in ("o", "D", "s", "p")
)  # fmt: skip
"""thin with open markers, which no measured line has: by kind of curve"""
FEW = 4
"""numbers from which shades show their order"""
GREY = "#555555"
CHARACTER, HANDLE = 0.008, 0.62
"""inches of a character for each point of its size, and of what is before a label of a legend and after it"""


def budget_colours(labels: Sequence[str]) -> list[str]:
    """Colours of the budgets of a figure; spare ones for those that the palette does not name."""
    spare = itertools.cycle(SPARE_COLOURS)
    return [BUDGET_COLOURS.get(label) or next(spare) for label in labels]


def colours_of(factor: Factor) -> list[str]:
    """A colour for every level: those of known budgets, shades for many numbers, else eight that differ."""
    if factor.names == ("mu",):
        budgets = [spelled("mu", level[0]) for level in factor.levels]
        # a budget of the papers has the same colour in every figure
        if sum(name not in BUDGET_COLOURS for name in budgets) <= len(SPARE_COLOURS):
            return budget_colours(budgets)
    numbers = [level[0] for level in factor.levels if level]
    if len(factor.names) != 1 or not all(map(is_number, numbers)) or len(numbers) < FEW:
        return [COLOURS[k % len(COLOURS)] for k in range(len(factor.levels))]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # dark to light, of a map whose lightest end cannot be seen on white; no privacy is black beside them
    shades = iter(colormaps["viridis"](np.linspace(0, 0.8, sum(map(math.isfinite, numbers)))))
    return [to_hex(next(shades)) if math.isfinite(number) else BLACK for number in numbers]


def points(size: str = "medium") -> float:
    """Points of a size of text that is relative to `font.size`."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=size).get_size_in_points())


def wrapped(text: str, inches: float, size: str = "medium") -> str:
    """Text in lines that fit, as far as its words do."""
    fits = max(12, int(inches / (CHARACTER * points(size))))
    return "\n".join(textwrap.wrap(text, fits, break_on_hyphens=False, break_long_words=False)) or text


def legend(canvas: Figure, handles: Sequence[Any], inches: float) -> float:
    """The legend under the panels of a figure that is so wide, in as many columns as fit; its height in inches."""
    for handle in handles:
        handle.set_label(wrapped(str(handle.get_label()), inches - HANDLE))
    for columns in range(min(len(handles), 6), 0, -1):
        box = canvas.legend(
            handles=handles, loc="outside lower center", ncols=columns, frameon=False, columnspacing=1.2
        )
        extent = box.get_window_extent()
        if extent.width <= canvas.bbox.width or columns == 1:
            break
        box.remove()
    return float(extent.height / canvas.dpi)


def logarithmic(axes: Axes, which: str, decades: int = 12) -> None:
    """The axis x or y logarithmic, with at most so many decades named and minor ticks without names."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(numticks=decades))
    axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=12))
    axis.set_minor_formatter(NullFormatter())


def panels(
    width: float, height: float, columns: int = 1, log: bool = True, sharex: bool = False, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A canvas of that many inches and its panels side by side, their axes logarithmic or as they are."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained")
    axes: list[Axes] = list(canvas.subplots(1, columns, squeeze=False, sharex=sharex, sharey=sharey)[0])
    for panel, which in itertools.product(axes if log else (), "xy"):
        logarithmic(panel, which)
    return canvas, axes


def legend_below(canvas: Figure, columns: int, more: Sequence[Any] = ()) -> None:
    """One legend under all panels: the labels of the first one, which has the same lines as all, and more handles."""
    handles, _ = canvas.axes[0].get_legend_handles_labels()
    canvas.legend(handles=[*handles, *more], loc="outside lower center", ncols=columns, frameon=False)


def guide(axes: Axes, steps: tuple[float, float], level: float, slope: float, text: str) -> None:
    """A dotted line of this slope in logarithms that ends at `level`, with words below its end."""
    ends = [level * (steps[0] / steps[1]) ** slope, level]
    axes.plot(steps, ends, ":", color="#444444", linewidth=1.1, zorder=1.5)
    axes.margins(y=0.12)  # room for the words
    note(axes, text, (steps[1], min(ends)), (0, -3), ha="right", va="top", color="#333333")


def note(axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float] = (0, 3), **looks: Any) -> None:
    """Words at a point, so many points of type away from it."""
    axes.annotate(text, at, xytext=offset, textcoords="offset points", **looks)


def ticks_at(axes: Axes, values: Sequence[float], names: Sequence[str] = ()) -> None:
    """Ticks of the horizontal axis at these values alone, by these names or as numbers."""
    from matplotlib.ticker import NullLocator

    axes.set_xticks(values, names or [f"{value:g}" for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
