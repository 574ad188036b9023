"""The figures of a page: drawn from the stored results, or taken as they were drawn from just these results before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from dpexp.plugins.loaded import said
from dpexp.reporting.figure import Figure, as_svg
from dpexp.reporting.worker_processes import in_processes

_NUMBERED = re.compile(r'(?<=\s)(?:d|x|y|points)="[^"]*"')
"""attributes of a drawing whose decimals are rounded, in points: a screen shows no hundredth of one"""
_DECIMAL = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


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

    @property
    def source(self) -> str:
        """The drawing as the source of an image.

        So its ids and its style sheet are its own, and a browser runs no script of it and loads nothing for it. On a
        dark page it is shown with light and dark in each other's place (page.css).
        """
        # a screen shows no hundredth of a point, and decimals are most of a drawing
        short = _NUMBERED.sub(lambda match: " ".join(_DECIMAL.sub(_rounded, match[0]).split()), self.svg)
        return f"data:image/svg+xml,{quote(short, safe=' /:=;,()')}"

    @property
    def first_sentence(self) -> str:
        """What the image is, for those who do not see it."""
        return self.caption.partition(". ")[0].rstrip(".") or "a figure"


def _rounded(match: re.Match[str]) -> str:
    """Two decimals; a zero before or after the point says nothing."""
    short = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short in ("-0", "") else short


def show(wanted: Sequence[Wanted], results: Path) -> list[Shown]:
    """All figures in their order. What cannot be drawn says why, and nothing is raised; what is kept starts nothing."""
    found = [draw(one, results, anew=False) for one in wanted]
    work = [(one, results) for one, shown in zip(wanted, found, strict=True) if shown is None]
    drawn = iter(in_processes(draw, work, "figure", [one.figure.name for one, _ in work]))
    return [shown for shown in (shown or next(drawn) for shown in found) if shown is not None]


def draw(wanted: Wanted, results: Path, anew: bool = True) -> Shown | None:
    """Draw a figure, or take it as it was kept; an error is handed over as the reason why it is not there.

    None where it was not kept and is not to be drawn `anew`. A figure without results is theory alone, and may take a
    minute: it is never drawn here.
    """
    figure = wanted.figure
    try:
        found = as_svg(figure, results, anew and bool(figure.needs))
    # one figure that cannot be drawn is a line of the page, whatever is wrong with it
    except Exception as error:
        return Shown(wanted, "", figure.caption, *said(error))
    if found is None and figure.needs:
        return None
    if found is None:
        hint = f"run: {wanted.command} --format svg   (it computes theory, which may take a minute)"
        return Shown(wanted, "", figure.caption, "it shows theory alone, which a page does not compute", hint)
    return Shown(wanted, *found)
