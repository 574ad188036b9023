"""A figure's SVG as a part of the page: cleaned, smaller, with names of its own, and with colours that follow the page.

matplotlib writes a file that stands alone. Inside a page four things would go wrong. All figures use the same ids, so
that one would show another's glyphs. Their style sheet `*{...}` would apply to the whole page. Black text would vanish
on a dark background. And a file that was put into the results folder by somebody else could bring a script with it.
Here a figure is read as XML, and only elements and attributes that a drawing needs are written again.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dpexp.reporting.page.markup import Markup, text

ELEMENTS = frozenset({"svg", "g", "defs", "path", "use", "rect", "clipPath", "circle", "line", "polygon", "image"})
ATTRIBUTES = frozenset({
    "id", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points", "transform", "style",
    "clip-path", "href", "viewBox", "opacity",
})  # fmt: skip
NUMBERED = frozenset({"d", "x", "y", "width", "height", "points"})
"""attributes whose decimals are rounded, in points: a hundredth is less than a screen shows at ten times the size"""
PAPER_WHITE, INK = "#ffffff", "#000000"
LEAST_CONTRAST = 4.0
"""of a line on its background; WCAG 2.2 asks for 3 (1.4.11)"""
DARK_PAPER = "#15181d"
"""the background of the dark page, `--paper` of page.css"""
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_DECIMAL = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


class NotAFigure(Exception):
    """A file that is no SVG of ours."""


@dataclass
class Colours:
    """The colours of all figures of a page, each a variable that has another value on a dark page."""

    names: dict[str, str] = field(default_factory=dict)

    def variable(self, colour: str) -> str:
        colour = colour.lower()
        if colour in (PAPER_WHITE, INK):
            return "var(--paper)" if colour == PAPER_WHITE else "var(--ink)"
        return f"var(--{self.names.setdefault(colour, f'k{len(self.names)}')})"

    def css(self) -> str:
        """Their declarations."""
        pairs = (f"--{name}:light-dark({colour},{on_dark(colour)})" for colour, name in self.names.items())
        return f":root{{{';'.join(pairs)}}}"


def on_dark(colour: str) -> str:
    """The colour for a dark page: greys change places, others keep their hue and are lightened until they are seen."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    if max(red, green, blue) - min(red, green, blue) < 12:
        grey = (red + green + blue) / 3 / 255
        low, high = (0x15, 0x18, 0x1D), (0xFF, 0xFF, 0xFF)
        mixed = [round(a + (b - a) * (1 - grey) ** 0.75) for a, b in zip(low, high, strict=True)]
        return "#{:02x}{:02x}{:02x}".format(*mixed)
    share = 0.0
    while True:
        lighter = [round(c + (255 - c) * share) for c in (red, green, blue)]
        found = "#{:02x}{:02x}{:02x}".format(*lighter)
        if contrast(found, DARK_PAPER) >= LEAST_CONTRAST:
            return found
        share += 0.05


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def described(svg: str) -> Mapping[str, str]:
    """What the metadata of an SVG say, such as its identifier; empty where it has none.

    Raises NotAFigure.
    """
    names = {"identifier", "description", "title"}
    found = (element for element in _root(svg).iter() if _local(element.tag) in names)
    return {_local(element.tag): (element.text or "").strip() for element in found if element.text}


def inlined(svg: str, prefix: str, label: str, colours: Colours) -> Markup:
    """The drawing as an element of the page, whose ids begin with `prefix`.

    Raises NotAFigure where the text is no SVG.
    """
    root = _root(svg)
    used = {name for element in root.iter() for name in _references(element)}
    ids = {name: f"{prefix}-{k}" for k, name in enumerate(sorted(used))}
    return Markup("".join(_written(root, ids, label, colours)))


def _root(svg: str) -> ElementTree.Element:
    if "<!ENTITY" in svg:  # which only swells or reads other files
        raise NotAFigure("it declares entities")
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise NotAFigure(str(error)) from None
    if _local(root.tag) != "svg":
        raise NotAFigure("it is no SVG")
    return root


def _local(name: object) -> str:
    return str(name).rpartition("}")[2]


def _references(element: ElementTree.Element) -> Iterator[str]:
    for name, value in element.attrib.items():
        if _local(name) == "href" and value.startswith("#"):
            yield value[1:]
        yield from _REFERENCE.findall(value)


def _written(element: ElementTree.Element, ids: dict[str, str], label: str, colours: Colours) -> Iterator[str]:
    name = _local(element.tag)
    if name not in ELEMENTS:
        return
    kept = {}
    for key, value in element.attrib.items():
        safe = _value(name, _local(key), value, ids, colours)
        if safe:
            kept[_local(key)] = safe
    if name == "svg":
        kept = {"viewBox": kept.get("viewBox", ""), "role": "img", "aria-label": label, "width": kept["width"]}
    inside = "".join(part for child in element for part in _written(child, ids, "", colours))
    if name in ("g", "defs") and not inside:
        return
    if name == "g" and not kept:
        yield inside
        return
    words = "".join(f' {key}="{text(value)}"' for key, value in kept.items())
    yield f"<{name}{words}>{inside}</{name}>" if inside else f"<{name}{words}/>"


def _value(element: str, key: str, value: str, ids: dict[str, str], colours: Colours) -> str:
    """An attribute's value as it is written; empty where it is left out."""
    if key not in ATTRIBUTES:
        return ""
    if key == "id":
        return ids.get(value, "")
    if key == "href":
        if element == "image":
            return value if value.startswith("data:image/png;base64,") else ""
        return f"#{ids[value[1:]]}" if value.startswith("#") else ""
    if key in NUMBERED:
        value = " ".join(_DECIMAL.sub(_rounded, value).split())
    value = _REFERENCE.sub(lambda match: f"url(#{ids[match[1]]})", value)
    if key == "style":
        value = _COLOUR.sub(lambda match: colours.variable(match[0]), value)
        return "" if re.search(r"url\((?!#)|expression|@|\\", value) else value
    return value


def _rounded(match: re.Match[str]) -> str:
    """Two decimals; a zero before or after the point says nothing."""
    short = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short in ("-0", "") else short
