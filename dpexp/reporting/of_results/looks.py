"""Colours, markers and line styles of any number of levels, and the legend that explains all of them."""

from __future__ import annotations

import math
import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.config.settings import spelled
from dpexp.reporting import style
from dpexp.reporting.of_results.choose import Factor

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COLOURS = ("#2f66ad", "#f0973c", "#8c1245", "#2f9e74", "#111111", "#b58ad6", "#5c5c5c", "#8fb8de")
"""the first five are those of budgets: grey print and colour-blind readers tell them apart; of more, markers do"""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p")
BELOW, LEFT, ABOVE, RIGHT = "$\\downarrow$", "$\\leftarrow$", "$\\uparrow$", "$\\rightarrow$"
"""markers at the edge of a panel of a value beyond it"""
STYLES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
FEW = 4
"""numbers from which shades tell their order"""
PLAIN = COLOURS[0]
GREY = "#555555"
WIDTH = 7.2
"""inches of a figure: the text width of a page"""
MOST_COLUMNS = 6
CHARACTER, HANDLE = 0.064, 0.62
"""inches of a character of 8 points, and of what stands before a label and after it"""


def colours_of(factor: Factor | None) -> list[str]:
    """A colour for every level: those of known budgets, shades for many numbers, else eight that differ."""
    if factor is None:
        return [PLAIN]
    numbers = factor.numbers
    if factor.names == ("mu",):
        budgets = [spelled("mu", level[0]) for level in factor.levels]
        # a budget of the papers has the same colour in every figure
        if sum(name not in style.BUDGET_COLOURS for name in budgets) <= len(style.SPARE_COLOURS):
            return [style.colour_of(name, budgets) for name in budgets]
    if numbers is None or len(numbers) < FEW:
        return [COLOURS[k % len(COLOURS)] for k in range(len(factor.levels))]
    # no privacy is black beside shades of the budgets
    finite = [value for value in numbers if math.isfinite(value)]
    return [*_shades(len(finite)), *["#111111"] * (len(numbers) - len(finite))]


def _shades(count: int) -> list[str]:
    """From dark to light of a map whose lightness grows evenly; its lightest end cannot be seen on white."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if count == 1:
        return [PLAIN]
    return [to_hex(colormaps["viridis"](0.8 * k / (count - 1))) for k in range(count)]


def wrapped(text: str, inches: float, points: float = 8.0) -> str:
    """Text in lines that fit, as far as its words do."""
    fits = max(12, int(inches / (CHARACTER * points / 8.0)))
    return "\n".join(textwrap.wrap(text, fits, break_on_hyphens=False, break_long_words=False)) or text


def legend(canvas: Canvas, handles: list[Any], inches: float = WIDTH) -> None:
    """The legend under the panels of a figure that is so wide."""
    labels = _labels(handles, inches)
    for handle, label in zip(handles, labels, strict=True):
        handle.set_label(label)
    canvas.legend(handles=handles, loc="outside lower center", ncols=_columns(labels, inches), frameon=False,
                  fontsize=8, columnspacing=1.2, handlelength=2.2)  # fmt: skip


def legend_height(handles: list[Any], inches: float = WIDTH) -> float:
    """Inches that the legend takes, near enough to leave room for it."""
    labels = _labels(handles, inches)
    return 0.1 + 0.17 * max(
        sum(label.count("\n") + 1 for label in column) for column in _split(labels, _columns(labels, inches))
    )


def _labels(handles: list[Any], inches: float) -> list[str]:
    return [wrapped(str(handle.get_label()), inches - HANDLE) for handle in handles]


def _columns(labels: list[str], inches: float) -> int:
    """As many columns as fit beside each other, each as wide as its longest label."""
    # as many columns as fit: the fewest rows below the panels
    for count in range(min(len(labels), MOST_COLUMNS), 1, -1):
        widths = [max(map(_length, "\n".join(column).split("\n"))) for column in _split(labels, count)]
        if sum(CHARACTER * width + HANDLE for width in widths) <= inches - 0.1:
            return count
    return 1


def _length(label: str) -> int:
    """Characters that a label shows, of which a symbol is one."""
    return len(re.sub(r"\\[a-zA-Z]+", "x", label.replace("$", "")))


def _split(labels: list[str], count: int) -> list[list[str]]:
    """Columns of a legend, as matplotlib fills them: the first ones are longer by one."""
    return [list(map(str, column)) for column in np.array_split(labels, count) if len(column)]
