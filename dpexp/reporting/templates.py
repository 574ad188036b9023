"""Pages from templates, which stand beside the module that fills them in.

In HTML whatever is not markup already is text, and text is escaped. Names, labels, captions and columns are the user's,
or of whoever gave them the file. There is one way for them into a page, a template, and no string reaches it as markup
unless it is of the type `Markup`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dpexp.core.standard_json import standard
from dpexp.core.terminal import plain
from dpexp.core.text import counted, duration

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Markup", "filled", "templates"]


def filled(package: str, name: str, **values: Any) -> str:
    """A template of a package, filled in; Markup where it is HTML. Raises UndefinedError for a name without a value."""
    html = name.endswith(".html")
    text = templates(package, html).get_template(name).render(values)
    return Markup(text) if html else text


@lru_cache(maxsize=8)
def templates(package: str, html: bool) -> Environment:
    """The templates of a package, with what they call; the filter `tojson` writes standard JSON."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(lambda name: files(package).joinpath(name).read_text(encoding="utf-8")),
        autoescape=html, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_written if html else None,
    )  # fmt: skip
    made.globals.update(counted=counted, duration=duration)
    # the filter writes out every `<`, so that no document leaves its element
    made.policies["json.dumps_function"] = lambda value, **how: json.dumps(standard(value), **how)
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return made


def _written(value: Any) -> str:
    """A value as text, which is escaped where it is no markup: control characters are written out, None is nothing."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else plain(str(value))
