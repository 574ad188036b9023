"""What a figure of stored results is, what it follows from, and its files, which are kept: some take half a minute.

A kept figure is found by everything that it follows from: its stamp (code, shipped data, seals of results), the
libraries that draw and compute, and the settings of the one that draws. Where any of these is another one, there is
nothing to be found, so no figure has to be called stale. What is kept are the files themselves, with a hash; what is
damaged, or open to others, is drawn anew. A format is added when it is asked for.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.core.digests import digest
from dpexp.core.files import Damaged, forget_oldest, own_folder, read_bytes_sealed, write_bytes_sealed
from dpexp.reporting.drawing import Drawing, Written, laid_out, put
from dpexp.store import load_generation

if TYPE_CHECKING:
    from dpexp.reporting.of_results.gather import Source

__all__ = ["Drawing", "Figure", "Written", "as_svg", "caption_of", "drawn", "stamp", "written"]

MOST_FIGURES = 300
"""of the folder where they are kept; those that were kept longest ago go first. Three formats take 50 to 500 kB"""
LIBRARIES = ("matplotlib", "numpy", "scipy", "pandas", "numba")

Files = Mapping[str, bytes]
"""name of a file -> its bytes"""


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
    key = key_of(stamp(figure, results))
    files = dict(load_kept(key))
    absent = [form for form in formats if f"{figure.name}.{form}" not in files]
    if absent and anew:
        files |= drawn(figure, results).files(figure.name, absent)
        keep(key, files)
    names = [f"{figure.name}.{ending}" for ending in (*formats, "csv", "caption.txt")]
    return {name: files[name] for name in names} if set(names) <= set(files) else {}


def as_svg(figure: Figure, results: Path, anew: bool = True) -> tuple[str, str] | None:
    """The figure as the text of an SVG, and its caption; nothing is written beside results. Raises ResultsMissing.

    None where it was not kept and is not to be drawn `anew`.
    """
    files = _kept_or_drawn(figure, results, ("svg",), anew)
    if not files:
        return None
    return files[f"{figure.name}.svg"].decode(), files[f"{figure.name}.caption.txt"].decode().rstrip("\n")


def stamp(figure: Figure, results: Path) -> str:
    """A hash of everything that a figure's picture follows from: its code, its results and the library that draws.

    Empty where it cannot be known: a plug-in's figure may use what no import shows. That of any result follows its
    options too, the code of its cells and of all theories, and which trajectories are there, since slopes need them.
    Raises ResultsMissing.
    """
    import matplotlib as mpl

    from dpexp.store.fingerprint import code_of_verdict

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
    return digest([*told, code_of_verdict()["dpexp"].split()[0], mpl.__version__])


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


# --- kept figures


def key_of(stamp: str) -> str:
    """What a figure with this stamp is found by; empty where the stamp is, since it then follows from more."""
    if not stamp:
        return ""
    import matplotlib as mpl

    settings = sorted((name, repr(value)) for name, value in mpl.rcParams.items())
    return digest([stamp, [version(library) for library in LIBRARIES], settings], 32)


def load_kept(key: str) -> Files:
    """The files of a figure in the order in which they were kept; empty where there are none that can be trusted."""
    place = own_folder("figures", made=False)
    if place is None or not key:
        return {}
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes_sealed(place / key, private=True))) as kept:
            # and was not copied here from the place of another figure
            return {name: kept.read(name) for name in kept.namelist()} if kept.comment == key.encode() else {}
    except (Damaged, OSError, zipfile.BadZipFile):
        return {}


def keep(key: str, files: Files) -> None:
    """Keep the files of a figure; a disk that is full or read-only keeps nothing."""
    place = own_folder("figures")
    if place is None or not key:
        return
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as kept:
        kept.comment = key.encode()
        for name, data in files.items():
            kept.writestr(name, data)
    with contextlib.suppress(OSError):
        write_bytes_sealed(place / key, content.getvalue(), private=True)
        # the time of a file is when it was kept, as one that is found is not written
        forget_oldest(place, MOST_FIGURES)
