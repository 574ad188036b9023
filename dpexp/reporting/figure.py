"""What a figure of stored results is, its caption, and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.reporting.drawing import PLAIN, Drawing, Look, Written, laid_out, put

if TYPE_CHECKING:
    from dpexp.reporting.results.gather import Source

__all__ = ["Drawing", "Figure", "Written", "caption_of", "drawn", "written"]


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: `draw(results)` reads stored results and never computes."""

    name: str
    caption: str
    paper: str
    place: str
    needs: tuple[str, ...]
    draw: Callable[[Path], Drawing]
    sources: tuple[Source, ...] = ()
    """the results that a figure of any result shows, wherever they are"""


def written(
    figure: Figure, results: Path, out: Path, formats: Sequence[str], look: Look = PLAIN, name: str = ""
) -> Written:
    """Draw and write the figure; unchanged results give the same bytes. Raises ResultsMissing.

    Its files have this `name`, else that of the figure with what its look says.
    """
    name = name or "_".join(filter(None, [figure.name, *look.marks]))
    return put(name, drawn(figure, results, look).files(name, formats), out)


def drawn(figure: Figure, results: Path, look: Look = PLAIN) -> Drawing:
    """The figure with its caption. Raises ResultsMissing with the command to run."""
    from dpexp.reporting.results.labels import of_experiments

    drawing = laid_out(partial(figure.draw, results), look)
    parameters = drawing.parameters or of_experiments(results, figure.needs)
    return drawing._replace(caption=drawing.caption or caption_of(figure, drawing), parameters=parameters)


def caption_of(figure: Figure, drawing: Drawing) -> str:
    """The figure's own words, its place in the paper, and what its bands are."""
    from dpexp.store.stats import CI_NAME

    bands = f"Intervals: {CI_NAME}." if figure.needs and {"ci_lo", "ci_hi"} <= set(drawing.data.columns) else ""
    return " ".join(filter(None, [f"{figure.caption.rstrip('.')}.", f"[{figure.paper}, {figure.place}]", bands]))
