"""YAML as values that carry their places in the file, numbers as people write them, and mistakes at their places.

Fractions, powers of ten and `inf` are numbers, only `true` and `false` are truth values, and duplicate keys are errors,
none of which PyYAML does. What a user's records spell (categories, names of columns) is the text that is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import yaml

from dpexp.core.errors import UsageError
from dpexp.core.files import read_ordinary
from dpexp.core.text import scalar

_MAX_BYTES, _MAX_DEPTH = 1_000_000, 20
"""of a file"""
_TEXTS = frozenset({"categories", "missing", "leave_out"})
"""keys in whose lists, also further down, every value is the text that is written"""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BRACKETS = "check brackets, quotes and indentation"
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
    """Where a value is, and where its key is."""

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
    """All mistakes of a config, each once; `issues` lists them with their positions."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        # A mistake outside of `cases:`, or beside a sweep, occurs in each of them.
        self.issues = list(dict.fromkeys(issues))
        super().__init__("\n".join(map(str, self.issues)))


class NotChecked(ConfigError):
    """A config that is not trusted, and needs code or data of whoever wrote it."""


@contextmanager
def collected(issues: list[Issue]) -> Iterator[None]:
    """What is wrong inside the `with` block is added to the issues, and the next part is looked at."""
    try:
        yield
    except NotChecked:
        raise
    except ConfigError as error:
        issues += error.issues


def config_error(where: Position, message: str, hint: str = "") -> ConfigError:
    """The error of a single issue."""
    return ConfigError([Issue(where, message, hint)])


class Map(dict[str, Any]):
    """A mapping that begins at `start`, with the places of its values and keys in `marks`."""

    def __init__(self, values: Mapping[str, Any], marks: Mapping[Any, Mark], start: Position) -> None:
        super().__init__(values)
        self.marks, self.start = marks, start

    def __reduce__(self) -> tuple[type, tuple[object]]:
        return dict, (dict(self),)  # another process, which a plug-in's field may send it to, needs no places

    def at(self, *keys: int | str) -> Position:
        """Where the value at these keys is, or the innermost one around it that is written."""
        inner: Any = self
        where = self.start
        for key in keys:
            marks = inner.marks if isinstance(inner, Map | List) else {}
            if key not in marks:
                break
            inner, where = inner[key], marks[key].value
        return where

    def key(self, *keys: int | str) -> Position:
        """Where the last of these keys is, or what is around it where it is not written."""
        marks = self.value_at(keys[:-1]).marks
        return marks[keys[-1]].key if keys[-1] in marks else self.at(*keys)

    def value_at(self, keys: Keys) -> Any:
        """The value at these keys."""
        return reduce(getitem, keys, cast(Any, self))

    def over(self, values: Mapping[str, Any], start: Position | None = None) -> Map:
        """The mapping with other values, which keep their places where they have some."""
        marks = values.marks if isinstance(values, Map) else {}
        return Map({**self, **values}, {**self.marks, **marks}, start or self.start)

    def only(self, keys: Sequence[str]) -> Map:
        """The mapping without all other keys."""
        return Map({key: self[key] for key in keys}, {key: self.marks[key] for key in keys}, self.start)

    def put(self, keys: Sequence[str], value: Any, where: Position) -> Map:
        """The mapping with another value at these keys, whose own place is given."""
        if len(keys) > 1:
            inner = self.get(keys[0])
            value = (inner if isinstance(inner, Map) else Map({}, {}, where)).put(keys[1:], value, where)
        return self.over(Map({keys[0]: value}, {keys[0]: Mark(where, where)}, where), where)


class List(tuple[Any, ...]):
    """A list, which is a tuple, with the places of its values in `marks`."""

    marks: Mapping[Any, Mark]

    def __new__(cls, values: Sequence[Any], marks: Sequence[Position]) -> List:
        made = super().__new__(cls, values)
        made.marks = {k: Mark(where, where) for k, where in enumerate(marks)}
        return made

    def __reduce__(self) -> tuple[type, tuple[object]]:
        return tuple, (tuple(self),)


def with_place(value: Any, where: Position) -> Any:
    """A value of Python with all its parts at one place: numbers of numpy as such, days as texts."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        inner = {str(key): with_place(part, where) for key, part in value.items()}
        return Map(inner, dict.fromkeys(inner, Mark(where, where)), where)
    if isinstance(value, list | tuple):
        return List([with_place(part, where) for part in value], [where] * len(value))
    return value.isoformat()[:10] if isinstance(value, date) else value


def kind(value: Any) -> str:
    """What a value is, in words."""
    if isinstance(value, tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    kinds: dict[type, str] = {dict: "a mapping", type(None): "nothing", bool: "true or false", str: "text"}
    return next((words for kind, words in kinds.items() if isinstance(value, kind)), "a number")


def read_bytes(path: Path, missing_hint: str = "check the path") -> bytes:
    """The content of a config file. Raises ConfigError."""
    try:
        return read_ordinary(path, _MAX_BYTES)
    except (OSError, ValueError) as error:
        message, hint = f"cannot be read: {getattr(error, 'strerror', None) or error}", "a config is a YAML file"
        if isinstance(error, FileNotFoundError):
            message, hint = "no such file", missing_hint
        raise config_error(Position(str(path)), message, hint) from None


def parse(content: str | bytes, source: str, noun: str = "", hint: str = "") -> Any:
    """The YAML in a text, or in the bytes of a file; `source` names it in messages. Raises ConfigError.

    With a noun it is a mapping, which messages call so.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        value = _Builder(yaml.parse(text, Loader=_LOADER), source).document()
    except ConfigError:
        raise
    except UnicodeDecodeError as error:
        where = Position(source, error.object[: error.start].count(b"\n") + 1, 1)
        raise config_error(where, "is not UTF-8 text", "a config is a text file") from None
    except yaml.reader.ReaderError as error:
        where = Position(source, text[: error.position].count("\n") + 1, 1)
        raise config_error(where, "not valid YAML: contains a control character", "a config is a text file") from None
    except (yaml.YAMLError, ValueError) as error:
        # Some errors know only where what they are in began.
        mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        reason = getattr(error, "problem", None) or getattr(error, "context", None) or error
        where = Position(source, mark.line + 1, mark.column + 1) if mark else Position(source, 1, 1)
        raise config_error(where, f"not valid YAML: {reason}", _BRACKETS) from None
    if noun and not isinstance(value, Map):
        raise config_error(Position(source, 1, 1), f"{noun} is a mapping, not {kind(value)}", hint)
    return value


class _Builder:
    """From the events of PyYAML to values with places: what is too large is refused before it is built."""

    def __init__(self, events: Iterator[Any], source: str) -> None:
        self.events, self.source, self.issues = events, source, list[Issue]()

    def document(self) -> Any:
        """The value of the only document. Raises ConfigError."""
        next(self.events)
        if isinstance(next(self.events), yaml.StreamEndEvent) or (value := self.value(next(self.events))) is None:
            raise config_error(Position(self.source, 1, 1), "is empty", "see configs/linear_d5.yaml for an example")
        next(self.events)
        if isinstance(next(self.events), yaml.DocumentStartEvent):
            where = self.at(next(self.events))
            raise config_error(where, "contains a second document", "use one file per experiment")
        if self.issues:
            raise ConfigError(self.issues)
        return value

    def at(self, event: Any) -> Position:
        """Where an event begins."""
        return Position(self.source, event.start_mark.line + 1, event.start_mark.column + 1)

    def value(self, event: Any, depth: int = 1, texts: bool = False, listed: bool = False) -> Any:
        """The value that begins with an event; scalars that are `listed` below a key of `texts` are texts."""
        where = self.at(event)
        # A few lines of aliases can stand for billions of values.
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            hint = "write the value out, or use `cases:`"
            raise config_error(where, "anchors and aliases are not supported", hint)
        if event.tag:
            self.issues.append(Issue(where, f"the tag {event.tag} is not supported", "write the plain value"))
        if isinstance(event, yaml.ScalarEvent):
            text = event.style in ("'", '"', "|", ">") or (texts and listed)
            return event.value if text else scalar(event.value.strip())
        if depth > _MAX_DEPTH:
            raise config_error(where, f"is nested deeper than {_MAX_DEPTH} levels", _BRACKETS)
        if isinstance(event, yaml.SequenceStartEvent):
            values, places = list[Any](), list[Position]()
            while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
                places.append(self.at(event))
                values.append(self.value(event, depth + 1, texts, listed=True))
            return List(values, places)
        mapping = Map({}, marks := dict[str, Mark](), where)
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            at, name = self.at(event), getattr(event, "value", "")
            is_name = isinstance(event, yaml.ScalarEvent) and (name != "<<" or event.style)
            self.value(event, depth + 1)
            event = next(self.events)
            value = self.value(event, depth + 1, texts or name in _TEXTS)
            if not is_name:
                self.issues.append(Issue(at, "a key must be a plain name", "for instance eta: 0.2"))
            elif name in mapping:
                message = f"the key '{name}' appears twice (first at line {marks[name].key.line})"
                self.issues.append(Issue(at, message, "keep one of them"))
            else:
                mapping[name], marks[name] = value, Mark(self.at(event), at)
        return mapping
