"""The figures of a page: drawn from the stored results, or taken as they were drawn from just these results before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dpexp.plugins.loaded import said
from dpexp.reporting.figure import Figure, as_svg
from dpexp.reporting.worker_processes import in_processes


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
    return in_processes(draw, [(one, results) for one in wanted], "figure", [one.figure.name for one in wanted])


def draw(wanted: Wanted, results: Path) -> Shown:
    """Draw a figure, or take it as it was kept; an error is handed over as the reason why it is not there.

    A figure without results is theory alone, and may take a minute: it is never drawn here.
    """
    figure = wanted.figure
    try:
        found = as_svg(figure, results, anew=bool(figure.needs))
    # one figure that cannot be drawn is a line of the page, whatever is wrong with it
    except Exception as error:
        return Shown(wanted, "", figure.caption, *said(error))
    if found is None:
        hint = f"run: {wanted.command} --format svg   (it computes theory, which may take a minute)"
        return Shown(wanted, "", figure.caption, "it shows theory alone, which a page does not compute", hint)
    return Shown(wanted, *found)
