"""`dpexp plot`: figures from stored results, shipped ones and those of any result, never computing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.command_answer import RESULTS, Answer, Pathname
from dpexp.commands.figure_names import Selection, Work, is_path
from dpexp.config.error_messages import listed
from dpexp.core.errors import UsageError
from dpexp.papers import figures, overlays, theories
from dpexp.reporting.figure import FORMATS, Look, drawn, written
from dpexp.reporting.results.choose import Declaration, declaration

if TYPE_CHECKING:
    from dpexp.reporting.figure import Drawing, Figure

LEAST_WIDTH, MOST_WIDTH = 2.5, 40.0
"""inches"""


def plot(
    *names: Pathname, results: Pathname = RESULTS, width: float | None = None, style_file: Pathname | None = None,
    title: bool = True, **options: Any,
) -> Drawing:  # fmt: skip
    """The figure of one or several results, or a shipped figure by its name; no file is written.

    The other options are those of the command: metric, x, hue, facet, style, estimator, only, theory, statistic, kind.
    `.canvas` is the matplotlib figure, `.data` the numbers in it, `.caption` what it shows.
    """
    request, look = declaration(**options), _look(width, Path(style_file) if style_file else None, title)
    home, figure = _figure(_selection(request, Path(results)).single(list(map(str, names))), request, Path(results))
    return drawn(figure, home, look)


def _look(width: float | None, style_file: Path | None, title: bool) -> Look:
    if width is not None and not LEAST_WIDTH <= width <= MOST_WIDTH:
        raise UsageError(f"--width {width:g}: it is in inches, from {LEAST_WIDTH:g} to {MOST_WIDTH:g}")
    return Look(width, style_file, title)


def command(
    *names: str, every: bool = False, formats: str = "png,pdf", out: Path | None = None, results: Path = RESULTS,
    name: str = "", width: float | None = None, style_file: Path | None = None, no_title: bool = False,
    mechanism: str | None = None, over: Sequence[str] = (), hue: str = "", **options: Any,
) -> Answer:  # fmt: skip
    """Draw and write the figures that are named, all results among them in one figure, or that of a mechanism.

    Without a name and `every`: every figure that the stored results allow.
    """
    forms = tuple(form.strip() for form in formats.split(","))
    if unknown := [form for form in forms if form not in FORMATS]:
        raise UsageError(f"--format is a list of {listed(FORMATS)}, not {unknown[0]!r}")
    if name and (is_path(name) or not name.isprintable()):
        raise UsageError(f"--name {name!r} is not the name of a file", "--out names the folder")
    look = _look(width, style_file, not no_title)
    if mechanism is not None:
        from dpexp.commands.mechanism_arguments import curve_of, understood, values_of

        with understood(mechanism):
            curve = curve_of(mechanism, values_of(names), over, hue)
            made = written(curve.figure, results, out or results / "figures", forms, look, name)
        return _answer([made], {"curve": curve.document()})
    if over:
        raise UsageError("--over goes with --mechanism", "dpexp plot --mechanism NAME KEY=A,B,C --over KEY")
    request = declaration(hue=hue, **options)
    selection = _selection(request, results)
    if name:
        selection.single(names)
    all_of = list(selection.known) if every else []
    return _answer(selection.apply(_written, names, all_of, (request, results, out, forms, look, name)))


def _answer(figures: Sequence[dict[str, Any]], more: Mapping[str, Any] | None = None) -> Answer:
    return Answer("\n".join(file for row in figures for file in row["files"]), {"figures": figures, **(more or {})})


def _selection(request: Declaration, results: Path) -> Selection:
    """Among all figures; theory is for shipped ones too."""
    known = overlays() if request.theory else figures()
    return Selection("figure", known, results, replace(request, theory=False) != Declaration())


def _figure(work: Work, request: Declaration, results: Path) -> tuple[Path, Figure]:
    """A shipped figure, or that of some results, with the folder that it belongs to."""
    from dpexp.reporting.results.draw import figure_of

    if isinstance(work, str):
        return results, (overlays() if request.theory else figures())[work]
    # The file of a result's figure must not take the place of a shipped one's.
    names = [*figures(), *(f"{name}_theory" for name in overlays())]
    return work[0].parent, figure_of(work, request, theories, names)


def _written(
    work: Work, request: Declaration, results: Path, out: Path | None, formats: Sequence[str], look: Look, name: str
) -> dict[str, Any]:
    """In the folder of the results where no other is named."""
    home, figure = _figure(work, request, results)
    return written(figure, home, out or home / "figures", formats, look, name)
