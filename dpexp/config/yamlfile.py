"""YAML as values that carry their places in the file, numbers as people write them, and mistakes at their places.

Fractions, powers of ten and `inf` are numbers, only `true` and `false` are truth values, and duplicate keys are errors,
none of which PyYAML does. What a user's records spell (categories, names of columns) is the text that is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

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


class NotChecked(UsageError):
    """A config that is not trusted, and needs code or data of whoever wrote it."""


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


class Marked:
    """Values, plain ones, and where each is written.

    Cases and sweeps rearrange the values of a file: `origins` has the keys in the file of what is elsewhere there, and
    with it of all that it contains. `marks` are those of the file, by keys.
    """

    def __init__(self, values: Any, marks: Mapping[Keys, Mark], origins: Mapping[Keys, Keys] | None = None) -> None:
        self.values, self.marks, self.origins = values, marks, origins or {(): ()}

    def get(self, *keys: int | str) -> Any:
        """The value at these keys, or None."""
        value = self.values
        for key in keys:
            inside = key in value if isinstance(value, dict) else isinstance(value, tuple) and key in range(len(value))
            value = value[key] if inside else None
        return value

    def origin(self, *keys: int | str) -> Keys:
        """The keys in the file of the value at these keys."""
        known = next(keys[:k] for k in range(len(keys), -1, -1) if keys[:k] in self.origins)
        return (*self.origins[known], *keys[len(known) :])

    def at(self, *keys: int | str) -> Position:
        """Where the value at these keys is, or the innermost one around it that is written."""
        return self._mark(self.origin(*keys)).value

    def key(self, *keys: int | str) -> Position:
        """Where the last of these keys is; of a value out of a list that of the list."""
        place = self.origin(*keys)
        return self._mark(place[: 1 + max(k for k, key in enumerate(place) if isinstance(key, str))]).key

    def _mark(self, place: Keys) -> Mark:
        return next(self.marks[place[:k]] for k in range(len(place), -1, -1) if place[:k] in self.marks)

    def over(self, values: Mapping[str, Any], origins: Mapping[Keys, Keys] | None = None) -> Marked:
        """The same with other values of some keys, which may have other origins."""
        return Marked({**self.values, **values}, self.marks, {**self.origins, **(origins or {})})

    def with_value(self, keys: Keys, value: Any) -> Marked:
        """The same with another value at these keys."""
        return self.over(_changed(self.values, keys, value))

    def entries(self, keys: Keys) -> list[Marked]:
        """The same with each entry of the list at these keys in its place."""
        origin = self.origin(*keys)
        values = (_changed(self.values, keys, entry) for entry in self.get(*keys))
        return [self.over(own, {keys: (*origin, k)}) for k, own in enumerate(values)]

    def put(self, keys: Keys, value: Any, where: Position) -> Marked:
        """The same with another value at these keys, whose own place is given."""
        kept = {place: mark for place, mark in self.marks.items() if place[: len(keys)] != keys}
        around = {keys[:k]: Mark(where, where) for k in range(1, len(keys) + 1)}
        return Marked(_changed(self.values, keys, value), kept | around)


def _changed(values: Any, keys: Keys, value: Any) -> Any:
    """Values with another one at these keys; what is no mapping or list on the way becomes a mapping."""
    if not keys:
        return value
    key, *inner = keys
    if isinstance(values, tuple):
        return tuple(_changed(part, tuple(inner), value) if k == key else part for k, part in enumerate(values))
    own = values if isinstance(values, dict) else {}
    return {**own, key: _changed(own.get(key), tuple(inner), value)}


def with_place(value: Any, where: Position) -> Marked:
    """A value of Python, all of it at one place."""
    return Marked(_plain(value), {(): Mark(where, where)})


def _plain(value: Any) -> Any:
    """A value as files give it: numbers of numpy as such, lists as tuples, days as texts."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
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


def parse(content: str | bytes, source: str, noun: str = "", hint: str = "") -> Marked:
    """The YAML in a text, or in the bytes of a file; `source` names it in messages. Raises ConfigError.

    With a noun it is a mapping, which messages call so.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        written = _Builder(yaml.parse(text, Loader=_LOADER), source).document()
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
    if noun and not isinstance(written.values, dict):
        raise config_error(Position(source, 1, 1), f"{noun} is a mapping, not {show(written.values)}", hint)
    return written


class _Builder:
    """From the events of PyYAML to values with places: what is too large is refused before it is built."""

    def __init__(self, events: Iterator[Any], source: str) -> None:
        self.events, self.source, self.issues, self.marks = events, source, list[Issue](), dict[Keys, Mark]()

    def document(self) -> Marked:
        """The value of the only document. Raises ConfigError."""
        next(self.events)
        if isinstance(next(self.events), yaml.StreamEndEvent) or (value := self.value(next(self.events), ())) is None:
            raise config_error(Position(self.source, 1, 1), "is empty", "see configs/linear_d5.yaml for an example")
        next(self.events)
        if isinstance(next(self.events), yaml.DocumentStartEvent):
            where = self.at(next(self.events))
            raise config_error(where, "contains a second document", "use one file per experiment")
        require_none(self.issues)
        return Marked(value, self.marks)

    def at(self, event: Any) -> Position:
        """Where an event begins."""
        return Position(self.source, event.start_mark.line + 1, event.start_mark.column + 1)

    def value(self, event: Any, keys: Keys, key_at: Position | None = None) -> Any:
        """The value at these keys, which begins with an event; its key is at another place."""
        where = self.at(event)
        self.marks[keys] = Mark(where, key_at or where)
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
            values = list[Any]()
            while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
                values.append(self.value(event, (*keys, len(values))))
            return tuple(values)
        mapping = dict[str, Any]()
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            at, name = self.at(event), getattr(event, "value", "")
            if not isinstance(event, yaml.ScalarEvent) or (name == "<<" and not event.style):
                self.issues.append(Issue(at, "a key must be a plain name", "for instance eta: 0.2"))
            elif name in mapping:
                message = f"the key '{name}' appears twice (first at line {self.marks[(*keys, name)].key.line})"
                self.issues.append(Issue(at, message, "keep one of them"))
            self.value(event, (*keys, name))
            mapping[name] = self.value(next(self.events), (*keys, name), at)
        return mapping
