"""HTML from the templates of this folder: whatever is not markup already is text, and text is escaped.

Names, labels, captions and columns are the user's, or of whoever gave them the file. There is one way for them into the
page, a template, and no string reaches it as markup unless it is of the type `Markup`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dpexp.core.standard_json import standard
from dpexp.core.terminal import plain
from dpexp.core.text import counted, duration

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Markup", "part", "static", "templates"]
STATIC = files("dpexp.reporting.page") / "static"


def static(name: str) -> Markup:
    """A file that comes with dpexp, as it is."""
    return Markup(STATIC.joinpath(name).read_text(encoding="utf-8"))


def part(name: str, **values: Any) -> Markup:
    """A template filled in. Raises UndefinedError for a name that has no value."""
    return Markup(templates().get_template(f"{name}.html").render(values))


@cache
def templates() -> Environment:
    """The templates, with what they call; the filter `tojson` writes standard JSON."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(lambda name: str(static(name))), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_written,
    )  # fmt: skip
    made.globals.update(counted=counted, duration=duration, static=static)
    # the filter writes out every `<`, so that no document leaves its element
    made.policies["json.dumps_function"] = lambda value, **how: json.dumps(standard(value), **how)
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return made


def _written(value: Any) -> str:
    """A value as text, which is escaped where it is no markup: control characters are written out, None is nothing."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else plain(str(value))
