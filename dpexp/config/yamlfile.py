"""YAML as plain values, with one map from the path of every value to its line and column; numbers as people write them.

PyYAML alone reads `1e-5` and `1/3` as strings, `yes` as a truth value, and keeps the last of duplicate keys without a
word. Here fractions, powers of ten and `inf` are numbers, only `true` and `false` are truth values, and duplicates are
errors. What a user's records spell (categories, names of columns) is the text that is written: 1/2, 01 and true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from dpexp.core.errors import UsageError
from dpexp.core.files import read_ordinary
from dpexp.core.text import scalar

_MAX_BYTES, _MAX_DEPTH, _MAX_VALUES = 1_000_000, 20, 100_000
"""of a file; more keys and values take seconds to read, and no sweep or list of budgets needs them"""
_KINDS = ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "value", "merge")
_TAGS = {f"tag:yaml.org,2002:{name}" for name in _KINDS}
_TEXTS = frozenset({"categories", "missing", "leave_out"})
"""keys in whose lists, also further down, every value is the text that is written"""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BRACKETS = "check brackets, quotes and indentation"
MAX_ISSUES = 50
"""issues that are listed; of more only the number is given"""
Keys = tuple[int | str, ...]
"""a path to a value: names in mappings and numbers in lists"""


class Position(NamedTuple):
    """Where something is written: a line and column of a file, or a command-line option (line 0)."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


class Mark(NamedTuple):
    """Where a value is, and where the key is that it belongs to, also as an entry of a list."""

    value: Position
    key: Position


class Issue(NamedTuple):
    """A mistake in a config, and what could be done about it."""

    where: Position
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" + (f"\n    hint: {self.hint}" if self.hint else "")


class ConfigError(UsageError):
    """All mistakes of a config; `issues` lists the first 50 with their positions."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        # A mistake outside of `cases:`, or beside a sweep, occurs in each of them.
        distinct = list(dict.fromkeys(issues))
        self.issues = distinct[:MAX_ISSUES]
        if len(distinct) > MAX_ISSUES:
            more = f"and {len(distinct) - MAX_ISSUES:,} more mistakes"
            self.issues.append(Issue(distinct[MAX_ISSUES].where, more, "correct those above first"))
        super().__init__("\n".join(map(str, self.issues)))


class NotChecked(ConfigError):
    """A config that is not trusted, and needs code or data of whoever wrote it."""


def config_error(where: Position, message: str, hint: str = "") -> ConfigError:
    """The error of a single issue."""
    return ConfigError([Issue(where, message, hint)])


@dataclass(frozen=True)
class Located:
    """A plain value, with tuples for lists, and the map of its file from paths to places.

    `paths` maps the keys of what a sweep, a case or a list of names took out of its place to its path in the file.
    """

    value: Any
    marks: Mapping[Keys, Mark]
    paths: Mapping[Keys, Keys] = field(default_factory=lambda: {(): ()})

    def path(self, keys: Keys) -> Keys:
        """The path in the file of the value at these keys."""
        depth = next(k for k in range(len(keys), -1, -1) if keys[:k] in self.paths)
        return self.paths[keys[:depth]] + keys[depth:]

    def at(self, *keys: int | str) -> Position:
        """Where the value is, or the innermost one around it that is written."""
        path = self.path(keys)
        return next(self.marks[path[:k]].value for k in range(len(path), -1, -1) if path[:k] in self.marks)

    def key(self, *keys: int | str) -> Position:
        """Where the last of these keys is, or what is around it where it is not written."""
        mark = self.marks.get(self.path(keys))
        return self.at(*keys) if mark is None else mark.key

    def part(self, key: str) -> Located:
        """The section of a config at a key."""
        inner = {path[1:]: place for path, place in self.paths.items() if path[:1] == (key,)}
        return Located(self.value[key], self.marks, {(): self.path((key,)), **inner})

    def value_at(self, keys: Keys) -> Any:
        """The value at these keys."""
        value = self.value
        for key in keys:
            value = value[key]
        return value

    def put(self, keys: Keys, value: Any, where: Position) -> Located:
        """The file with another value at these keys, with all its parts at one place."""
        root = inner = dict(self.value)
        for key in keys[:-1]:
            inner[key] = dict(inner[key]) if isinstance(inner.get(key), dict) else {}
            inner = inner[key]
        inner[keys[-1]] = plain(value)
        marks = {path: mark for path, mark in self.marks.items() if path[: len(keys)] != keys}
        marks |= {keys[:k]: Mark(where, where) for k in range(len(keys))}
        return Located(root, {**marks, **all_at(value, where, keys).marks})


def plain(value: Any) -> Any:
    """A value of Python as a file has it: tuples for lists, numbers of numpy as such, days as texts."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, date):
        return value.isoformat()[:10]
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


def all_at(value: Any, where: Position, path: Keys = ()) -> Located:
    """A value with all its parts at one place; `path` is where its file has it."""
    value, marks = plain(value), dict[Keys, Mark]({path: Mark(where, where)})
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
    for key, inner in parts:
        marks.update(all_at(inner, where, (*path, key)).marks)
    return Located(value, marks)


def read_bytes(path: Path, missing_hint: str = "check the path") -> bytes:
    """The content of a config file. Raises ConfigError."""
    try:
        return read_ordinary(path, _MAX_BYTES)
    except FileNotFoundError:
        raise config_error(Position(str(path)), "no such file", missing_hint) from None
    except (OSError, ValueError) as error:
        message = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise config_error(Position(str(path)), message, "a config is a YAML file") from None


def parse(content: str | bytes, source: str) -> Located:
    """The YAML in a text, or in the bytes of a file; `source` names it in messages. Raises ConfigError."""
    where, hint = Position(source, 1, 1), "a config is a text file"
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        _require_small(text, source)
        documents = list(yaml.compose_all(text, Loader=_LOADER))
    except ConfigError:
        raise
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise config_error(Position(source, line, 1), "is not UTF-8 text", hint) from None
    except yaml.reader.ReaderError as error:
        where = Position(source, text[: error.position].count("\n") + 1, 1)
        raise config_error(where, "not valid YAML: contains a control character", hint) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # Some errors know only where what they are in began.
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "context", None) or error
        raise config_error(_at(mark, source) if mark else where, f"not valid YAML: {reason}", _BRACKETS) from None
    if not documents or documents[0] is None:
        raise config_error(where, "is empty", "see configs/linear_d5.yaml for an example")
    if len(documents) > 1:
        second = _at(documents[1].start_mark, source)
        raise config_error(second, "contains a second document", "use one file per experiment")
    builder = _Builder(source, {}, [])
    value = builder.value(documents[0], ())
    if builder.issues:
        raise ConfigError(builder.issues)
    return Located(value, builder.marks)


def _require_small(text: str, source: str) -> None:
    """Refuse by its events, before it is built, what is nested too deeply or holds too much. Raises ConfigError."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_LOADER):
        where = _at(event.start_mark, source)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.ScalarEvent)
        if depth > _MAX_DEPTH:
            raise config_error(where, f"is nested deeper than {_MAX_DEPTH} levels", _BRACKETS)
        if values > _MAX_VALUES:
            raise config_error(where, f"contains more than {_MAX_VALUES:,} keys and values", "write shorter lists")
        # A few lines of aliases can stand for billions of values.
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            hint = "write the value out, or use `cases:`"
            raise config_error(where, "anchors and aliases are not supported", hint)


def _at(mark: Any, source: str) -> Position:
    return Position(source, mark.line + 1, mark.column + 1)


class _Builder(NamedTuple):
    """From the nodes of PyYAML to plain values, with the place of each and all mistakes on the way."""

    source: str
    marks: dict[Keys, Mark]
    issues: list[Issue]

    def value(self, node: yaml.Node, path: Keys, key: Position | None = None, texts: bool = False) -> Any:
        """The value of a node; scalars in lists of `texts` are texts."""
        where = _at(node.start_mark, self.source)
        self.marks[path] = Mark(where, key or where)
        if node.tag not in _TAGS:
            self.issues.append(Issue(where, f"the tag {node.tag} is not supported", "write the plain value"))
        if isinstance(node, yaml.ScalarNode):
            text = node.style in ("'", '"', "|", ">") or (texts and isinstance(path[-1], int))
            return node.value if text else scalar(node.value.strip())
        if isinstance(node, yaml.SequenceNode):
            return tuple([self.value(inner, (*path, k), key, texts) for k, inner in enumerate(node.value)])
        mapping: dict[str, Any] = {}
        for name_node, inner in node.value:
            name, at = name_node.value, _at(name_node.start_mark, self.source)
            if not isinstance(name_node, yaml.ScalarNode) or (name == "<<" and not name_node.style):
                self.issues.append(Issue(at, "a key must be a plain name", "for instance eta: 0.2"))
            elif name in mapping:
                message = f"the key '{name}' appears twice (first at line {self.marks[*path, name].key.line})"
                self.issues.append(Issue(at, message, "keep one of them"))
            else:
                mapping[name] = self.value(inner, (*path, name), at, texts or name in _TEXTS)
        return mapping
