"""A drawn figure, and how it becomes files: PNG, PDF and SVG, its numbers as CSV, and its caption."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.files import atomically
from dpexp.core.text import csv_cell

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

# neither dates nor versions, so that an unchanged figure is the same file
_UNDATED: dict[str, Any] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None},
    "svg": {"Date": None},
}


DRAWS = threading.RLock()
"""held by the thread that draws: matplotlib has one set of parameters and one parser of mathematics for all threads"""


class Drawing(NamedTuple):
    """A drawn figure and exactly the numbers in it."""

    canvas: Canvas
    data: pd.DataFrame
    caption: str = ""
    """where it was generated with the figure; else the caption of the figure and the parameters of its experiments"""

    def _repr_png_(self) -> bytes:
        """The picture that a notebook shows."""
        with DRAWS:
            return self.picture("png")

    def files(self, name: str, formats: Sequence[str]) -> dict[str, bytes]:
        """The picture in every format, then NAME.csv and NAME.caption.txt: name of the file -> its bytes."""
        found = {f"{name}.{form}": self.picture(form, title=name) for form in formats}
        data = self.data.map(csv_cell).rename(columns=csv_cell)
        found[f"{name}.csv"] = data.to_csv(index=False, float_format="%.6g").encode("utf-8")
        found[f"{name}.caption.txt"] = f"{self.caption}\n".encode()
        return found

    def picture(self, form: str, dpi: float | None = None, title: str = "") -> bytes:
        """The picture in one format; `dpi` are those of the style where it is None."""
        import matplotlib as mpl

        from dpexp.reporting.style import RC

        found, about = io.BytesIO(), dict(_UNDATED[form])
        if form == "svg" and title:
            about |= {"Title": title, "Description": self.caption}
        with DRAWS, mpl.rc_context(RC):
            self.canvas.savefig(found, format=form, metadata=about, dpi="figure" if dpi is None else dpi)
        return found.getvalue()


class Written(NamedTuple):
    """A figure on disk."""

    name: str
    files: list[Path]
    """in every format, then NAME.csv and NAME.caption.txt"""
    caption: str


def laid_out(draw: Callable[[], Drawing]) -> Drawing:
    """What is drawn in our style, laid out once: for each format anew that would take as long as drawing."""
    import matplotlib as mpl
    from matplotlib.text import Text

    from dpexp.reporting.style import RC, for_tex

    with DRAWS, mpl.rc_context(RC):
        drawing = draw()
        # LaTeX reads % and _ in words as its own
        for text in drawing.canvas.findobj(Text) if mpl.rcParams["text.usetex"] else ():
            text.set_text(for_tex(text.get_text()))
        if layout := drawing.canvas.get_layout_engine():
            layout.execute(drawing.canvas)
            drawing.canvas.set_layout_engine("none")
    return drawing


def image(kind: str, content: bytes) -> str:
    """A picture as the source of an image, which needs no other file: `png` or `svg+xml`."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def put(name: str, files: Mapping[str, bytes], out: Path) -> Written:
    """Write the files of a figure into a folder, each whole or not at all."""
    for file, content in files.items():
        atomically(out / file, methodcaller("write_bytes", content))
    caption = files[f"{name}.caption.txt"].decode("utf-8").rstrip("\n")
    return Written(name, [out / file for file in files], caption)
