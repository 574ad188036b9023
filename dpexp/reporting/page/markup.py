"""HTML from plain values: whatever is not markup already is text, and text is escaped.

Names, labels, captions and columns are the user's, or of whoever gave them the file. There is one way for them into the
page, `tag`, and no string reaches it as markup unless it is of the type `Markup`.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from dpexp.core.standard_json import standard
from dpexp.core.terminal import plain

VOID = frozenset({"input", "br", "meta", "col", "img"})
"""elements that have no end"""


class Markup(str):
    """HTML that may stand in the page as it is."""


Child = str | int | None | Iterable["Child"]


def text(value: str) -> Markup:
    """A string as text, in an element or between the quotes of an attribute; control characters are written out."""
    return Markup(html.escape(plain(value), quote=True))


def join(children: Iterable[Child]) -> Markup:
    """All of them, one after the other; None is nothing."""
    parts = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            parts.append(str(child))
        elif isinstance(child, str | int):
            parts.append(str(text(str(child))))
        else:
            parts.append(str(join(child)))
    return Markup("".join(parts))


def tag(name: str, *children: Child, **attributes: str | int | bool | None) -> Markup:
    """An element. `class_` is class and `data_x` is data-x; an attribute that is None or False is left out."""
    words = [name]
    for key, value in attributes.items():
        spelled = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(spelled)
        elif value is not None and value is not False:
            words.append(f'{spelled}="{text(str(value))}"')
    start = f"<{' '.join(words)}>"
    return Markup(start if name in VOID else f"{start}{join(children)}</{name}>")


def data(identity: str, document: Any) -> Markup:
    """A document for the page's own script, which nothing runs."""
    written = json.dumps(standard(document), separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    # in such an element `</script` and `<!--` alone mean anything to a browser, and neither can be written without `<`
    safe = written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(f'<script type="application/json" id="{text(identity)}">{safe}</script>')


def table(head: Iterable[str], rows: Iterable[Iterable[Child]], label: str) -> Markup:
    """A table with a header, in a frame that scrolls by itself where it is too wide, also by keyboard.

    Every cell names its column, since a narrow screen shows a row as lines of name and value.
    """
    names = [str(cell) for cell in head]
    columns = tag("thead", tag("tr", (tag("th", cell, scope="col") for cell in names)))
    body = tag("tbody", (tag("tr", (tag("td", cell, data_name=name) for name, cell in zip(names, row, strict=True)))
                         for row in rows))  # fmt: skip
    return tag("div", tag("table", columns, body), class_="scroll", tabindex=0, role="region", aria_label=label)


def copyable(words: str, label: str) -> Markup:
    """Text for the clipboard, with a button that copies it."""
    button = tag("button", "Copy", type="button", class_="copy", aria_label=f"Copy {label}")
    shown = tag("pre", tag("code", words), tabindex=0, role="region", aria_label=label)
    return tag("div", button, shown, class_="copyable")


def folded(summary: Child, *children: Child, **attributes: str | int | bool | None) -> Markup:
    """What is opened by a click, or by Enter."""
    return tag("details", tag("summary", summary), *children, **attributes)
