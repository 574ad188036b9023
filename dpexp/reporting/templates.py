"""Pages from templates, which are files in the folder of the package that fills them in.

In HTML every value is escaped: names, labels, captions and columns are the user's, or of whoever wrote the file.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dpexp.core.terminal import plain
from dpexp.core.text import counted, yaml_in_line

if TYPE_CHECKING:
    from jinja2 import Environment


def filled(package: str, name: str, **values: Any) -> str:
    """A template of a package, filled in. Raises UndefinedError for a name without a value."""
    return _templates(package, name.endswith(".html")).get_template(name).render(values)


@cache
def _templates(package: str, html: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def escapable(value: Any) -> str:
        """A value as text that is escaped unless it is markup; control characters are written out, None is empty."""
        return value if isinstance(value, Markup) else "" if value is None else plain(str(value))

    environment = Environment(
        loader=PackageLoader(package, "."), autoescape=html, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=escapable if html else None,
    )  # fmt: skip
    environment.globals |= {"counted": counted, "yaml": yaml_in_line}
    return environment
