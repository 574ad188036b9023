"""YAML as plain values that know where they are written, and numbers as people write them.

PyYAML alone reads `1e-5` and `1/3` as strings, `yes` as a truth value, and keeps the last of duplicate keys without a
word. Here fractions, powers of ten and `inf` are numbers, only `true` and `false` are truth values, and duplicates are
errors. What a user's records spell (categories, names of columns) is the text that is written: 1/2, 01 and true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
_BRACKETS = "check brackets, quotes and indentation"
MOST_SHOWN = 50
"""issues that are listed; of more only the number is given"""
Keys = tuple[int | str, ...]
"""the way to a value: names in mappings and numbers in lists"""


@dataclass(frozen=True)
class Position:
    """Where something is written: a line and column of a file, or a command-line option (line 0)."""

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
class Tree:
    """A value, and where it and each of its parts are written."""

    content: Any
    """a scalar, a tuple of trees, or a mapping from keys to trees"""
    where: Position
    key_where: Position
    """of the key that the value belongs to, also as one of several; of the value itself where it has none"""

    @cached_property
    def value(self) -> Any:
        """The plain value, with tuples for lists."""
        if isinstance(self.content, dict):
            return {key: part.value for key, part in self.content.items()}
        return tuple([part.value for part in self.content]) if isinstance(self.content, tuple) else self.content

    def __contains__(self, key: object) -> bool:
        return isinstance(self.content, dict) and key in self.content

    def parts(self) -> dict[str, Tree]:
        """The parts of a mapping."""
        return dict(self.content)

    def items(self) -> list[Tree]:
        """The parts of a list, or the value alone where it is none."""
        return list(self.content) if isinstance(self.content, tuple) else [self]

    def part(self, *keys: int | str) -> Tree:
        """What is at these keys."""
        part = self
        for key in keys:
            part = part.content[key]
        return part

    def follow(self, keys: Sequence[int | str]) -> tuple[Keys, Tree]:
        """Those of the keys that lead somewhere, and what is there; pydantic puts its names of alternatives between."""
        taken, part = list[int | str](), self
        for key in keys:
            content = part.content
            if key in part or (isinstance(content, tuple) and isinstance(key, int) and key < len(content)):
                taken.append(key)
                part = content[key]
        return tuple(taken), part

    def at(self, *keys: int | str) -> Position:
        """Where the value is, or the innermost one around it that is written."""
        return self.follow(keys)[1].where

    def key(self, *keys: int | str) -> Position:
        """Where the last of these keys is, or what is around it where it is not written."""
        around = self.follow(keys[:-1])[1]
        return around.part(keys[-1]).key_where if keys[-1] in around else around.where

    def holding(self, value: Any) -> Tree:
        """Another value, which is at this place."""
        return replace(all_at(value, self.where), key_where=self.key_where)

    def joined(self, parts: Mapping[str, Tree] | Sequence[Tree]) -> Tree:
        """A mapping or a list of parts, at the place of this one."""
        return replace(self, content=dict(parts) if isinstance(parts, Mapping) else tuple(parts))

    def put(self, keys: Keys, value: Any, where: Position) -> Tree:
        """The tree with another value at these keys, all of which is at one place."""
        if not keys:
            return all_at(value, where)
        parts = self.parts() if isinstance(self.content, dict) else {}
        inner = parts.get(str(keys[0]), all_at({}, where))
        return self.joined({**parts, str(keys[0]): inner.put(keys[1:], value, where)})


def all_at(value: Any, where: Position) -> Tree:
    """A value, of which every part is at one place."""
    if isinstance(value, Mapping):
        return Tree({key: all_at(inner, where) for key, inner in value.items()}, where, where)
    content = tuple([all_at(item, where) for item in value]) if isinstance(value, list | tuple) else value
    return Tree(content, where, where)


class ConfigError(UsageError):
    """Everything that is wrong with a config; `issues` lists it with positions, the first 50 one by one."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        # A mistake outside of `cases:`, or beside a sweep, is found again for each of them.
        distinct = list(dict.fromkeys(issues))
        self.issues = distinct[:MOST_SHOWN]
        if len(distinct) > MOST_SHOWN:
            more = f"and {len(distinct) - MOST_SHOWN:,} more that are wrong"
            self.issues.append(Issue(distinct[MOST_SHOWN].where, more, "mend those above first"))
        super().__init__("\n".join(map(str, self.issues)))


class NotChecked(ConfigError):
    """A config that is not trusted, and needs code or data of whoever wrote it."""


def _wrong(where: Position, message: str, hint: str = "") -> ConfigError:
    """One problem, after which no more can be read."""
    return ConfigError([Issue(where, message, hint)])


def read(path: Path, missing_hint: str = "check the path") -> Tree:
    """The YAML of a file. Raises ConfigError naming the file, and the place in it."""
    return parse(read_bytes(path, missing_hint), str(path))


def read_bytes(path: Path, missing_hint: str = "check the path") -> bytes:
    """What a config file holds. Raises ConfigError."""
    here = Position(str(path))
    try:
        if path.is_dir():
            raise _wrong(here, "is a directory, not a config file", f"name the files: {path}/*.yaml")
        return read_ordinary(path, _MAX_BYTES)
    except FileNotFoundError:
        raise _wrong(here, "no such file", missing_hint) from None
    except (OSError, ValueError) as error:
        raise _wrong(here, f"cannot be read: {getattr(error, 'strerror', None) or error}", "check the path") from None


def parse(content: str | bytes, source: str) -> Tree:
    """The YAML in a text, or in the bytes of a file; `source` names it in messages. Raises ConfigError."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        _require_small(text, source)
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
        where = Position(source, text[: error.position].count("\n") + 1, 1)
        raise _wrong(where, "not valid YAML: holds a control character", "a config is a text file") from None
    except ConfigError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _wrong(Position(source), f"not valid YAML: {error}") from None
    if not documents or documents[0] is None:
        raise _wrong(Position(source, 1, 1), "is empty", "see configs/linear_d5.yaml for an example")
    if len(documents) > 1:
        where = _at(documents[1].start_mark, source)
        raise _wrong(where, "holds a second document; one is wanted", "use one file an experiment")
    builder = _Builder(source)
    tree = builder.tree(documents[0])
    if builder.issues:
        raise ConfigError(builder.issues)
    return tree


def _require_small(text: str, source: str) -> None:
    """Refuse what is nested too deeply, or holds too much, by its events, before it is built."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.ScalarEvent)
        if depth > _MAX_DEPTH:
            wrong = (f"is nested deeper than {_MAX_DEPTH} levels", _BRACKETS)
        elif values > _MAX_VALUES:
            wrong = (f"holds more than {_MAX_VALUES:,} keys and values", "write shorter lists")
        # A few lines of aliases can stand for billions of values.
        elif isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            wrong = ("anchors and aliases are not supported", "write the value out, or use `cases:`")
        else:
            continue
        raise _wrong(_at(event.start_mark, source), *wrong)


def _at(mark: Any, source: str) -> Position:
    return Position(source, mark.line + 1, mark.column + 1)


class _Builder:
    """From the nodes of PyYAML to a tree, with what is wrong on the way."""

    def __init__(self, source: str) -> None:
        self.source, self.issues = source, list[Issue]()

    def tree(self, node: yaml.Node, key: Position | None = None, texts: bool = False, item: bool = False) -> Tree:
        """What a node is; scalars in lists are texts where that is all that they can be."""
        where = _at(node.start_mark, self.source)
        if node.tag not in _TAGS:
            self.issues.append(Issue(where, f"the tag {node.tag} is not supported", "write the plain value"))
        if isinstance(node, yaml.ScalarNode):
            written = node.style in ("'", '"', "|", ">") or (texts and item)
            return Tree(node.value if written else scalar(node.value.strip()), where, key or where)
        if isinstance(node, yaml.SequenceNode):
            return Tree(tuple([self.tree(inner, key, texts, True) for inner in node.value]), where, key or where)
        mapping: dict[str, Tree] = {}
        for name_node, inner in node.value:
            name, at = name_node.value, _at(name_node.start_mark, self.source)
            if not isinstance(name_node, yaml.ScalarNode) or (name == "<<" and not name_node.style):
                self.issues.append(Issue(at, "a key must be a plain name", "for instance eta: 0.2"))
            elif name in mapping:
                message = f"the key '{name}' appears twice (first at line {mapping[name].key_where.line})"
                self.issues.append(Issue(at, message, "keep one of them"))
            else:
                mapping[name] = self.tree(inner, at, texts or name in _TEXTS)
        return Tree(mapping, where, key or where)
