"""The reference pages of the site, made from the code: every command, every key of a config, every public name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

from typer import Context

from dpexp import API, PLACES
from dpexp.commands.cli import COMMANDS, full_help, parser
from dpexp.config.cells import RunSettings
from dpexp.config.error_messages import in_words, schema_of
from dpexp.config.sections import REGISTRIES
from dpexp.core.parameters import Parameters
from dpexp.privacy.budgets import PrivacySettings
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.problems.population import Population


def pages() -> dict[str, str]:
    """Text of every reference page, by its path on the site."""
    return {
        "reference/cli.md": "\n".join(_commands()),
        "reference/config.md": "\n".join(_config()),
        "reference/mechanisms.md": "\n".join(_mechanisms()),
        "reference/api.md": "\n".join(_names()),
    }


def _commands() -> Iterator[str]:
    yield "# Commands\n\nEvery command with all its options, as `dpexp COMMAND --help-all` prints them.\n"
    for panel in dict.fromkeys(one.panel for one in COMMANDS.values()):
        yield f"## {panel}\n"
        for name in (name for name, one in COMMANDS.items() if one.panel == panel):
            text = full_help(Context(parser().commands[name], info_name=f"dpexp {name}"))
            yield f"### dpexp {name}\n\n```text\n{text}\n```\n"


def _config() -> Iterator[str]:
    yield "# Keys of a config\n\nEvery key with what it takes. [What a config can say](../config.md) explains them.\n"
    for section, registry in REGISTRIES.items():
        yield f"## {section}\n"
        for name, kind in registry.items():
            yield from _entry(name, kind)
    for title, kind in (("population", Population), ("privacy", PrivacySettings), ("run", RunSettings)):
        yield f"## {title}\n"
        yield from _keys(kind)


def _mechanisms() -> Iterator[str]:
    yield "# Parameters of mechanisms\n\nOf `dpexp privacy --mechanism NAME`; [privacy](../privacy.md) explains them.\n"
    for name, kind in MECHANISMS.items():
        yield from _entry(name, kind)


def _entry(name: str, kind: type[Parameters]) -> Iterator[str]:
    summary, _, _ = inspect.cleandoc(kind.__doc__ or "").partition("\n")
    yield f"### {name}\n\n{_plain(summary)}\n"
    yield from _keys(kind)


def _keys(kind: type[Parameters]) -> Iterable[str]:
    """A table of the keys of a class: what each means and takes, and what it is where it is left out."""
    schema, fields = schema_of(kind)["properties"], kind.model_fields
    rows = ["| key | meaning | value | default |", "|---|---|---|---|"]
    for key in (key for key in schema if key not in ("name", "population")):
        values = in_words(schema[key])
        default = fields[key].get_default(call_default_factory=True) if not fields[key].is_required() else None
        shown = "" if default is None or isinstance(default, Parameters) else f"`{default}`"
        meaning = schema[key]["description"].removeprefix(f"{key}: {values}")
        rows.append(f"| `{key}` | {_plain(meaning)} | {_plain(values)} | {shown} |")
    return ["\n".join(rows), ""] if len(rows) > 2 else []


def _plain(text: str) -> str:
    """Text in which nothing but backquotes is markup."""
    return re.sub(r"([|*\[])", r"\\\1", text).replace("<", "&lt;")


def _names() -> Iterator[str]:
    yield "# Public names\n\nWhat `import dpexp` has. [dpexp from Python](../python.md) shows the names at work.\n"
    for name in sorted(API, key=str.lower):
        yield f"::: dpexp.{PLACES.get(name, f'commands.{name}')}.{name}\n"
