"""The page of `dpexp report`: experiments, their figures, numbers and privacy as one static HTML file.

A browser that opens the file loads nothing and runs nothing: the page has no script, and its policy forbids both.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from dpexp.core import VERSION
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


@dataclass
class PageSection:
    """An experiment of a results folder with everything on the page; what readers refuse has a reason instead."""

    name: str
    command: str
    """that computes it"""
    manifest: dict[str, Any] = field(default_factory=dict)
    """of stale results too; empty where it cannot be read"""
    gathered: Gathered | None = None
    why: str = ""
    """readers refuse it, which begins with `stale` or `unconfirmed` where it is that; and the command to run"""
    hint: str = ""
    pictures: list[dict[str, str]] = field(default_factory=list)
    """name, caption, command, and as source the image as a data address, which needs no other file"""
    tables: list[tuple[str, Content]] = field(default_factory=list)
    """with their titles"""
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """what is not shown and why, and sentences of the privacy statement"""

    @contextmanager
    def making(self, part: str) -> Iterator[None]:
        """What cannot be made is a line of the page, whatever is wrong with it."""
        try:
            yield
        except Exception as error:
            self.faults.append(f"{part} not shown: {'. '.join(filter(None, error_words(error)))}")

    @property
    def is_private(self) -> bool:
        """Whether its numbers come from a user's own records."""
        return any("released" in origin for origin in self.manifest.get("computed_from", {}).values())


def read_section(results: Path, name: str) -> PageSection:
    """An experiment as it is stored; why readers refuse it is a part of it, and never raised."""
    folder = Folder(results, name)
    section = PageSection(name, command_of(folder))
    with suppress(Damaged, OSError):
        section.manifest = read_document(folder.manifest)
    try:
        section.gathered = gather([folder.root])
    # of a plug-in too, whose results must not cost the page of all others
    except Exception as error:
        words, section.hint = error_words(error)
        section.why = words.removeprefix(f"{folder.root}: ")
    return section


def about(config: str) -> str:
    """The comment on the first lines of a config, in one line."""
    comment = takewhile(lambda line: line.startswith("#"), config.splitlines())
    return " ".join(line.lstrip("# ").rstrip() for line in comment)


def picture(figure: Figure, results: Path, command: str) -> dict[str, str]:
    """The figure, drawn from stored results: SVG where that is small, else a PNG of 128 colours."""
    from PIL import Image

    drawing, kind = drawn(figure, results), "svg+xml"
    content = drawing.picture("svg") if len(drawing.data) <= MOST_POINTS else b""
    if not 0 < len(content) <= SMALL:
        bitmap, buffer = Image.open(io.BytesIO(drawing.picture("png", DPI))).convert("RGB"), io.BytesIO()
        bitmap.quantize(128, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
        kind, content = "png", buffer.getvalue()
    source = f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
    return {"name": figure.name, "caption": drawing.caption, "command": command, "source": source}


def page(title: str, sections: Sequence[PageSection]) -> str:
    """The page: the same results give the same characters."""
    return filled("dpexp.reporting", "page.html", title=title, sections=sections, about=about,
                  own_records=OWN_RECORDS, version=VERSION)  # fmt: skip
