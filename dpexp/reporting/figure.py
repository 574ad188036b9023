"""What a figure is, and how it is written: from stored results to PNG, PDF and SVG, its numbers and its caption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.files import atomically
from dpexp.reporting import kept_figures
from dpexp.store import load_generation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

    from dpexp.reporting.of_results.gather import Source


_UNDATED: dict[str, Any] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None},
    "svg": {"Date": None},
}
"""metadata without dates and versions, so that an unchanged figure is the same file"""


class Drawing(NamedTuple):
    """A drawn figure and exactly the numbers in it."""

    canvas: Canvas
    data: pd.DataFrame
    caption: str = ""
    """where it was generated with the figure; else the caption of the figure and the parameters of its experiments"""

    def _repr_png_(self) -> bytes:
        """The picture that a notebook shows."""
        import io

        picture = io.BytesIO()
        self.canvas.savefig(picture, format="png", metadata=_UNDATED["png"])
        return picture.getvalue()


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


class Written(NamedTuple):
    """A figure on disk."""

    name: str
    files: list[Path]
    """in every format, then NAME.csv and NAME.caption.txt"""
    caption: str


def written(figure: Figure, results: Path, out: Path, formats: Sequence[str]) -> Written:
    """Write the figure; the files are the same bytes when nothing has changed, and are then not drawn anew.

    Raises ResultsMissing with the command to run.
    """
    files = _kept_or_drawn(figure, results, formats)
    for name, content in files.items():
        atomically(out / name, methodcaller("write_bytes", content))
    caption = files[f"{figure.name}.caption.txt"].decode("utf-8").rstrip("\n")
    return Written(figure.name, [out / name for name in files], caption)


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
        files = _files(figure, results, formats)
        kept_figures.keep(key, files)
    return files


def _files(figure: Figure, results: Path, formats: Sequence[str]) -> dict[str, bytes]:
    """The figure in every format, its numbers and its caption: name of the file -> its bytes."""
    import io

    import matplotlib as mpl

    from dpexp.reporting.style import RC

    found: dict[str, bytes] = {}
    drawing = drawn(figure, results)
    with mpl.rc_context(RC):
        for form in formats:
            about = {"Title": figure.name, "Description": drawing.caption} if form == "svg" else {}
            picture = io.BytesIO()
            drawing.canvas.savefig(picture, format=form, metadata={**_UNDATED[form], **about})
            found[f"{figure.name}.{form}"] = picture.getvalue()
    found[f"{figure.name}.csv"] = drawing.data.to_csv(index=False, float_format="%.6g").encode("utf-8")
    found[f"{figure.name}.caption.txt"] = f"{drawing.caption}\n".encode()
    return found


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
    """The figure with its caption, laid out."""
    import matplotlib as mpl

    from dpexp.reporting.style import RC

    with mpl.rc_context(RC):
        drawing = figure.draw(results)
        # the layout is found once: for each format anew that would take as long as drawing
        if layout := drawing.canvas.get_layout_engine():
            layout.execute(drawing.canvas)
            drawing.canvas.set_layout_engine("none")
    return drawing._replace(caption=drawing.caption or caption_of(figure, drawing, results))


def caption_of(figure: Figure, drawing: Drawing, results: Path) -> str:
    """The figure's own words, what its bands are, and every parameter of the experiments that it shows."""
    from dpexp.reporting.of_results.labels import of_experiments
    from dpexp.store.stats import CI_NAME

    words = [f"{figure.caption.rstrip('.')}.", f"[{figure.paper}, {figure.place}]"]
    if figure.needs and {"ci_lo", "ci_hi"} <= set(drawing.data.columns):
        words.append(f"Intervals: {CI_NAME}.")
    return " ".join(filter(None, [*words, of_experiments(results, figure.needs)]))
