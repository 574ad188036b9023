"""What fields take and mean, by pydantic's JSON schema and their docstrings, and what is said of a wrong value."""

from __future__ import annotations

import ast
import difflib
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, get_origin

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ModelSchema, WithDefaultSchema

from dpexp.config.yamlfile import Issue, Keys, Located
from dpexp.core.parameters import Faults, Parameters, Registry

Schema = dict[str, Any]

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
_KINDS = {dict: "a mapping", tuple: "a list", type(None): "nothing", str: "text", bool: "true or false"}
_NOUNS = {"number": "a number", "integer": "a whole number", "string": "text", "boolean": "true or false",
          "array": "a list"}  # fmt: skip
_ENDS = {"exclusiveMinimum": ">", "gt": ">", "minimum": ">=", "ge": ">=",
         "exclusiveMaximum": "<", "lt": "<", "maximum": "<=", "le": "<="}  # fmt: skip
"""in the schema; the short names are ends that a field adds to those of its type"""


def suggest(word: str, known: Iterable[str]) -> str:
    """The hint for a wrong name: a known one that is close, and all of them."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    names = f"allowed: {listed(known)}"
    # Names may be absent only because a plug-in is not loaded.
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
    return "an empty list" if value == () else _KINDS.get(type(value), "a number")


def explain(
    error: ValidationError, name: str, value: Located, fields: str | type[Parameters], inside: Keys = ()
) -> list[Issue]:
    """All that pydantic says against the value called `name`, or against what is `inside` it, each at its place.

    `fields` is one hint for all, or the class whose fields the hints describe.
    """
    by_keys: dict[Keys, list[ErrorDetails]] = {}
    for detail in error.errors():
        # pydantic puts its names of alternatives between the keys
        keys, inner = tuple[int | str, ...](), value.value
        for key in (*inside, *detail["loc"]):
            if key in inner if isinstance(inner, dict) else isinstance(inner, tuple) and key in range(len(inner)):
                keys, inner = (*keys, key), inner[key]
        by_keys.setdefault(keys, []).append(detail)
    issues: list[Issue] = []
    for keys, details in by_keys.items():
        # What is wrong further down says which alternative was meant; a list with a wrong entry is too short as well.
        deeper = any(keys == other[: len(keys)] != other for other in by_keys)
        general = ("too_short", "literal_error") if deeper else ()
        details = [d for d in details if d["type"] not in general and not (deeper and d["type"].endswith("_type"))]
        issues += _issues(details, name, keys, value, fields)
    return issues


def _issues(
    details: list[ErrorDetails], name: str, keys: Keys, value: Located, fields: str | type[Parameters]
) -> Iterator[Issue]:
    """The mistakes at one place."""

    def named(*keys: int | str) -> str:
        return ".".join(filter(None, [name, *(key for key in keys if isinstance(key, str))]))

    def takes(*keys: int | str) -> str:
        return fields if isinstance(fields, str) else f"allowed: {in_words(field(fields, *keys))}" if keys else ""

    where, hint, words = value.at(*keys), takes(*keys), dict[str, None]()
    for detail in details:
        context = dict(detail.get("ctx", {}))
        wrong = context.get("error")
        if detail["type"] == "extra_forbidden":
            around = f" in {named(*keys[:-1])}:" if named(*keys[:-1]) else ""
            known = hint if isinstance(fields, str) else suggest(str(keys[-1]), field(fields, *keys[:-1])["properties"])
            yield Issue(value.key(*keys), f"unknown key{around} '{keys[-1]}'", known)
        elif detail["type"] == "missing" and isinstance(key := detail["loc"][-1], str):
            yield Issue(where, f"'{named(*keys, key)}' is missing", takes(*keys, key))
        elif isinstance(wrong, Faults):
            for at, fault in (((*keys, *fault.keys), fault) for fault in wrong.faults):
                yield Issue(value.at(*at), f"'{named(*at)}' {fault.message}", fault.hint)
        elif wrong is not None:
            message = f"'{named(*keys)}' is wrong: {wrong}" if named(*keys) else str(wrong)
            yield Issue(where, message, "" if hint.startswith("allowed: a mapping") else hint)
        else:
            words[_WORDS.get(detail["type"], detail["msg"]).format(**context)] = None
    if words:
        # Of several alternatives, such as a word or a number, all are named.
        text = " or ".join(words).replace(" or must be ", " or ")
        yield Issue(where, f"'{named(*keys)}' {text}, got {show(value.value_at(keys))}", hint)


class _Generator(GenerateJsonSchema):
    """Without titles and defaults, which may be infinite; with what the source says of every field."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: WithDefaultSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        return {}  # a kind that a plug-in has thought of: the reader knows

    def model_schema(self, schema: ModelSchema) -> Schema:
        made = super().model_schema(schema)
        del made["title"]
        texts = meanings(kind) if issubclass(kind := schema["cls"], Parameters) else {}
        for key, part in made["properties"].items():
            part["description"] = texts.get(key) or f"{key}: {in_words(part)}"
        return made


@lru_cache(maxsize=256)
def schema_of(kind: type[Parameters]) -> Schema:
    """The JSON schema of a class, which refers to nothing. `or_infinite` marks a number that may be inf too."""
    made = kind.model_json_schema(schema_generator=_Generator)
    definitions = made.pop("$defs", {})

    def inlined(part: Any) -> Any:
        if isinstance(part, dict):
            reference = definitions[part["$ref"].rpartition("/")[2]] if isinstance(part.get("$ref"), str) else {}
            return {key: inlined(value) for key, value in (reference | part).items() if key != "$ref"}
        return [inlined(item) for item in part] if isinstance(part, list) else part

    return dict(inlined(made))


def takes_a_list(kind: type[Parameters], key: str) -> bool:
    """Whether a list is one value of this field, and no sweep."""
    return get_origin(kind.model_fields[key].annotation) is tuple


def field(kind: type[Parameters], *keys: int | str) -> Schema:
    """The schema of what is at these keys; of what is around it where that has no such key."""
    schema = schema_of(kind)
    for key in keys:
        parts = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
        own = [part["properties"][key] for part in parts if key in part.get("properties", ())]
        others = [part["additionalProperties"] for part in parts if part.get("additionalProperties")]
        schema = [*own, *others, schema][0]
    return schema


def in_words(schema: Schema) -> str:
    """What a value may be: a number > 0, a whole number >= 1, 'joint' or 'known'."""
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(in_words(option) for option in options if option.get("type") != "null"))
    if "enum" in schema or "const" in schema:
        return " or ".join(map(repr, schema.get("enum") or [schema["const"]]))
    if "items" in schema:
        return f"a list, each {in_words(schema['items'])}"
    if "properties" in schema:
        return f"a mapping of {', '.join(schema['properties'])}"
    ends = " and ".join({s: f"{s} {schema[name]:g}" for name, s in _ENDS.items() if name in schema}.values())
    noun = _NOUNS.get(schema.get("type", ""), "a mapping")
    return f"{noun} {ends}".strip() + " or inf" * ("or_infinite" in schema)


@lru_cache(maxsize=256)
def meanings(kind: type[Parameters]) -> Mapping[str, str]:
    """What the source says below each field of a class and of those that it inherits from; one line each."""
    texts: dict[str, str] = {}
    # A class that says a field anew has the last word.
    for part in (part for part in reversed(kind.__mro__) if issubclass(part, Parameters)):
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        except (OSError, TypeError, SyntaxError):
            continue  # typed at a prompt: there is no source
        for above, below in pairwise(tree.body if isinstance(tree, ast.ClassDef) else []):
            match above, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                    texts[name] = " ".join(text.split())
    return texts
