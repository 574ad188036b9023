"""Pages from templates, which are files in the folder of the module that fills them in.

In HTML every value is escaped: names, labels, captions and columns are the user's, or of whoever wrote the file. No
string reaches a page as markup unless it is of the type `Markup`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dpexp.core.terminal import plain
from dpexp.core.text import counted

if TYPE_CHECKING:
    from jinja2 import Environment


def filled(package: str, name: str, **values: Any) -> str:
    """A template of a package, filled in; Markup where it is HTML. Raises UndefinedError for a name without a value."""
    html = name.endswith(".html")
    text = templates(package, html).get_template(name).render(values)
    return Markup(text) if html else text


@lru_cache(maxsize=8)
def templates(package: str, html: bool) -> Environment:
    """The templates of a package."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(lambda name: files(package).joinpath(name).read_text(encoding="utf-8")),
        autoescape=html, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_escapable if html else None,
    )  # fmt: skip
    made.globals["counted"] = counted
    return made


def _escapable(value: Any) -> str:
    """A value as text that is escaped unless it is markup; control characters are written out, None is empty."""
    return value if isinstance(value, Markup) else "" if value is None else plain(str(value))
