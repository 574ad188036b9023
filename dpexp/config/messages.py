"""What is said of a wrong value: messages, hints and the place they belong to."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from dpexp.config.yamlfile import Issue, Tree
from dpexp.core.parameters import Registry

_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "greater_than": lambda c: f"must be greater than {c['gt']:g}",
    "greater_than_equal": lambda c: f"must be at least {c['ge']:g}",
    "less_than": lambda c: f"must be less than {c['lt']:g}",
    "less_than_equal": lambda c: f"must be at most {c['le']:g}",
    "finite_number": lambda c: "must be finite",
    "float_type": lambda c: "must be a number",
    "int_type": lambda c: "must be a whole number",
    "int_from_float": lambda c: "must be a whole number",
    "string_type": lambda c: "must be text",
    "tuple_type": lambda c: "must be a list",
    "model_type": lambda c: "must be a mapping",
    "literal_error": lambda c: f"must be {c['expected']}",
    "too_short": lambda c: f"needs at least {c['min_length']} values",
    "too_long": lambda c: f"takes at most {c['max_length']} values",
}

_SIGNS = {"gt": "> {}", "ge": ">= {}", "lt": "< {}", "le": "<= {}", "le_or_inf": "<= {} or inf"}


def suggest(word: str, allowed: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.5)
    names = f"allowed: {listed(allowed)}"
    # Names may be lacking only because a plug-in is not loaded.
    if isinstance(allowed, Registry):
        names += "; a plug-in's needs --plugin FILE.py, or plugins: [FILE.py] in the config"
    return f"did you mean '{close[0]}'? {names}" if close else names


def listed(names: Iterable[str]) -> str:
    """Names in a row, those of plug-ins with their file."""
    return ", ".join(names.words() if isinstance(names, Registry) else names)


def show(value: Any) -> str:
    if isinstance(value, dict | list | tuple) or value is None:
        return kind(value)
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
    return text if len(text) <= 60 else text[:57] + "..."


def kind(value: Any) -> str:
    kinds = {dict: "a mapping", list: "a list", tuple: "a list", type(None): "nothing", str: "text"}
    return kinds.get(type(value), "true or false" if isinstance(value, bool) else "a number")


def allowed(field: FieldInfo) -> str:
    """What a field takes, in words: a number > 0, a whole number >= 1, 'joint' or 'known'."""
    return _allowed(field.annotation, field.metadata)


def _allowed(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _allowed(inner[0], [*inner[1:], *metadata])
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin in (Union, UnionType):
        return " or ".join(_allowed(kind) for kind in inner if kind is not type(None))
    if origin is tuple:
        return f"a list, each {_allowed(inner[0])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"a mapping of {', '.join(annotation.model_fields)}"
    nouns = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
    noun = nouns.get(annotation, "a mapping")
    ranges = [_SIGNS[name].format(f"{limit:g}") for name, limit in limits(metadata).items()]
    return " ".join([noun, " and ".join(ranges)]).strip()


def limits(metadata: Sequence[Any]) -> dict[str, float]:
    """The narrowest limits of a number by pydantic's names (`gt`, `ge`, `lt`, `le`), and `le_or_inf` (`OrInfinite`)."""
    # a range with infinity is a function of ours, of which pydantic tells nothing
    items = [item.func if isinstance(item, AfterValidator) else item for item in constraints(metadata)]
    ends = {name: [getattr(item, name, None) for item in items] for name in _SIGNS}
    numbers = {name: [v for v in values if isinstance(v, int | float)] for name, values in ends.items()}
    return {name: (max if name in ("gt", "ge") else min)(values) for name, values in numbers.items() if values}


def constraints(metadata: Sequence[Any]) -> list[Any]:
    """The constraints of an annotation, one by one."""
    return [item for entry in metadata for item in (entry.metadata if isinstance(entry, FieldInfo) else [entry])]


def explain(error: ValidationError, name: str, tree: Tree, hint: str = "") -> list[Issue]:
    """The errors of one value called `name`, each as an issue at the innermost place it concerns."""
    return list(_explained(error.errors(), name, tree, hint))


def explain_fields(error: ValidationError, name: str, tree: Tree, hint: str = "") -> list[Issue]:
    """The errors of a mapping called `name`, each under the name of its own field."""
    issues: list[Issue] = []
    for field, own in groupby(error.errors(), key=lambda detail: detail["loc"]):
        details = list(own)
        words = [part for part in field if isinstance(part, str)]
        missing = details[0]["type"] == "missing"
        issues += _explained(details, ".".join(words[:-1] if missing else words) if field else name, tree, hint)
    return issues


def _explained(details: list[ErrorDetails], name: str, tree: Tree, hint: str) -> Iterator[Issue]:
    if len(details) > 1:  # a list with a wrong entry also counts as too short
        details = [detail for detail in details if detail["type"] != "too_short"]
    literals = [detail for detail in details if detail["type"] == "literal_error"]
    # Of a word or a number pydantic complains twice; what was meant is not known, so one line says both.
    for detail in literals[:1] or details:
        loc, kind_of_error = detail["loc"], detail["type"]
        # The numbers and the words of pydantic's own message.
        context = dict(detail.get("ctx", {}))
        if kind_of_error == "extra_forbidden":
            yield Issue(tree.key(*loc), f"unknown key in {name}: '{loc[-1]}'", hint)
        elif kind_of_error == "missing":
            lack = f"needs '{loc[-1]}'" if isinstance(loc[-1], str) else "needs more values"
            yield Issue(tree.at(*loc), f"'{name}' {lack}", hint)
        elif kind_of_error == "value_error":
            known = "" if hint.startswith("allowed: a mapping") else hint
            yield Issue(tree.at(*loc), f"'{name}' is wrong: {context['error']}", known)
        else:
            words = _WORDS[kind_of_error](context) if kind_of_error in _WORDS else detail["msg"]
            also = " or a positive number" if literals and len(details) > 1 else ""
            yield Issue(tree.at(*loc), f"'{name}' {words}{also}, got {show(detail['input'])}", hint)
