"""What a figure is, and how it is written: from stored results to PNG, PDF, SVG and the plotted numbers as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.files import atomically

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Canvas


_UNDATED: dict[str, Any] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None},
    "svg": {"Date": None},
}
"""metadata without dates and versions, so that an unchanged figure is the same file"""


class Drawing(NamedTuple):
    """A drawn figure and exactly the numbers in it."""

    canvas: Canvas
    data: pd.DataFrame


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: `draw(results)` reads stored results and never computes."""

    name: str
    caption: str
    paper: str
    place: str
    needs: tuple[str, ...]
    draw: Callable[[Path], Drawing]


def write(figure: Figure, results: Path, out: Path, formats: Sequence[str]) -> list[Path]:
    """Write the figure in every format, and its numbers; the files are the same bytes when nothing has changed.

    Raises ResultsMissing with the command to run.
    """
    import matplotlib as mpl

    from dpexp.reporting.style import RC

    mpl.use("agg")
    paths = []
    with mpl.rc_context(RC):
        drawing = figure.draw(results)
        if layout := drawing.canvas.get_layout_engine():
            layout.execute(drawing.canvas)  # once, not for every format: that takes as long as drawing
            drawing.canvas.set_layout_engine("none")
        for form in formats:
            save = partial(drawing.canvas.savefig, format=form, metadata=_UNDATED[form])
            atomically(out / f"{figure.name}.{form}", save)
            paths.append(out / f"{figure.name}.{form}")
    path = out / f"{figure.name}.csv"
    atomically(path, lambda temporary: drawing.data.to_csv(temporary, index=False, float_format="%.6g"))
    return [*paths, path]
