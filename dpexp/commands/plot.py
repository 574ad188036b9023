"""`dpexp plot`: figures from stored results, shipped ones and those of any result, never computing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.selecting import Selection, Work, stem
from dpexp.core.errors import UsageError
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

    Without a name and an option that stands for names: every figure that the stored results allow.
    """
    from dpexp.papers import figures, overlays

    looks = looks or Looks()
    known = overlays() if theory else figures()
    wanted = tuple(form.strip() for form in formats.split(","))
    for form in wanted:
        if form not in FORMATS:
            raise UsageError(f"--format is a list of png, pdf and svg, not {form!r}")
    for name in names:
        if name in figures() and name not in known:
            hint = f"these can: {', '.join(known)}, and any result"
            raise UsageError(f"'{name}' cannot be drawn with theory", hint)
    whole = [name for name, one in known.items() if every or (stored and one.needs)]
    selection = Selection("figure", known, results, looks.given())
    return selection.made(_written, names, whole, (looks, theory, results, out, wanted))


def drawing(names: Sequence[str], results: Path, theory: bool = False, looks: Looks | None = None) -> Drawing:
    """One figure, drawn and not written: of results, or a shipped one."""
    from dpexp.papers import figures, overlays
    from dpexp.reporting.figure import drawn

    looks = looks or Looks()
    known = overlays() if theory else figures()
    chosen = Selection("figure", known, results, looks.given()).only_one(names)
    if isinstance(chosen, str):
        return drawn(known[chosen], results)
    return drawn(figure_of(chosen, looks, theory), chosen[0].results)


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


def _written(one: Work, looks: Looks, theory: bool, results: Path, out: Path | None, formats: Sequence[str]) -> Written:
    """A shipped figure, or that of some results; beside the results where no folder is named."""
    from dpexp.papers import figures, overlays
    from dpexp.reporting.figure import written

    if isinstance(one, str):
        home, figure = results, (overlays() if theory else figures())[one]
    else:
        taken = [*figures(), *(f"{name}_theory" for name in overlays())]
        home, figure = one[0].results, figure_of(one, looks, theory, taken)
    return written(figure, home, out or home / "figures", formats)
