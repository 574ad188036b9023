"""YAML as plain values with a map of where every key and value is written, and numbers as people write them.

PyYAML alone reads `1e-5` and `1/3` as strings, `yes` as a truth value, and keeps the last of duplicate keys without a
word. Here fractions, powers of ten and `inf` are numbers, only `true` and `false` are truth values, and duplicates are
errors. What a user's records spell (categories, names of columns) is the text that is written: 1/2, 01 and true.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    """A plain value, lists as tuples, and where its parts are written.

    A part of a file, or a mapping put together of such parts; what is marked nowhere is where that is which holds it.
    """

    value: Any
    marks: Mapping[Keys, Position]
    """of values, by their keys in the file"""
    key_marks: Mapping[Keys, Position] = field(default_factory=dict)
    """of the keys of mappings"""
    origins: Mapping[Keys, Keys] = field(default_factory=lambda: {(): ()})
    """keys in this value -> keys in the file"""

    def __contains__(self, key: object) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def _written(self, keys: Keys) -> Keys:
        """Keys in the file, of parts that are written there; the name of an alternative is no key, and skipped."""
        here, rest = (), ()  # type: tuple[Keys, Keys]
        for key in keys:
            here, rest = ((*here, key), ()) if (*here, key) in self.origins else (here, (*rest, key))
        place = self.origins[here]
        for key in rest:
            place = (*place, key) if (*place, key) in self.marks else place
        return place

    def at(self, *keys: int | str) -> Position:
        """Where the value is, or the innermost one around it that is written."""
        return self.marks[self._written(keys)]

    def key(self, *keys: int | str) -> Position:
        """Where the last of these keys is."""
        place, around = self._written(keys), self._written(keys[:-1])
        if place == around:
            return self.marks[around]
        while isinstance(place[-1], int):  # one of the values that a key sweeps over
            place = place[:-1]
        return self.key_marks[place]

    def part(self, *keys: int | str) -> Tree:
        """What is at these keys."""
        value = self.value
        for key in keys:
            value = value[key]
        inner = {k[len(keys) :]: place for k, place in self.origins.items() if k[: len(keys)] == keys}
        return Tree(value, self.marks, self.key_marks, {**inner, (): self._written(keys)})

    def parts(self) -> dict[str, Tree]:
        """The parts of a mapping."""
        return {key: self.part(key) for key in self.value}

    def items(self) -> list[Tree]:
        """The parts of a list, or the value alone where it is none."""
        return [self.part(k) for k in range(len(self.value))] if isinstance(self.value, tuple) else [self]

    def holding(self, value: Any) -> Tree:
        """Another value, which is at this place."""
        return Tree(value, self.marks, self.key_marks, {(): self.origins[()]})

    def joined(self, parts: Mapping[str, Tree] | Sequence[Tree]) -> Tree:
        """A mapping or a list of parts, at the place of this one."""
        named: list[tuple[int | str, Tree]] = list(parts.items() if isinstance(parts, Mapping) else enumerate(parts))
        origins = {(key, *keys): place for key, part in named for keys, place in part.origins.items()}
        value = (
            {key: part.value for key, part in named} if isinstance(parts, Mapping) else tuple(p.value for p in parts)
        )
        return Tree(value, self.marks, self.key_marks, {(): self.origins[()], **origins})

    def put(self, keys: Keys, value: Any, where: Position) -> Tree:
        """A whole file with another value at these keys, all of which is at one place."""
        marks = {k: mark for k, mark in self.marks.items() if k[: len(keys)] != keys}
        around = [keys[:depth] for depth in range(len(keys) + 1)]
        value = _set(self.value, keys, plain(value))
        return Tree(
            value, dict.fromkeys(around, where) | marks, {**dict.fromkeys(around, where), **self.key_marks, keys: where}
        )


def _set(tree: Any, keys: Keys, value: Any) -> Any:
    if not keys:
        return value
    around = tree if isinstance(tree, dict) else {}
    return {**around, keys[0]: _set(around.get(keys[0]), keys[1:], value)}


def plain(value: Any) -> Any:
    """A value with tuples for lists."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


def all_at(value: Any, where: Position) -> Tree:
    """A value, of which every part is at one place."""
    return Tree(plain(value), {(): where})


class ConfigError(UsageError):
    """Everything that is wrong with a config; `issues` lists it with positions, the first 50 one by one."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        # A mistake outside of `cases:` is found again in each of them.
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


def read(path: Path) -> Tree:
    """The YAML of a file. Raises ConfigError naming the file, and the place in it."""
    return parse(read_bytes(path), str(path))


def read_bytes(path: Path) -> bytes:
    """What a config file holds. Raises ConfigError."""
    here = Position(str(path))
    try:
        if path.is_dir():
            raise _wrong(here, "is a directory, not a config file", f"name the files: {path}/*.yaml")
        return read_ordinary(path, _MAX_BYTES)
    except FileNotFoundError:
        raise _wrong(here, "no such file", _neighbour(path)) from None
    except (OSError, ValueError) as error:
        raise _wrong(here, f"cannot be read: {getattr(error, 'strerror', None) or error}", "check the path") from None


def parse(content: str | bytes, source: str) -> Tree:
    """The YAML in a text, or in the bytes of a file; `source` names it in messages. Raises ConfigError."""
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
    reader = _Reader(source)
    value = reader.value(documents[0], (), False)
    if reader.issues:
        raise ConfigError(reader.issues)
    return Tree(value, reader.marks, reader.key_marks)


def _neighbour(path: Path) -> str:
    """A file of nearly this name in its folder or among the configs, or a shipped config of this name."""
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


class _Reader:
    """From the nodes of PyYAML to values and marks, with what is wrong on the way."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.issues: list[Issue] = []
        self.marks: dict[Keys, Position] = {}
        self.key_marks: dict[Keys, Position] = {}

    def value(self, node: yaml.Node, keys: Keys, texts: bool) -> Any:
        """What a node is; scalars in lists are `texts` where that is all that they can be."""
        where = self.marks[keys] = _at(node.start_mark, self.source)
        if node.tag not in _TAGS:
            self.issues.append(Issue(where, f"the tag {node.tag} is not supported", "write the plain value"))
        if isinstance(node, yaml.ScalarNode):
            written = node.style in ("'", '"', "|", ">") or (texts and isinstance(keys[-1], int))
            return node.value if written else scalar(node.value.strip())
        if isinstance(node, yaml.SequenceNode):
            return tuple([self.value(item, (*keys, k), texts) for k, item in enumerate(node.value)])
        mapping: dict[str, Any] = {}
        for key, inner in node.value:
            name, at = key.value, _at(key.start_mark, self.source)
            if not isinstance(key, yaml.ScalarNode) or (name == "<<" and not key.style):
                self.issues.append(Issue(at, "a key must be a plain name", "for instance eta: 0.2"))
            elif name in mapping:
                first = self.key_marks[*keys, name].line
                message = f"the key '{name}' appears twice (first at line {first})"
                self.issues.append(Issue(at, message, "keep one of them"))
            else:
                self.key_marks[*keys, name] = at
                mapping[name] = self.value(inner, (*keys, name), texts or name in _TEXTS)
        return mapping
