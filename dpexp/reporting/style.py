"""How figures look: sizes, colours, line styles, legends; colours stay apart under colour-vision deficiency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.4,
    "figure.dpi": 200,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.hashsalt": "dpexp",
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
}

BUDGET_COLOURS = {"0.5": "#a50f4c", "1": "#e0701a", "2": "#2a9d6f", "3": "#2b6cb8", "non-private": "#111111"}
"""dark red, orange, green, blue and black differ in lightness and under colour-vision deficiency"""
SPARE_COLOURS = ("#7a4fa3", "#c9a300", "#5c5c5c", "#8fb8de")
LINE_STYLES: dict[str, Any] = {"sgd": "-", "asgd": (0, (4, 1.6))}
NAMES = {"sgd": "LDP-SGD", "asgd": "LDP-ASGD"}
BAND_ALPHA = 0.22
GUIDE = 30.0
"""last step over first step of a reference slope"""


def colour_of(label: str, labels: Sequence[str]) -> str:
    """Colour of a budget; a spare one for budgets that the palette does not name."""
    if label in BUDGET_COLOURS:
        return BUDGET_COLOURS[label]
    others = [name for name in labels if name not in BUDGET_COLOURS]
    return SPARE_COLOURS[others.index(label) % len(SPARE_COLOURS)]


def budget_name(label: str) -> str:
    """A budget in mathematics: mu = 2, mu_i ~ Uniform(1, 2), non-private."""
    if label == "non-private":
        return "non-private"
    return rf"$\mu_i \sim$ {label}" if "(" in label else rf"$\mu$ = {label}"


def log_log(axes: Axes) -> None:
    """Both axes logarithmic, with one tick a decade and quiet minor ticks."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=12))
        axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=12))
        axis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=2, width=0.5)


def panels(
    width: float, height: float, columns: int = 1, log: bool = True, sharex: bool = False, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A canvas of that many inches and its panels side by side, their axes logarithmic or as they are."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained")
    axes: list[Axes] = list(canvas.subplots(1, columns, squeeze=False, sharex=sharex, sharey=sharey)[0])
    for panel in axes if log else ():
        log_log(panel)
    return canvas, axes


def legend_below(canvas: Figure, columns: int, more: Sequence[Any] = (), **looks: Any) -> None:
    """One legend under all panels: what the first one has labels for, and further handles."""
    handles, _ = canvas.axes[0].get_legend_handles_labels()
    canvas.legend(handles=[*handles, *more], loc="outside lower center", ncols=columns, frameon=False, **looks)


def note(axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float] = (0, 3), **looks: Any) -> None:
    """Small words beside a point, so many points of type away from it."""
    place: dict[str, Any] = {"xytext": offset, "textcoords": "offset points", "fontsize": 8}
    axes.annotate(text, at, **(place | looks))


def ticks_at(axes: Axes, values: Sequence[float]) -> None:
    """Ticks of the horizontal axis at these values alone."""
    from matplotlib.ticker import NullLocator

    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.xaxis.set_minor_locator(NullLocator())


def reference_slope(axes: Axes, slope: float, text: str, n: float, level: float) -> None:
    """A dotted guide through (n, level) over the last decade and a half, with its slope written beside it."""
    start = n / GUIDE
    axes.plot([start, n], [level * (start / n) ** slope, level], ":", color="#444444", linewidth=1.1, zorder=1.5)
    middle = (start * n) ** 0.5
    note(axes, text, (middle, level * (middle / n) ** slope), (0, -3), ha="right", va="top", color="#333333")


def shared_legend(figure: Figure, budgets: Sequence[str], estimators: Sequence[str], band: str) -> None:
    """One legend under the panels: colour is the budget, line style the estimator, the shading named."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    lines = [Line2D([], [], color=colour_of(b, budgets), label=budget_name(b), linewidth=2) for b in budgets]
    styles = [Line2D([], [], color="#555555", linestyle=LINE_STYLES[e], label=NAMES[e]) for e in estimators]
    shade = [Patch(facecolor="#555555", alpha=BAND_ALPHA + 0.1, label=band)]
    guide = [Line2D([], [], color="#444444", linestyle=":", linewidth=1.1, label="reference slope")]
    others = [*styles, *shade, *guide]
    columns = max(len(lines), len(others))
    blank: Any = Line2D([], [], linestyle="none", label="")
    rows = [[*row, *[blank] * (columns - len(row))] for row in (lines, others)]
    handles = [handle for pair in zip(*rows, strict=True) for handle in pair]  # matplotlib fills columns first
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, columnspacing=1.2)
