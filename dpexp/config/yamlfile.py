"""YAML as values that carry their places in the file, numbers as people write them, and mistakes at their places.

Fractions, powers of ten and `inf` are numbers, only `true` and `false` are truth values, and duplicate keys are errors,
none of which PyYAML does. What a user's records spell (categories, names of columns) is the text that is written.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
import yaml

from dpexp.core.errors import UsageError
from dpexp.core.files import read_ordinary
from dpexp.core.text import scalar

_MAX_BYTES, _MAX_DEPTH = 1_000_000, 20  # of a file
_TEXTS = frozenset({"categories", "missing", "leave_out"})
"""keys in whose lists, also further down, every value is the text that is written"""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BRACKETS = "check brackets, quotes and indentation"
Keys = tuple[int | str, ...]  # a path to a value: names in mappings and numbers in lists


class Position(NamedTuple):
    """Where something is written: a line and column of a file, or a command-line option (line 0)."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


class Mark(NamedTuple):
    """Where a value is, and where its key is; of a value in a list the key of the list."""

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

    def __init__(self, issues: Iterable[Issue]) -> None:
        # A mistake outside of `cases:`, or beside a sweep, occurs in each of them.
        self.issues = list(dict.fromkeys(issues))
        super().__init__("\n".join(map(str, self.issues)))


@contextmanager
def collected(issues: list[Issue]) -> Iterator[None]:
    """What is wrong inside the `with` block is added to the issues, and the next part is looked at."""
    try:
        yield
    except ConfigError as error:
        issues += error.issues


def require_none(issues: Sequence[Issue]) -> None:
    """Raises ConfigError where there are issues."""
    if issues:
        raise ConfigError(issues)


def config_error(where: Position, message: str, hint: str = "") -> ConfigError:
    """The error of a single issue."""
    return ConfigError([Issue(where, message, hint)])


class Items(tuple[Any, ...]):
    """A list, and where its entries are, by number."""

    marks: Mapping[int, Mark]

    def __new__(cls, values: Iterable[Any], marks: Mapping[int, Mark] = MappingProxyType({})) -> Items:
        items = super().__new__(cls, values)
        items.marks = marks
        return items

    @property
    def entries(self) -> list[tuple[Any, Mark]]:
        """Values and their marks."""
        return list(zip(self, self.marks.values(), strict=True))


class Section(dict[str, Any]):
    """A mapping, where it is in a file, and where its entries are: these keep their places wherever they are moved."""

    def __init__(self, values: Mapping[str, Any], start: Position, marks: dict[str, Mark] | None = None) -> None:
        super().__init__(values)
        self.start, self.marks = start, {} if marks is None else marks

    def value(self, *keys: int | str) -> Any:
        """The value at these keys, or None."""
        value: Any = self
        for key in keys:
            value = value[key] if key in getattr(value, "marks", ()) else None
        return value

    def mark(self, *keys: int | str) -> Mark:
        """That of the value at these keys, or of the innermost one around it that is written."""
        mark, value = Mark(self.start, self.start), cast(Any, self)
        for key in keys:
            if key not in getattr(value, "marks", ()):
                break
            mark, value = value.marks[key], value[key]
        return mark

    def at(self, *keys: int | str) -> Position:
        """Where the value at these keys is, or the innermost one around it that is written."""
        return self.mark(*keys).value

    @property
    def entries(self) -> dict[str, tuple[Any, Mark]]:
        """Values and their marks, by key."""
        return {key: (value, self.mark(key)) for key, value in self.items()}

    def over(self, entries: Mapping[str, tuple[Any, Mark]]) -> Section:
        """The same with other entries for some keys."""
        values, marks = ({key: entry[k] for key, entry in entries.items()} for k in (0, 1))
        return Section({**self, **values}, self.start, {**self.marks, **marks})

    def without(self, names: Container[str]) -> Section:
        """The same without some keys."""
        marks = {key: mark for key, mark in self.marks.items() if key not in names}
        return Section({key: value for key, value in self.items() if key not in names}, self.start, marks)

    def put(self, keys: Sequence[str], value: Any, where: Position | None = None) -> Section:
        """The same with another value at these keys, maybe of another place; mappings on the way are made."""
        key, *inner = keys
        if inner:
            own = self.get(key)
            value = (own if isinstance(own, Section) else Section({}, self.start)).put(inner, value, where)
        return self.over({key: (value, Mark(where, where) if where else self.mark(key))})


def with_text(root: Section, keys: Sequence[str], text: str, where: Position) -> Section:
    """A mapping with the value of a YAML text at these keys. Raises ConfigError, at the place of the text."""
    try:
        value = parse(text, str(where)) if text.strip() else None
    except ConfigError as error:
        raise ConfigError([Issue(where, issue.message) for issue in error.issues]) from None
    return root.put(keys, with_place(value, where), where)


def with_place(value: Any, where: Position) -> Any:
    """A value of Python as files give it, all of it at one place: lists as tuples, days as texts."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    mark = Mark(where, where)
    if isinstance(value, Mapping):
        values = {str(key): with_place(part, where) for key, part in value.items()}
        return Section(values, where, dict.fromkeys(values, mark))
    if isinstance(value, list | tuple):
        return Items([with_place(part, where) for part in value], dict.fromkeys(range(len(value)), mark))
    return value.isoformat()[:10] if isinstance(value, date) else value


def show(value: Any) -> str:
    """A value that is wrong, or of lists and mappings what they are."""
    if isinstance(value, tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict) or value is None:
        return "nothing" if value is None else "a mapping"
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
    return text if len(text) <= 60 else text[:57] + "..."


def read_bytes(path: Path, missing_hint: str = "check the path") -> bytes:
    """The content of a config file. Raises ConfigError."""
    try:
        return read_ordinary(path, _MAX_BYTES)
    except (OSError, ValueError) as error:
        message, hint = f"cannot be read: {getattr(error, 'strerror', None) or error}", "a config is a YAML file"
        if isinstance(error, FileNotFoundError):
            message, hint = "no such file", missing_hint
        raise config_error(Position(str(path)), message, hint) from None


def parse_mapping(content: str | bytes, source: str, noun: str, hint: str) -> Section:
    """The mapping in a YAML text, which messages call by a noun. Raises ConfigError."""
    value = parse(content, source)
    if not isinstance(value, Section):
        raise config_error(Position(source, 1, 1), f"{noun} is a mapping, not {show(value)}", hint)
    return value


def parse(content: str | bytes, source: str) -> Any:
    """The value of a YAML text, or of the bytes of a file; `source` names it in messages. Raises ConfigError."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        return _Builder(yaml.parse(text, Loader=_LOADER), source).document()
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


class _Builder:
    """From the events of PyYAML to values with places: what is too large is refused before it is built."""

    def __init__(self, events: Iterator[Any], source: str) -> None:
        self.events, self.source, self.issues = events, source, list[Issue]()

    def document(self) -> Any:
        """The value of the only document. Raises ConfigError."""
        next(self.events)
        start = Position(self.source, 1, 1)
        nothing = isinstance(next(self.events), yaml.StreamEndEvent)
        value = None if nothing else self.value(next(self.events), (), start)
        if value is None:
            raise config_error(start, "is empty", "see configs/linear_d5.yaml for an example")
        next(self.events)
        if isinstance(next(self.events), yaml.DocumentStartEvent):
            where = self.at(next(self.events))
            raise config_error(where, "contains a second document", "use one file per experiment")
        require_none(self.issues)
        return value

    def at(self, event: Any) -> Position:
        """Where an event begins."""
        return Position(self.source, event.start_mark.line + 1, event.start_mark.column + 1)

    def value(self, event: Any, keys: Keys, key_at: Position) -> Any:
        """The value at these keys, the last of them at a place, which begins with an event."""
        where = self.at(event)
        # A few lines of aliases can stand for billions of values.
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            hint = "write the value out, or use `cases:`"
            raise config_error(where, "anchors and aliases are not supported", hint)
        if event.tag:
            self.issues.append(Issue(where, f"the tag {event.tag} is not supported", "write the plain value"))
        if isinstance(event, yaml.ScalarEvent):
            listed = isinstance(keys[-1], int) if keys else False
            text = event.style in ("'", '"', "|", ">") or (listed and not _TEXTS.isdisjoint(keys))
            return event.value if text else scalar(event.value.strip())
        if len(keys) >= _MAX_DEPTH:
            raise config_error(where, f"is nested deeper than {_MAX_DEPTH} levels", _BRACKETS)
        if isinstance(event, yaml.SequenceStartEvent):
            values, marks = list[Any](), dict[int, Mark]()
            while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
                marks[k := len(values)] = Mark(self.at(event), key_at)
                values.append(self.value(event, (*keys, k), key_at))
            return Items(values, marks)
        section = Section({}, where)
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            at, name = self.at(event), getattr(event, "value", "")
            if not isinstance(event, yaml.ScalarEvent) or (name == "<<" and not event.style):
                self.issues.append(Issue(at, "a key must be a plain name", "for instance eta: 0.2"))
            elif name in section:
                message = f"the key '{name}' appears twice (first at line {section.marks[name].key.line})"
                self.issues.append(Issue(at, message, "keep one of them"))
            self.value(event, (*keys, name), at)
            event = next(self.events)
            section.marks[name] = Mark(self.at(event), at)
            section[name] = self.value(event, (*keys, name), at)
        return section
