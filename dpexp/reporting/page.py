"""The page of `dpexp report`: experiments, their figures, numbers and privacy as one static HTML file.

A browser that opens the file loads nothing and runs nothing: the page has no script, and its policy forbids both.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core import VERSION
from dpexp.core.errors import DpexpError
from dpexp.core.files import Damaged
from dpexp.plugins.loaded import error_words
from dpexp.reporting.figure import Figure, drawn
from dpexp.reporting.results.gather import OWN_RECORDS, Gathered, gather
from dpexp.reporting.templates import filled
from dpexp.reporting.text_table import Content
from dpexp.store.folder import Folder, read_document
from dpexp.store.reading import command_of

SMALL, MOST_POINTS, DPI = 60_000, 500, 150
"""bytes and rows of numbers of a drawing up to which it is an SVG; a larger one is a PNG, of so many dots per inch"""


class Picture(NamedTuple):
    """A figure of the page, or the reason why there is no picture, and the command that draws it."""

    name: str
    caption: str
    command: str
    source: str = ""
    """the image as a data address, which needs no other file"""
    why: str = ""


@dataclass
class Section:
    """An experiment of a results folder, as far as readers accept it, with everything on the page."""

    name: str
    command: str
    """that computes it"""
    manifest: dict[str, Any] = field(default_factory=dict)
    """of stale results too; empty where it cannot be read"""
    gathered: Gathered | None = None
    state: str = "current"
    why: str = ""
    hint: str = ""
    pictures: list[Picture] = field(default_factory=list)
    tables: list[tuple[str, Content]] = field(default_factory=list)
    """with their titles"""
    remarks: list[str] = field(default_factory=list)
    privacy: list[str] = field(default_factory=list)
    """sentences of its statement"""

    @property
    def is_private(self) -> bool:
        """Whether its numbers come from a user's own records."""
        return any("released" in origin for origin in self.manifest.get("computed_from", {}).values())

    @property
    def about(self) -> str:
        """The first sentence of the comment on top of the config."""
        return about(self.manifest.get("config", {}).get("text", "")).partition(". ")[0].rstrip(".")


def read_section(results: Path, name: str) -> Section:
    """An experiment as it is stored; why readers refuse it is a part of it, and never raised."""
    folder = Folder(results, name)
    section = Section(name, command_of(folder))
    with suppress(Damaged, OSError):
        section.manifest = read_document(folder.manifest)
    try:
        section.gathered = gather([results / name])
    # of a plug-in too, whose results must not cost the page of all others
    except Exception as error:
        words, section.hint = error_words(error)
        section.why = words.removeprefix(f"{folder.root}: ")
        section.state = "not complete" if folder.manifest.exists() else "missing"
        # the message of a refusal begins with the state
        state, _, why = section.why.partition(": ")
        if not isinstance(error, DpexpError):
            section.state = "not readable here"
        elif state in ("stale", "unconfirmed"):
            section.state, section.why = state, why
    return section


def about(config: str) -> str:
    """The comment on the first lines of a config, in one line."""
    comment = takewhile(lambda line: line.startswith("#"), config.splitlines())
    return " ".join(line.lstrip("# ").rstrip() for line in comment)


def picture(figure: Figure, results: Path, command: str) -> Picture:
    """The figure, drawn from stored results: SVG where that is small, else a PNG of 128 colours."""
    from PIL import Image

    try:
        drawing, kind = drawn(figure, results), "svg+xml"
        content = drawing.picture("svg") if len(drawing.data) <= MOST_POINTS else b""
        if not 0 < len(content) <= SMALL:
            bitmap, buffer = Image.open(io.BytesIO(drawing.picture("png", DPI))).convert("RGB"), io.BytesIO()
            bitmap.quantize(128, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
            kind, content = "png", buffer.getvalue()
        source = f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
        return Picture(figure.name, drawing.caption, command, source)
    # a figure that cannot be drawn is a line of the page, whatever is wrong with it
    except Exception as error:
        return Picture(figure.name, figure.caption, command, why=". ".join(filter(None, error_words(error))))


def page(title: str, sections: Sequence[Section]) -> str:
    """The page: the same results give the same characters."""
    private = [section.name for section in sections if section.is_private]
    return filled("dpexp.reporting", "page.html", title=title, sections=sections, private=private,
                  own_records=OWN_RECORDS, version=VERSION)  # fmt: skip
