"""A drawn figure, and how it becomes files: PNG, PDF, SVG and EPS, its numbers as CSV, and its caption."""

from __future__ import annotations

import base64
import io
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
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

# neither dates nor versions, so that an unchanged figure is the same file
_UNDATED: dict[str, Any] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None},
    "svg": {"Date": None},
    "eps": {"Creator": "dpexp"},
}
FORMATS = ("png", "pdf", "svg", "eps")


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
        """What the name of a file says of it."""
        return [f"width-{self.width:g}" if self.width else "",
                f"style-{re.sub(r'[^A-Za-z0-9.-]+', '-', self.style_file.stem)}" if self.style_file else "",
                "" if self.title else "no-title"]  # fmt: skip

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Our style and that of the file, for the thread that draws. Raises UsageError for a file that is no style."""
        import matplotlib as mpl

        from dpexp.reporting.style import RC

        with DRAWS, mpl.rc_context(RC):
            if self.style_file is not None:
                try:
                    settings = mpl.rc_params_from_file(self.style_file, use_default_template=False)
                except (OSError, ValueError, KeyError) as error:
                    raise UsageError(
                        f"--style-file {self.style_file}: {error}", "a file of matplotlib settings"
                    ) from None
                mpl.rcParams.update(settings)
            yield


PLAIN = Look()


class Drawing(NamedTuple):
    """A drawn figure and exactly the numbers in it."""

    canvas: Canvas
    data: pd.DataFrame
    caption: str = ""
    """where it was generated with the figure; else the caption of the figure"""
    parameters: str = ""
    """of the results that are shown, in lines: the head of the CSV"""
    look: Look = PLAIN

    def _repr_png_(self) -> bytes:
        """The picture that a notebook shows."""
        with DRAWS:
            return self.picture("png")

    def files(self, name: str, formats: Sequence[str]) -> dict[str, bytes]:
        """The picture in every format, then NAME.csv and NAME.caption.txt: name of the file -> its bytes."""
        found = {f"{name}.{form}": self.picture(form, title=name) for form in formats}
        data = self.data.map(csv_cell).rename(columns=csv_cell)
        head = "".join(f"# {line}\n" for line in self.parameters.splitlines())
        found[f"{name}.csv"] = (head + data.to_csv(index=False, float_format="%.6g")).encode("utf-8")
        found[f"{name}.caption.txt"] = f"{self.caption}\n".encode()
        return found

    def picture(self, form: str, dpi: float | None = None, title: str = "") -> bytes:
        """The picture in one format; `dpi` are those of the style where it is None."""
        found, about = io.BytesIO(), dict(_UNDATED[form])
        if form == "svg" and title:
            about |= {"Title": title, "Description": self.caption}
        with self.look.applied(), opaque(self.canvas) if form == "eps" else nullcontext():
            self.canvas.savefig(found, format=form, metadata=about, dpi="figure" if dpi is None else dpi)
        return re.sub(rb"%%CreationDate: [^\n]*\n", b"", found.getvalue()) if form == "eps" else found.getvalue()


@contextmanager
def opaque(canvas: Canvas) -> Iterator[None]:
    """Colours mixed with white in place of transparency, which PostScript does not have."""
    import numpy as np
    from matplotlib.collections import PolyCollection

    bands = [one for axes in canvas.axes for one in axes.collections if isinstance(one, PolyCollection)]
    before = [(band, np.asarray(band.get_facecolor()), band.get_alpha(), band.get_zorder()) for band in bands]
    for band, colours, *_ in before:
        band.set(alpha=None, facecolor=1 - colours[:, 3:] * (1 - colours[:, :3]), zorder=0.5)
    yield
    for band, colours, alpha, order in before:
        band.set(facecolor=colours, alpha=alpha, zorder=order)


class Written(NamedTuple):
    """A figure on disk."""

    name: str
    files: list[Path]
    """in every format, then NAME.csv and NAME.caption.txt"""
    caption: str


def laid_out(draw: Callable[[], Drawing], look: Look = PLAIN) -> Drawing:
    """What is drawn in our style, laid out once: for each format anew that would take as long as drawing."""
    import matplotlib as mpl
    from matplotlib.text import Text

    from dpexp.reporting.style import for_tex

    with look.applied():
        drawing = draw()
        canvas = drawing.canvas
        width, height = canvas.get_size_inches()
        if look.width is not None and width != look.width:
            canvas.set_size_inches(look.width, height * look.width / width)
        if not look.title:
            canvas.suptitle("")
        # LaTeX reads % and _ in words as its own
        for text in canvas.findobj(Text) if mpl.rcParams["text.usetex"] else ():
            if isinstance(text, Text):
                text.set_text(for_tex(text.get_text()))
        if layout := canvas.get_layout_engine():
            layout.execute(canvas)
            canvas.set_layout_engine("none")
    return drawing._replace(look=look)


def compressed(png: bytes) -> bytes:
    """The same picture with 128 colours, which is more than a figure has beside the shades of its edges."""
    from PIL import Image

    found = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(found, "png", optimize=True)
    return found.getvalue()


def image(kind: str, content: bytes) -> str:
    """A picture as the source of an image, which needs no other file: `png` or `svg+xml`."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def put(name: str, files: Mapping[str, bytes], out: Path) -> Written:
    """Write the files of a figure into a folder, each whole or not at all."""
    for file, content in files.items():
        atomically(out / file, methodcaller("write_bytes", content))
    caption = files[f"{name}.caption.txt"].decode("utf-8").rstrip("\n")
    return Written(name, [out / file for file in files], caption)
