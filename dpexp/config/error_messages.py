"""What is said of a wrong value: pydantic's errors in the words of dpexp, each at the place that it concerns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dpexp.config.fields import field, in_words
from dpexp.config.yamlfile import Issue, Keys, Tree
from dpexp.core.parameters import Faults, Parameters, Registry

_WORDS = {
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "finite_number": "must be finite",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping",
    "dict_type": "must be a mapping",
    "bool_type": "must be true or false",
    "missing": "needs more values",
    "literal_error": "must be {expected}",
    "too_short": "needs at least {min_length} values",
    "too_long": "takes at most {max_length} values",
}
"""by pydantic's names of errors, with the numbers and words of its context"""


def suggest(word: str, known: Iterable[str]) -> str:
    """The hint for a wrong name: a known one that is close, and all of them."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    names = f"allowed: {listed(known)}"
    # Names may be lacking only because a plug-in is not loaded.
    if isinstance(known, Registry):
        names += "; a plug-in's needs --plugin FILE.py, or plugins: [FILE.py] in the config"
    return f"did you mean '{close[0]}'? {names}" if close else names


def listed(names: Iterable[str]) -> str:
    """Names in a row, those of plug-ins with their file."""
    return ", ".join(names.words() if isinstance(names, Registry) else names)


def show(value: Any) -> str:
    """A value that is wrong, or of lists and mappings what they are."""
    if isinstance(value, dict | list | tuple) or value is None:
        return kind(value)
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
    return text if len(text) <= 60 else text[:57] + "..."


def kind(value: Any) -> str:
    """What a value is, in words."""
    if value == ():
        return "an empty list"
    names = {dict: "a mapping", tuple: "a list", type(None): "nothing", str: "text", bool: "true or false"}
    return names.get(type(value), "a number")


def explain(error: ValidationError, name: str, tree: Tree, hint: str | type[Parameters]) -> list[Issue]:
    """All that pydantic says against the value called `name`, each under the name of its keys and at its place.

    The hint is one for all, or what the fields of a class take.
    """
    by_keys: dict[Keys, list[ErrorDetails]] = {}
    for detail in error.errors():
        by_keys.setdefault(tree.follow(detail["loc"])[0], []).append(detail)
    issues: list[Issue] = []
    for keys, details in by_keys.items():
        # What is wrong further down says which alternative was meant; a list with a wrong entry is too short as well.
        if any(len(keys) < len(other) and other[: len(keys)] == keys for other in by_keys):
            details = [
                d for d in details if d["type"] not in ("too_short", "literal_error") and d["type"][-5:] != "_type"
            ]
        issues += _issues(details, name, keys, tree, hint)
    return issues


def _issues(
    details: Sequence[ErrorDetails], name: str, keys: Keys, tree: Tree, given: str | type[Parameters]
) -> Iterator[Issue]:
    """What is wrong at one place."""
    where, named = tree.at(*keys), _named(name, keys)
    hint = given if isinstance(given, str) else f"allowed: {in_words(field(given, *keys))}" if keys else ""
    words: list[str] = []
    for detail in details:
        kind_of_error, context = detail["type"], dict(detail.get("ctx", {}))
        if kind_of_error == "extra_forbidden":
            around = _named(name, keys[:-1])
            known = "" if isinstance(given, str) else suggest(str(keys[-1]), field(given, *keys[:-1])["properties"])
            message = f"unknown key{f' in {around}:' if around else ''} '{keys[-1]}'"
            yield Issue(tree.key(*keys), message, known or hint)
        elif kind_of_error == "missing" and isinstance(key := detail["loc"][-1], str):
            takes = given if isinstance(given, str) else f"allowed: {in_words(field(given, *keys, key))}"
            yield Issue(where, f"'{_named(name, (*keys, key))}' is missing", takes)
        elif isinstance(wrong := context.get("error"), Faults):
            for fault in wrong.faults:
                message = f"'{_named(name, (*keys, *fault.keys))}' {fault.message}"
                yield Issue(tree.at(*keys, *fault.keys), message, fault.hint)
        elif kind_of_error == "value_error":
            message = f"'{named}' is wrong: {wrong}" if named else str(wrong)
            yield Issue(where, message, "" if hint.startswith("allowed: a mapping") else hint)
        else:
            words.append(_WORDS.get(kind_of_error, detail["msg"]).format(**context))
    if words:
        # Of several alternatives, such as a word or a number, all are said.
        first, *more = dict.fromkeys(words)
        said = " or ".join([first, *(other.removeprefix("must be ") for other in more)])
        yield Issue(where, f"'{named}' {said}, got {show(tree.part(*keys).value)}", hint)


def _named(name: str, keys: Keys) -> str:
    """A value by the names of its keys, without the numbers of entries."""
    return ".".join(filter(None, [name, *(key for key in keys if isinstance(key, str))]))
