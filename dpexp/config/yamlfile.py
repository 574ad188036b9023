"""YAML with the position of every key and value, and numbers as people write them.

PyYAML alone reads `1e-5` and `1/3` as strings, `yes` as a truth value, and keeps the last of duplicate keys without a
word. Here fractions, powers of ten and `inf` are numbers, only `true` and `false` are truth values, and duplicates are
errors. What a user's records spell (categories, names of columns) is the text that is written: 1/2, 01 and true.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from dpexp.core.errors import UsageError
from dpexp.core.files import read_ordinary
from dpexp.core.scalars import scalar

_MAX_BYTES = 1_000_000
_MAX_DEPTH = 20
_MAX_VALUES = 100_000
"""keys and values of a file: more take seconds to read, and no sweep or list of budgets needs them"""
_TAGS = {
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "value", "merge")
}
_TEXTS = frozenset({"categories", "missing", "leave_out"})
"""keys in whose lists, also further down, every value is the text that is written"""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Position:
    """Where something stands: a line and column of a file, or a command-line option (line 0)."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


@dataclass(frozen=True)
class Issue:
    """One thing that is wrong in a config, and what could be done about it."""

    where: Position
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" + (f"\n    hint: {self.hint}" if self.hint else "")


@dataclass(frozen=True)
class Located:
    """A YAML value with its position: a scalar, a list of Located, or a dict of name -> Located."""

    value: Any
    where: Position
    keys: dict[str, Position] = field(default_factory=dict)
    """positions of the keys of a mapping"""

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.value, dict)

    def plain(self) -> Any:
        """The value without positions; sequences as tuples."""
        if isinstance(self.value, dict):
            return {k: v.plain() for k, v in self.value.items()}
        if isinstance(self.value, list):
            return tuple(v.plain() for v in self.value)
        return self.value


def all_at(value: Any, where: Position) -> Located:
    """A plain value, of which every part stands at one place."""
    if isinstance(value, Mapping):
        return Located({key: all_at(one, where) for key, one in value.items()}, where, dict.fromkeys(value, where))
    return Located([all_at(one, where) for one in value] if isinstance(value, list | tuple) else value, where)


MOST_SHOWN = 50
"""issues that are told apart; of more only the number is said"""


class ConfigError(UsageError):
    """Everything that is wrong with a config; `issues` lists it with positions, the first 50 one by one."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        # A mistake outside of `cases:` is found again in each of them.
        found = list(dict.fromkeys(issues))
        self.issues = found[:MOST_SHOWN]
        if len(found) > MOST_SHOWN:
            more = f"and {len(found) - MOST_SHOWN:,} more that are wrong"
            self.issues.append(Issue(found[MOST_SHOWN].where, more, "mend those above first"))
        super().__init__("\n".join(map(str, self.issues)))


class NotChecked(ConfigError):
    """A config that is not trusted, and needs code or data of whoever wrote it."""


def _wrong(where: Position, message: str, hint: str = "") -> ConfigError:
    """One problem, after which no more can be read."""
    return ConfigError([Issue(where, message, hint)])


def read(path: Path) -> Located:
    """Read a YAML file.

    Raises ConfigError naming the file (and the place in it) if it cannot be read, is not text or not valid YAML.
    """
    return parse(read_bytes(path), str(path))


def read_bytes(path: Path) -> bytes:
    """What a config file holds. Raises ConfigError."""
    here = Position(str(path))
    try:
        if path.is_dir():
            raise _wrong(here, "is a directory, not a config file", f"name the files: {path}/*.yaml")
        data = read_ordinary(path, _MAX_BYTES)
    except FileNotFoundError:
        raise _wrong(here, "no such file", _neighbour(path)) from None
    except (OSError, ValueError) as error:
        raise _wrong(here, f"cannot be read: {getattr(error, 'strerror', None) or error}", "check the path") from None
    return data


def parse(content: str | bytes, source: str) -> Located:
    """The YAML in a text, or in the bytes of a file; `source` names it in messages. Raises ConfigError."""
    issues: list[Issue] = []
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        depth = values = 0
        # Events come one by one: a file that would fill the memory is refused before it is built.
        for event in yaml.parse(text, Loader=_LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise _wrong(_at(event.start_mark, source), f"is nested deeper than {_MAX_DEPTH} levels", _BRACKETS)
            values += isinstance(event, yaml.ScalarEvent)
            if values > _MAX_VALUES:
                message = f"holds more than {_MAX_VALUES:,} keys and values"
                raise _wrong(_at(event.start_mark, source), message, "write shorter lists")
            # A few lines of aliases can stand for billions of values.
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                hint = "write the value out, or use `cases:`"
                raise _wrong(_at(event.start_mark, source), "anchors and aliases are not supported", hint)
        documents = list(yaml.compose_all(text, Loader=_LOADER))
    except UnicodeDecodeError as error:
        # There is no text yet of which lines could be counted.
        where = Position(source, error.object[: error.start].count(b"\n") + 1, 1)
        raise _wrong(where, "is not UTF-8 text", "a config is a text file") from None
    except yaml.MarkedYAMLError as error:
        # Some errors know only where what they are in began.
        mark = error.problem_mark or error.context_mark
        where = _at(mark, source) if mark else Position(source)
        raise _wrong(where, f"not valid YAML: {error.problem or error.context}", _BRACKETS) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        message = "not valid YAML: holds a control character"
        raise _wrong(Position(source, line, 1), message, "a config is a text file") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _wrong(Position(source), f"not valid YAML: {error}") from None
    if not documents or documents[0] is None:
        raise _wrong(Position(source, 1, 1), "is empty", "see configs/linear_d5.yaml for an example")
    if len(documents) > 1:
        where = _at(documents[1].start_mark, source)
        raise _wrong(where, "holds a second document; one is wanted", "use one file an experiment")
    located = _locate(documents[0], source, issues)
    if issues:
        raise ConfigError(issues)
    return located


_BRACKETS = "check brackets, quotes and indentation"


def _neighbour(path: Path) -> str:
    """A file of nearly this name beside it or among the configs, or a shipped config of this name."""
    from dpexp.config.shipped import MARK, shipped

    # Most often only the ending was forgotten.
    if (path.parent / f"{path.name}.yaml").is_file():
        return f"did you mean {path}.yaml?"
    try:
        beside, ours = ({p.stem: str(p) for p in folder.glob("*.yaml")} for folder in (path.parent, Path("configs")))
    except OSError:
        beside, ours = {}, {}
    known = {name: f"{MARK}{name}" for name in shipped()} | ours | beside
    # a file that lies where it was sought is more likely meant than another one: 'nothing' is not meant for 'hinge'
    close = difflib.get_close_matches(path.stem, beside, n=1) or difflib.get_close_matches(path.stem, known, 1, 0.75)
    if not close:
        return f"check the path; configs that come with dpexp are written {MARK}NAME (dpexp list --shipped)"
    return f"did you mean {known[close[0]]}?"


def _at(mark: Any, source: str) -> Position:
    return Position(source, mark.line + 1, mark.column + 1)


def _item(node: yaml.Node, source: str, issues: list[Issue], texts: bool) -> Located:
    found = _locate(node, source, issues, texts)
    return replace(found, value=node.value) if texts and isinstance(node, yaml.ScalarNode) else found


def _locate(node: yaml.Node, source: str, issues: list[Issue], texts: bool = False) -> Located:
    where = _at(node.start_mark, source)
    if node.tag not in _TAGS:
        issues.append(Issue(where, f"the tag {node.tag} is not supported", "write the plain value"))
    if isinstance(node, yaml.ScalarNode):
        return Located(node.value if node.style in ("'", '"', "|", ">") else scalar(node.value.strip()), where)
    if isinstance(node, yaml.SequenceNode):
        return Located([_item(item, source, issues, texts) for item in node.value], where)
    values: dict[str, Located] = {}
    keys: dict[str, Position] = {}
    for key, value in node.value:
        at = _at(key.start_mark, source)
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        if name is None or (name == "<<" and not key.style):
            issues.append(Issue(at, "a key must be a plain name", "for instance eta: 0.2"))
        elif name in values:
            issues.append(
                Issue(at, f"the key '{name}' appears twice (first at line {keys[name].line})", "keep one of them")
            )
        else:
            values[name], keys[name] = _locate(value, source, issues, texts or name in _TEXTS), at
    return Located(values, where, keys)
