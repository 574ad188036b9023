"""The figure of an audit: for each look the bracket from what is given away at least to what is claimed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.core.errors import UsageError
from dpexp.core.files import atomically
from dpexp.reporting.audit.audit import Row

FORMATS = ("png", "pdf", "svg")
ROOM, EACH = 1.2, 0.4
"""inches around the rows, and of a row"""
CLAIMED, SEEN, ALARM = "#444444", "#1f77b4", "#d62728"


def require_format(file: Path) -> None:
    """Raises UsageError for a format that is not drawn: said before hours of runs, not after."""
    if file.suffix.removeprefix(".") not in FORMATS:
        raise UsageError(f"{file}: a figure ends in .{', .'.join(FORMATS)}")


def draw(rows: Sequence[Row], file: Path) -> None:
    """Write the figure to a file."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib.figure import Figure as Canvas

    from dpexp.reporting.style import RC

    with mpl.rc_context(RC):
        canvas = Canvas(figsize=(9, ROOM + EACH * len(rows)), layout="constrained")
        axes = canvas.subplots()
        for place, row in enumerate(rows):
            colour = ALARM if row.alarm else SEEN
            axes.plot([row.lower_bound, row.claimed], [place, place], color=colour, linewidth=3, alpha=0.35)
            axes.plot([row.lower_bound], [place], ">", color=colour, label="_" if place else "given away at least")
            axes.plot([row.claimed], [place], "|", color=CLAIMED, markersize=11, label="_" if place else "claimed")
        axes.set_yticks(range(len(rows)), [_name(row) for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("mu of Gaussian DP, or the mu that allows the same misses")
        canvas.legend(loc="outside upper right", ncols=2, frameon=False)
        atomically(file, lambda path: canvas.savefig(path, format=file.suffix.removeprefix(".")))


def _name(row: Row) -> str:
    return f"{row.audited.label}\n{row.look.protects}: {row.look.released}, {row.look.statistic}"
