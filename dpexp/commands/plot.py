"""`dpexp plot`: figures from stored results, shipped ones and those of any result, never computing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.selecting import at_hand, select, stem, those_made, unless_refused
from dpexp.core.errors import UsageError
from dpexp.core.steps import tell
from dpexp.reporting.of_results.gather import Source

if TYPE_CHECKING:
    from dpexp.reporting.figure import Drawing, Figure, Written
    from dpexp.reporting.of_results.scene import Request

FORMATS = ("png", "pdf", "svg")


@dataclass(frozen=True)
class Looks:
    """Options of the figure of a result; empty where the rules of docs/figures.md decide."""

    metric: str | None = None
    x: str = ""
    hue: str = ""
    facet: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    log: str = ""
    only: str | None = None

    def given(self) -> list[str]:
        """The options that were used."""
        values = {"metric": self.metric, "x": self.x, "hue": self.hue, "facet": self.facet,
                  "estimator": self.estimators, "log": self.log, "only": self.only}  # fmt: skip
        return [f"--{name}" for name, value in values.items() if value]

    def request(self, theory: bool) -> Request:
        """What the frame is asked for."""
        from dpexp.papers import theories
        from dpexp.reporting.of_results.choose import Wishes
        from dpexp.reporting.of_results.scene import Request

        return Request(self.metric, Wishes(self.x, self.hue, self.facet), self.estimators, self.log, theories(), theory)

    def marks(self, theory: bool) -> list[str]:
        """What the names of files say of the options."""
        return [self.metric or "", f"by_{self.x}" if self.x else "", "theory" if theory else ""]


def document(found: Sequence[Written]) -> dict[str, Any]:
    """What was written, for programs."""
    figures = [{"name": one.name, "files": list(map(str, one.files)), "caption": one.caption} for one in found]
    return {"figures": figures}


def figures_of(
    names: Sequence[str],
    every: bool,
    formats: str,
    out: Path | None,
    results: Path,
    theory: bool = False,
    stored: bool = False,
    looks: Looks | None = None,
) -> list[Written]:
    """Draw and write the figures that are named, all results among them in one figure.

    Without a name and an option that stands for names: every figure that the stored results allow, see `at_hand`.
    """
    from dpexp.papers import figures, overlays
    from dpexp.reporting.worker_processes import in_processes

    looks = looks or Looks()
    known, with_theory = figures(), overlays()
    wanted = [form.strip() for form in formats.split(",")]
    for form in wanted:
        if form not in FORMATS:
            raise UsageError(f"--format is a list of png, pdf and svg, not {form!r}")
    if not names and not every and not stored:
        if looks.given():
            raise UsageError(f"{looks.given()[0]} is for results", "name them: dpexp plot NAME, or its folder")
        chosen = at_hand(with_theory if theory else known, "figure", results)
        work: list[str | Source] = [*chosen.shipped, *chosen.sources]
        titles = [one.name if isinstance(one, Source) else one for one in work]
        asked = [(_at_hand, one, theory, results, out or results / "figures", tuple(wanted)) for one in work]
        return those_made(in_processes(unless_refused, asked, "figure", titles), results)
    chosen = select(names, every or stored, known, "figure", results)
    shipped = chosen.shipped
    if stored and not every:
        shipped = [name for name in shipped if name in names or known[name].needs]
    if theory:
        without = [name for name in shipped if name not in with_theory]
        if without and not every:
            raise UsageError(
                f"'{without[0]}' cannot be drawn with theory", f"these can: {', '.join(with_theory)}, and any result"
            )
        shipped = [name for name in shipped if name in with_theory]
    if shipped and looks.given():
        needs = known[shipped[0]].needs
        hint = f"draw its experiment: dpexp plot {' '.join(str(results / name) for name in needs)}" if needs else ""
        raise UsageError(f"{looks.given()[0]} is for results, and '{shipped[0]}' is a shipped figure", hint)
    tasks = [(name, theory, results, out or results / "figures", tuple(wanted)) for name in shipped]
    long = {name for name in shipped if not known[name].needs}  # what reads no results computes all it shows
    found = in_processes(_one, tasks, "figure", shipped, long=long)
    if chosen.sources:
        tell("drawing " + " and ".join(source.name for source in chosen.sources))
        found.append(_of_results(chosen.sources, looks, theory, out, wanted))
    return found


def drawing(names: Sequence[str], results: Path, theory: bool = False, looks: Looks | None = None) -> Drawing:
    """One figure, drawn and not written: of results, or a shipped one."""
    from dpexp.papers import figures, overlays
    from dpexp.reporting.figure import drawn

    looks = looks or Looks()
    known = overlays() if theory else figures()
    chosen = select(names, False, known, "figure", results)
    if len(chosen.shipped) + bool(chosen.sources) != 1:
        raise UsageError("one figure at a time", "several results make one figure; a shipped figure is drawn alone")
    if chosen.shipped and looks.given():
        raise UsageError(f"{looks.given()[0]} is for results, and '{chosen.shipped[0]}' is a shipped figure")
    home = chosen.sources[0].results if chosen.sources else results
    figure = figure_of(chosen.sources, looks, theory) if chosen.sources else known[chosen.shipped[0]]
    return drawn(figure, home)


def figure_of(sources: Sequence[Source], looks: Looks, theory: bool = False, taken: Sequence[str] = ()) -> Figure:
    """The figure of some results, under a name that is not `taken`."""
    from dpexp.papers import theories
    from dpexp.reporting.figure import Figure

    follows = tuple(str(told.__module__) for one in theories() for told in (one.exponent, one.curves))
    needs = tuple(dict.fromkeys(source.name for source in sources))
    draw = partial(_draw, tuple(sources), looks, theory)
    return Figure(stem(sources, taken, looks.marks(theory)), "any result", "", "", needs, draw, tuple(sources), follows)


def _draw(sources: tuple[Source, ...], looks: Looks, theory: bool, results: Path) -> Drawing:
    from dpexp.reporting.of_results.draw import draw
    from dpexp.reporting.of_results.gather import gather

    return draw(gather(sources, looks.only), looks.request(theory))


def _at_hand(what: str | Source, theory: bool, results: Path, out: Path, formats: tuple[str, ...]) -> Written:
    """One shipped figure, or that of a result."""
    if isinstance(what, Source):
        return _of_results([what], Looks(), theory, out, formats)
    return _one(what, theory, results, out, formats)


def _of_results(
    sources: Sequence[Source], looks: Looks, theory: bool, out: Path | None, formats: Sequence[str]
) -> Written:
    """The figure of some results."""
    from dpexp.papers import figures, overlays
    from dpexp.reporting.figure import written

    taken = [*figures(), *(f"{name}_theory" for name in overlays())]
    home = sources[0].results
    return written(figure_of(sources, looks, theory, taken), home, out or home / "figures", formats)


def _one(name: str, theory: bool, results: Path, out: Path, formats: tuple[str, ...]) -> Written:
    """One shipped figure."""
    from dpexp.papers import figures, overlays
    from dpexp.reporting.figure import written

    return written((overlays() if theory else figures())[name], results, out, formats)
