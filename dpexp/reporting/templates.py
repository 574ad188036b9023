"""Files of the package: what is declared in YAML, and templates of pages, beside the code that fills them in.

In HTML every value is escaped: names, labels, captions and columns are the user's, or of whoever wrote the file.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.terminal import plain
from dpexp.core.text import counted, yaml_in_line

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def data_of(path: Path) -> Any:
    """The document of a YAML file of the package."""
    import yaml

    # the loader in Python takes ten times as long
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def filled(package: str, name: str, **values: Any) -> str:
    """A template of a package, filled in, without a last line end. Raises UndefinedError for a name without a value."""
    return _templates(package, name.endswith(".html")).get_template(name).render(values).rstrip("\n")


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
