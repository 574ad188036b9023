"""The page of `dpexp report`: experiments, their figures, numbers and privacy as one static HTML file.

A browser that opens the file loads nothing and runs nothing: the page has no script, and its policy forbids both.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core import VERSION
from dpexp.core.errors import DpexpError
from dpexp.core.files import Damaged
from dpexp.core.text import up
from dpexp.plugins.loaded import error_words
from dpexp.reporting.figure import Figure, drawn
from dpexp.reporting.results.gather import OWN_RECORDS, Gathered, gather
from dpexp.reporting.templates import filled
from dpexp.store import Folder
from dpexp.store.folder import read_document
from dpexp.store.reading import command_of

SMALL, MOST_POINTS, DPI = 60_000, 500, 150
"""bytes and rows of numbers of a drawing up to which it is an SVG; a larger one is a PNG, of so many dots per inch"""


class Numbers(NamedTuple):
    """A table of the page."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


class Picture(NamedTuple):
    """A figure of the page, or the reason why there is no picture, and the command that draws it."""

    name: str
    caption: str
    command: str
    source: str = ""
    """the image as a data address"""
    why: str = ""


@dataclass
class Section:
    """An experiment of a results folder, as far as readers accept it, with everything on the page."""

    results: Path
    name: str
    state: str = "current"
    why: str = ""
    hint: str = ""
    gathered: Gathered | None = None
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Numbers] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    privacy: list[str] = field(default_factory=list)
    """sentences of its statement"""

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest, of stale results too; empty where it cannot be read."""
        with suppress(Damaged, OSError):
            return read_document(Folder(self.results, self.name).manifest)
        return {}

    @property
    def config(self) -> tuple[str, str]:
        """Path and text of the config; empty where the results were made from none."""
        config = self.manifest.get("config", {})
        return str(config.get("path", "")), str(config.get("text", ""))

    @property
    def is_private(self) -> bool:
        """Whether its numbers come from a user's own records."""
        return any("released" in origin for origin in self.manifest.get("computed_from", {}).values())

    @property
    def command(self) -> str:
        """The command that computes it."""
        return command_of(Folder(self.results, self.name))

    @property
    def about(self) -> str:
        """The first sentence of the comment on top of the config."""
        return about(self.config[1]).partition(". ")[0].rstrip(".")


def read_section(results: Path, name: str) -> Section:
    """An experiment as it is stored; why readers refuse it is a part of it, and never raised."""
    folder = Folder(results, name)
    try:
        return Section(results, name, gathered=gather([results / name]))
    # of a plug-in too, whose results must not cost the page of all others
    except Exception as error:
        words, hint = error_words(error)
        message = words.removeprefix(f"{folder.root}: ")
        # the message of a refusal begins with the state
        state, _, why = message.partition(": ")
        if not isinstance(error, DpexpError):
            state, why = "not readable here", message
        elif state not in ("stale", "unconfirmed"):
            state, why = "not complete" if folder.manifest.exists() else "missing", message
        return Section(results, name, state, why, hint)


def about(config: str) -> str:
    """The comment on the first lines of a config, in one line."""
    comment = takewhile(lambda line: line.startswith("#"), config.splitlines())
    return " ".join(line.lstrip("# ").rstrip() for line in comment)


def picture(figure: Figure, results: Path, command: str) -> Picture:
    """The figure, drawn from stored results: SVG where that is small, else a PNG of 128 colours."""
    from PIL import Image

    try:
        drawing = drawn(figure, results)
        svg = drawing.picture("svg") if len(drawing.data) <= MOST_POINTS else b""
        if 0 < len(svg) <= SMALL:
            return Picture(figure.name, drawing.caption, command, image("svg+xml", svg))
        bitmap, buffer = Image.open(io.BytesIO(drawing.picture("png", DPI))).convert("RGB"), io.BytesIO()
        bitmap.quantize(128, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
        return Picture(figure.name, drawing.caption, command, image("png", buffer.getvalue()))
    # a figure that cannot be drawn is a line of the page, whatever is wrong with it
    except Exception as error:
        return Picture(figure.name, figure.caption, command, why=". ".join(filter(None, error_words(error))))


def image(kind: str, content: bytes) -> str:
    """A picture as the source of an image, which needs no other file: `png` or `svg+xml`."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def epsilons(rows: Sequence[Mapping[str, Any]]) -> Numbers:
    """The table of the statements of `dpexp privacy --json`."""

    def guarantee(row: Mapping[str, Any]) -> str:
        if not row["valid"] or min(eps for _, eps in row["eps"]) == math.inf:
            return f"no: {row['reason'] or 'epsilon is infinite'}"
        return f"only if the {row['secret']} is secret" if row.get("secret") else "yes"

    deltas = list(dict.fromkeys(delta for row in rows for delta, _ in row["eps"]))
    table = [
        [row["mechanism"], row["analysis"], row["released"], *(up(eps) for _, eps in row["eps"]), guarantee(row)]
        for row in rows
    ]
    head = ["mechanism", "analysis", "released", *(f"eps at {d:g}" for d in deltas), "guarantee"]
    return Numbers("Privacy", head, table, "Epsilons are rounded up.")


def page(title: str, sections: Sequence[Section]) -> str:
    """The page: the same results give the same characters."""
    private = [section.name for section in sections if section.is_private]
    return filled("dpexp.reporting", "page.html", title=title, sections=sections, private=private,
                  own_records=OWN_RECORDS, version=VERSION)  # fmt: skip
