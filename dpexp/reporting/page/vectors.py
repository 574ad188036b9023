"""A figure's SVG as an image of the page, and the colours of its curves on a dark one.

matplotlib writes a file that stands alone, and as an image it stays one: its ids and its style sheet are its own, a
browser runs no script of it and loads nothing for it, whoever has put it into the results folder. On a dark page it is
shown with light and dark in each other's place (page.css).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from urllib.parse import quote

from dpexp.reporting.page.markup import Markup, tag

LEAST_CONTRAST = 4.0
"""of a line on its background; WCAG 2.2 asks for 3 (1.4.11)"""
DARK_PAPER = "#15181d"
"""the background of the dark page, `--paper` of page.css"""
_NUMBERED = re.compile(r'(?<=\s)(?:d|x|y|points)="[^"]*"')
"""attributes whose decimals are rounded, in points: a hundredth is less than a screen shows at ten times the size"""
_DECIMAL = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


class NotAFigure(Exception):
    """A file that is no SVG of ours."""


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


def image(svg: str, label: str) -> Markup:
    """The drawing as an image, which `label` describes. Raises NotAFigure where the text is no SVG."""
    _root(svg)
    short = _NUMBERED.sub(lambda match: " ".join(_DECIMAL.sub(_rounded, match[0]).split()), svg)
    return tag("img", src=f"data:image/svg+xml,{quote(short, safe=' /:=;,()')}", alt=label)


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


def _rounded(match: re.Match[str]) -> str:
    """Two decimals; a zero before or after the point says nothing."""
    short = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short in ("-0", "") else short
