"""`dpexp plot`: figures from stored results, shipped ones and those of any result, never computing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.figure_names import Selection, Work, is_path
from dpexp.config.error_messages import listed
from dpexp.core.errors import UsageError
from dpexp.papers import figures, overlays, theories
from dpexp.reporting.figure import FORMATS, PLAIN, Look
from dpexp.reporting.results.declaration import WIDTH, Declaration

if TYPE_CHECKING:
    from dpexp.reporting.figure import Drawing, Figure, Written

LEAST_WIDTH, MOST_WIDTH = 2.5, 40.0
"""inches"""


def asked(
    metric: str | None = None, x: str = "", hue: str = "", facet: Sequence[str] = (), estimators: Sequence[str] = (),
    log: str = "", only: str | None = None, theory: bool = False, statistic: str = "mean", kind: str = "line",
    style: str = "", width: float | None = None,
) -> Declaration:  # fmt: skip
    """The options of the figure of a result; empty where the rules of docs/figures.md decide."""
    if width is not None and not LEAST_WIDTH <= width <= MOST_WIDTH:
        raise UsageError(f"--width {width:g}: it is in inches, from {LEAST_WIDTH:g} to {MOST_WIDTH:g}")
    return Declaration(metric or "", x, hue, tuple(facet), style, tuple(estimators), only or "", log, statistic, kind,
                       theory, width=width or WIDTH)  # fmt: skip


def command(
    names: Sequence[str], every: bool, stored: bool, formats: str, out: Path | None, results: Path, name: str,
    width: float | None, style_file: Path | None, no_title: bool, mechanism: str | None, over: Sequence[str],
    hue: str, **options: Any,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Document and text, as the command line has it: figures of results and papers, or of a mechanism."""
    if mechanism is not None:
        from dpexp.commands import epsilon_curve as sweeping

        place = out or results / "figures"
        written, numbers = sweeping.written(mechanism, names, over, hue, formats, place)
        return {**document([written]), "curve": numbers}, "\n".join(map(str, written.files))
    if over:
        raise UsageError("--over goes with --mechanism", "for instance --mechanism sampled-gaussian steps=10..1e4 ...")
    request, look = asked(hue=hue, width=width, **options), Look(width, style_file, not no_title)
    found = figures_of(names, every, formats, out, results, request, stored, look, name)
    return document(found), "\n".join(str(path) for one in found for path in one.files)


def document(found: Sequence[Written]) -> dict[str, Any]:
    """What was written, for programs."""
    return {"figures": [{"name": f.name, "files": list(map(str, f.files)), "caption": f.caption} for f in found]}


def figures_of(
    names: Sequence[str], every: bool, formats: str, out: Path | None, results: Path,
    request: Declaration | None = None, stored: bool = False, look: Look = PLAIN, name: str = "",
) -> list[Written]:  # fmt: skip
    """Draw and write the figures that are named, all results among them in one figure.

    Without a name and an option that stands for names: every figure that the stored results allow.
    """
    request = request or Declaration()
    wanted = tuple(form.strip() for form in formats.split(","))
    for form in wanted:
        if form not in FORMATS:
            raise UsageError(f"--format is a list of {listed(FORMATS)}, not {form!r}")
    known, selection = _shipped(request), _selection(request, results)
    for word in names:
        # It is there, but nothing can be laid over it: that is no unknown name.
        if word in figures() and word not in known:
            hint = f"these can: {', '.join(known)}, and any result"
            raise UsageError(f"'{word}' cannot be drawn with theory", hint)
    if name and (is_path(name) or not name.isprintable()):
        raise UsageError(f"--name {name!r} is not the name of a file", "--out names the folder")
    if name:
        selection.only_one(names)
    all_of = [word for word, one in known.items() if every or (stored and one.needs)]
    return selection.apply(_written, names, all_of, (request, results, out, wanted, look, name))


def drawing(names: Sequence[str], results: Path, request: Declaration, look: Look = PLAIN) -> Drawing:
    """One figure, drawn and not written: of results, or a shipped one."""
    from dpexp.reporting.figure import drawn

    home, figure = _figure(_selection(request, results).only_one(names), request, results)
    return drawn(figure, home, look)


def _shipped(request: Declaration) -> Mapping[str, Figure]:
    return overlays() if request.theory else figures()


def _selection(request: Declaration, results: Path) -> Selection:
    """Among all figures, with the options that are for results alone."""
    options = {"metric": request.y, "x": request.x, "hue": request.colour, "facet": request.panel,
               "estimator": request.estimators, "log": request.log, "only": request.where, "style": request.style,
               "statistic": request.statistic != "mean", "kind": request.kind != "line"}  # fmt: skip
    return Selection("figure", _shipped(request), results, [f"--{name}" for name, value in options.items() if value])


def _figure(work: Work, request: Declaration, results: Path) -> tuple[Path, Figure]:
    """A shipped figure, or that of some results, with the folder that it belongs to."""
    from dpexp.reporting.results.draw import figure_of

    if isinstance(work, str):
        return results, _shipped(request)[work]
    # The file of a result's figure must not take the place of a shipped one's.
    taken = [*figures(), *(f"{name}_theory" for name in overlays())]
    return work[0].results, figure_of(work, request, theories, taken)


def _written(
    work: Work, request: Declaration, results: Path, out: Path | None, formats: Sequence[str], look: Look, name: str
) -> Written:
    """Beside the results where no folder is named."""
    from dpexp.reporting.figure import written

    home, figure = _figure(work, request, results)
    return written(figure, home, out or home / "figures", formats, look, name)
