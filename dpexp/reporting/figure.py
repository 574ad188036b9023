"""Figures: what draws one from stored results, how it looks, and its files: PNG, PDF, SVG, EPS, numbers and caption."""

from __future__ import annotations

import io
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.errors import UsageError
from dpexp.core.files import atomically
from dpexp.core.text import csv_cell

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None},
    "svg": {"Date": None},
    "eps": {"Creator": "dpexp"},
}
"""with metadata: neither dates nor versions, so that an unchanged figure is the same file"""
STYLE = Path(__file__).with_name("dpexp.mplstyle")
DRAWS = threading.RLock()
"""held by the thread that draws: matplotlib has one set of parameters and one parser of mathematics for all threads"""


@dataclass(frozen=True)
class Look:
    """How a figure is drawn, whatever it shows."""

    width: float | None = None
    """inches; None: that of a page"""
    style_file: Path | None = None
    """settings of matplotlib, over ours"""
    title: bool = True

    @property
    def marks(self) -> list[str]:
        """Parts of the name of a file."""
        stem = re.sub(r"[^A-Za-z0-9.-]+", "-", self.style_file.stem) if self.style_file else ""
        width = f"width-{self.width:g}" if self.width else ""
        return [width, f"style-{stem}" if stem else "", "" if self.title else "no-title"]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Our style and that of the file, for the thread that draws. Raises UsageError for a file that is no style."""
        import matplotlib as mpl

        with DRAWS, mpl.rc_context(mpl.rc_params_from_file(STYLE, True, False)):
            try:
                if self.style_file is not None:
                    settings = re.findall(r"^\s*([\w.-]+)\s*:", self.style_file.read_text(encoding="utf-8"), re.M)
                    if unknown := [name for name in settings if name not in mpl.rcParams]:
                        raise ValueError(f"matplotlib has no setting {unknown[0]!r}")
                    mpl.rcParams.update(mpl.rc_params_from_file(self.style_file, True, False))
                    if mpl.rcParams["text.usetex"] and not shutil.which("latex"):
                        raise ValueError("text.usetex needs latex, which is not installed")
            except (OSError, ValueError, KeyError) as error:
                raise UsageError(f"--style-file {self.style_file}: {error}", "a file of matplotlib settings") from None
            if self.width is not None:
                mpl.rcParams["figure.figsize"] = (self.width, mpl.rcParams["figure.figsize"][1])
            yield


PLAIN = Look()


class Drawing(NamedTuple):
    """A drawn figure and exactly the numbers in it."""

    canvas: Canvas
    data: pd.DataFrame
    caption: str = ""
    """where it was generated with the figure; else the caption of the figure"""
    constants: str = ""
    """the parameters that do not vary in its results: the head of the CSV"""
    remark: str = ""
    """after the caption of the figure"""
    look: Look = PLAIN

    def _repr_png_(self) -> bytes:
        """The picture in a notebook."""
        return self.picture("png")

    def files(self, name: str, formats: Sequence[str]) -> dict[str, bytes]:
        """The picture in every format, then NAME.csv and NAME.caption.txt: name of the file -> its bytes."""
        # the colours of EPS are changed for good, so it comes last
        pictures = {form: self.picture(form, title=name) for form in sorted(formats, key="eps".__eq__)}
        head = f"# {self.constants}\n" if self.constants else ""
        numbers = self.data.map(csv_cell).rename(columns=csv_cell).to_csv(index=False, float_format="%.6g")
        texts = {"csv": (head + numbers).encode(), "caption.txt": f"{self.caption}\n".encode()}
        return {f"{name}.{form}": (pictures | texts)[form] for form in (*formats, *texts)}

    def picture(self, form: str, dpi: float | None = None, title: str = "") -> bytes:
        """The picture in one format; `dpi` are those of the style where it is None."""
        buffer, about = io.BytesIO(), dict(FORMATS[form])
        if form == "svg" and title:
            about |= {"Title": title, "Description": self.caption}
        if form == "eps":
            _make_opaque(self.canvas)
        with self.look.applied():
            self.canvas.savefig(buffer, format=form, metadata=about, dpi=dpi)
        return re.sub(rb"%%CreationDate: [^\n]*\n", b"", buffer.getvalue()) if form == "eps" else buffer.getvalue()


def _make_opaque(canvas: Canvas) -> None:
    """Mix colours with white in place of transparency, which PostScript does not have."""
    import numpy as np
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba_array
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    for artist in canvas.findobj():
        if isinstance(artist, Line2D | PolyCollection | Patch):
            name = "color" if isinstance(artist, Line2D) else "facecolor"
            colours = to_rgba_array(getattr(artist, f"get_{name}")(), artist.get_alpha())
            if np.any((colours[:, 3] > 0) & (colours[:, 3] < 1)):
                mixed = 1 - colours[:, 3:] * (1 - colours[:, :3])
                place = {"zorder": 0.5} if isinstance(artist, PolyCollection) else {}
                artist.set(alpha=None, **{name: mixed if len(mixed) > 1 else mixed[0]}, **place)


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: `draw(results)` reads stored results and never computes."""

    name: str
    caption: str
    paper: str
    place: str
    needs: tuple[str, ...]
    draw: Callable[[Path], Drawing]


def written(
    figure: Figure, results: Path, out: Path, formats: Sequence[str], look: Look = PLAIN, name: str = ""
) -> dict[str, Any]:
    """Draw the figure and write its files, each whole or not at all; unchanged results give the same bytes.

    Its files have this `name`, else that of the figure with the marks of its look. The name, the paths and the caption,
    as `dpexp plot --json` has them. Raises ResultsMissing.
    """
    drawing, name = drawn(figure, results, look), name or "_".join(filter(None, [figure.name, *look.marks]))
    files = drawing.files(name, formats)
    for file, content in files.items():
        atomically(out / file, methodcaller("write_bytes", content))
    return {"name": name, "files": [str(out / file) for file in files], "caption": drawing.caption}


def drawn(figure: Figure, results: Path, look: Look = PLAIN) -> Drawing:
    """The figure in our style, with its caption: its own words, its place in the paper, and what its bands are.

    Raises ResultsMissing with the command to run.
    """
    import matplotlib as mpl
    from matplotlib.text import Text

    from dpexp.reporting.results.gather import gather
    from dpexp.store.stats import CI_NAME

    with look.applied():
        drawing = figure.draw(results)
        canvas = drawing.canvas
        if look.width is not None:
            width, height = canvas.get_size_inches()
            canvas.set_size_inches(look.width, height * (look.width / width))
        if not look.title:
            canvas.suptitle("")
        # LaTeX reads % and _ in words as its own
        for text in canvas.findobj(Text) if mpl.rcParams["text.usetex"] else ():
            if isinstance(text, Text):
                parts = enumerate(text.get_text().split("$"))
                text.set_text("$".join(part if k % 2 else re.sub(r"([%&#_])", r"\\\1", part) for k, part in parts))
        # laid out once: for each format anew that would take as long as drawing
        if layout := canvas.get_layout_engine():
            layout.execute(canvas)
            canvas.set_layout_engine("none")
    bands = f" Intervals: {CI_NAME}." if figure.needs and {"ci_lo", "ci_hi"} <= set(drawing.data.columns) else ""
    caption = (
        drawing.caption or f"{figure.caption.rstrip('.')}. [{figure.paper}, {figure.place}]{bands}{drawing.remark}"
    )
    folders = [] if drawing.constants else [results / name for name in dict.fromkeys(figure.needs)]
    head = gather(folders, partial=False).constants if folders else drawing.constants
    return drawing._replace(look=look, caption=caption, constants=head)
