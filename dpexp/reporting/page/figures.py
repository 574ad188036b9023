"""The figures of a page: drawn from the stored results, or taken as they were drawn from just these results before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core.errors import DpexpError
from dpexp.core.steps import each, finished
from dpexp.reporting.figure import Figure, as_svg, stamp
from dpexp.reporting.page.vectors import NotAFigure, described

KEPT = "figures"
"""the folder in the results in which `dpexp plot` leaves what it has drawn"""
MOST_WORKERS = 2
WORTH_PROCESSES = 4
"""figures to draw from which processes of their own pay"""


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
    for number, shown in _drawn([(wanted[k], results) for k in waiting]):
        found[waiting[number]] = shown
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


def _refused(wanted: Wanted, error: DpexpError) -> Shown:
    return Shown(wanted, "", wanted.figure.caption, error.message, error.hint)


def draw(wanted: Wanted, results: Path) -> Shown:
    """Draw a figure; an error is handed over as the reason why it is not there."""
    try:
        svg, caption = as_svg(wanted.figure, results)
    except DpexpError as error:
        return _refused(wanted, error)
    return Shown(wanted, svg, caption)


def _drawn(tasks: Sequence[tuple[Wanted, Path]]) -> Iterable[tuple[int, Shown]]:
    """Number and figure as they come, from processes of their own where there are many; the same bytes either way."""
    workers = min(MOST_WORKERS, os.cpu_count() or 1, len(tasks))
    if workers < 2 or len(tasks) < WORTH_PROCESSES:
        told = each(tasks, "figure", lambda task: task[0].figure.name)
        return ((k, draw(*task)) for k, task in enumerate(told))
    from dpexp.store.executors import loky

    work: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [(draw, task) for task in tasks]
    return finished(loky(work, workers), len(work), "figures")
