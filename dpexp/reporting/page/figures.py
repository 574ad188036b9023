"""The figures of a page: drawn from the stored results, or taken as they were drawn from just these results before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dpexp.core.errors import DpexpError
from dpexp.plugins.loaded import said
from dpexp.reporting.figure import Figure, as_svg, stamp
from dpexp.reporting.page.vectors import NotAFigure, described
from dpexp.reporting.worker_processes import in_processes

KEPT = "figures"
"""the folder in the results in which `dpexp plot` leaves what it has drawn"""


class Wanted(NamedTuple):
    """A figure that belongs on the page."""

    figure: Figure
    command: str
    """the command that draws it"""


@dataclass(frozen=True)
class Shown:
    """A figure of the page, or the reason why it is not there."""

    wanted: Wanted
    svg: str
    caption: str
    why: str = ""
    """empty where the figure is shown"""
    hint: str = ""


def show(wanted: Sequence[Wanted], results: Path) -> list[Shown]:
    """All figures, in their order. What cannot be drawn says why, and nothing is raised."""
    found: list[Shown | None] = [_kept(one, results) for one in wanted]
    waiting = [k for k, one in enumerate(found) if one is None]
    drawn = in_processes(
        draw, [(wanted[k], results) for k in waiting], "figure", [wanted[k].figure.name for k in waiting]
    )
    for k, shown in zip(waiting, drawn, strict=True):
        found[k] = shown
    return [one for one in found if one is not None]


def _kept(wanted: Wanted, results: Path) -> Shown | None:
    """A figure that is there and was drawn from these results by this code; None where it has to be drawn.

    A figure without results is theory alone, and may take a minute: it is never drawn here.
    """
    figure = wanted.figure
    try:
        mark = stamp(figure, results)
        svg = (results / KEPT / f"{figure.name}.svg").read_text(encoding="utf-8")
        said = described(svg)
        if mark and said.get("identifier") == mark:
            return Shown(wanted, svg, said.get("description", ""))
        why = "it was drawn by other code, or from other results"
    except DpexpError as error:
        return _refused(wanted, error)
    except (OSError, UnicodeDecodeError, NotAFigure):
        why = f"there is no SVG of it in {results / KEPT}"
    if figure.needs:
        return None
    hint = f"run: {wanted.command} --format svg   (it computes theory, which may take a minute)"
    return Shown(wanted, "", figure.caption, f"{why}, and it shows theory alone, which a page does not compute", hint)


def _refused(wanted: Wanted, error: Exception) -> Shown:
    return Shown(wanted, "", wanted.figure.caption, *said(error))


def draw(wanted: Wanted, results: Path) -> Shown:
    """Draw a figure; an error is handed over as the reason why it is not there."""
    try:
        svg, caption = as_svg(wanted.figure, results)
    except Exception as error:  # one figure that cannot be drawn is a line of the page, whatever is wrong with it
        return _refused(wanted, error)
    return Shown(wanted, svg, caption)
