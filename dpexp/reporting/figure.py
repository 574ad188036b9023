"""What a figure of stored results is, what it follows from, and its files: kept ones where nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.reporting import kept_figures
from dpexp.reporting.drawing import Drawing, Written, laid_out, put
from dpexp.store import load_generation

if TYPE_CHECKING:
    from dpexp.reporting.of_results.gather import Source

__all__ = ["Drawing", "Figure", "Written", "as_svg", "caption_of", "drawn", "stamp", "written"]


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
    follows: tuple[str, ...] = ()
    """modules whose code such a figure follows besides its own: those of all theories"""


def written(figure: Figure, results: Path, out: Path, formats: Sequence[str]) -> Written:
    """Write the figure; the files are the same bytes when nothing has changed, and are then not drawn anew.

    Raises ResultsMissing with the command to run.
    """
    return put(figure.name, _kept_or_drawn(figure, results, formats), out)


def _kept_or_drawn(figure: Figure, results: Path, formats: Sequence[str], anew: bool = True) -> Mapping[str, bytes]:
    """The files of the figure: those that were kept where nothing has changed, else drawn and kept.

    Empty where none were kept and the figure is not to be drawn `anew`.
    """
    import matplotlib as mpl

    # no window is opened, and the settings of the one that draws are part of the key
    mpl.use("agg")
    key = kept_figures.key(stamp(figure, results), formats)
    files = kept_figures.load(key)
    if not files and anew:
        files = drawn(figure, results).files(figure.name, formats)
        kept_figures.keep(key, files)
    return files


def as_svg(figure: Figure, results: Path, anew: bool = True) -> tuple[str, str] | None:
    """The figure as the text of an SVG, and its caption; nothing is written beside results. Raises ResultsMissing.

    None where it was not kept and is not to be drawn `anew`.
    """
    files = _kept_or_drawn(figure, results, ("svg",), anew)
    if not files:
        return None
    picture, caption = files[f"{figure.name}.svg"], files[f"{figure.name}.caption.txt"]
    return picture.decode("utf-8"), caption.decode("utf-8").rstrip("\n")


def stamp(figure: Figure, results: Path) -> str:
    """A hash of everything that a figure's picture follows from: its code, its results and the library that draws.

    Empty where it cannot be known: a plug-in's figure may use what no import shows. That of any result follows its
    options too, the code of its cells and of all theories, and which trajectories are there, since slopes need them.
    Raises ResultsMissing.
    """
    import matplotlib as mpl

    from dpexp.core.digests import digest
    from dpexp.store.fingerprint import closure

    function = figure.draw.func if isinstance(figure.draw, partial) else figure.draw
    modules = [str(function.__module__), "dpexp.reporting.figure", *figure.follows]
    told: list[object] = [figure.name, figure.caption, figure.place]
    if figure.sources:
        told.append(repr(figure.draw.args if isinstance(figure.draw, partial) else ""))
    # the figure of a plug-in may use what no import shows
    elif not figure.paper:
        return ""
    if not all(module.startswith("dpexp.") for module in modules) or any(source.renamed for source in figure.sources):
        return ""
    read = [(source.results, source.name) for source in figure.sources] or [(results, name) for name in figure.needs]
    for place, name in read:
        generation = load_generation(place, name)
        told.append([name, generation.manifest["seals"]])
        if figure.sources:
            cells = list(generation.manifest["cells"])
            # slopes need the trajectories, so that which of them are there decides too
            stored = [cell_id for cell_id in cells if generation.folder.trajectory(cell_id).exists()]
            told += [sorted(generation.manifest["code"]), stored]
    return digest([*told, closure(tuple(modules)), mpl.__version__])


def drawn(figure: Figure, results: Path) -> Drawing:
    """The figure with its caption."""
    drawing = laid_out(partial(figure.draw, results))
    return drawing._replace(caption=drawing.caption or caption_of(figure, drawing, results))


def caption_of(figure: Figure, drawing: Drawing, results: Path) -> str:
    """The figure's own words, what its bands are, and every parameter of the experiments that it shows."""
    from dpexp.reporting.of_results.labels import of_experiments
    from dpexp.store.stats import CI_NAME

    words = [f"{figure.caption.rstrip('.')}.", f"[{figure.paper}, {figure.place}]"]
    if figure.needs and {"ci_lo", "ci_hi"} <= set(drawing.data.columns):
        words.append(f"Intervals: {CI_NAME}.")
    return " ".join(filter(None, [*words, of_experiments(results, figure.needs)]))
