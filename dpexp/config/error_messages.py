"""What fields take and mean, by pydantic's JSON schema and their docstrings, and what is said of a wrong value."""

from __future__ import annotations

import ast
import difflib
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, TypeVar, get_origin

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ModelSchema, WithDefaultSchema

from dpexp.config.cells import POPULATION
from dpexp.config.yamlfile import ConfigError, Issue, Keys, Map, kind
from dpexp.core.parameters import Faults, Parameters, Registry

P = TypeVar("P", bound=Parameters)
Schema = dict[str, Any]
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


def validated(model: type[P], value: Map, name: str = "", values: Mapping[str, Any] | None = None) -> P:
    """Parameters of a class from the value called `name`, or from other `values` of its keys.

    Raises ConfigError with all mistakes, each at its place in the value.
    """
    try:
        return model.model_validate(value if values is None else values)
    except ValidationError as error:
        raise ConfigError(explain(error, name, value, model)) from None


def explain(error: ValidationError, name: str, value: Map, model: type[Parameters]) -> list[Issue]:
    """All that pydantic says against the value called `name` as parameters of a class, each at its place."""
    details = [(_path(detail["loc"], value), detail) for detail in error.errors()]
    # What is wrong further down says which alternative was meant; a list with a wrong entry is too short as well.
    around = {keys[:k] for keys, _ in details for k in range(len(keys))}
    issues = (_issues(detail, name, keys, value, model, keys in around) for keys, detail in details)
    return list(dict.fromkeys(chain.from_iterable(issues)))


def _path(places: Keys, value: Any) -> Keys:
    """The keys among pydantic's places, which puts its names of alternatives between them."""
    keys: Keys = ()
    for key in places:
        if key in value if isinstance(value, dict) else isinstance(value, tuple) and key in range(len(value)):
            keys, value = (*keys, key), value[key]
    return keys


def _issues(
    detail: ErrorDetails, name: str, keys: Keys, value: Map, model: type[Parameters], is_around: bool
) -> Iterator[Issue]:
    """What is wrong at one place, which may be around others."""

    def called(*keys: int | str) -> str:
        return ".".join(filter(None, [name, *(key for key in keys if isinstance(key, str))]))

    schema, wrong = field(model, keys), detail.get("ctx", {}).get("error")
    allowed = in_words(schema) if keys and schema else ""
    if detail["type"] == "extra_forbidden":
        section = f" in {called(*keys[:-1])}:" if called(*keys[:-1]) else ""
        known = [key for part in _parts(field(model, keys[:-1])) for key in part.get("properties", ())]
        hint = suggest(str(keys[-1]), [key for key in known if key != POPULATION])
        yield Issue(value.key(*keys), f"unknown key{section} '{keys[-1]}'", hint)
    elif detail["type"] == "missing" and isinstance(key := detail["loc"][-1], str):
        hint = f"allowed: {in_words(field(model, (*keys, key)))}"
        yield Issue(value.at(*keys), f"'{called(*keys, key)}' is missing", hint)
    elif isinstance(wrong, Faults):
        for fault in wrong.faults:
            at = (*keys, *fault.keys)
            yield Issue(value.at(*at), f"'{called(*at)}' {fault.message}", fault.hint)
    elif wrong is not None:
        message = f"'{called(*keys)}' is wrong: {wrong}" if called(*keys) else str(wrong)
        yield Issue(value.at(*keys), message, f"allowed: {allowed}" if allowed else "")
    elif not is_around:
        # pydantic says one after the other what the alternatives of a value are: the schema has all of them
        text = f"must be {allowed}" if allowed else detail["msg"].replace("Input should", "must")
        hint = schema.get("description") or field(model, keys[:1]).get("description", "")
        yield Issue(value.at(*keys), f"'{called(*keys)}' {text}, got {show(value.value_at(keys))}", hint)


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
        texts = meanings(model) if issubclass(model := schema["cls"], Parameters) else {}
        for key, part in made["properties"].items():
            part["description"] = texts.get(key) or f"{key}: {in_words(part)}"
        return made


@lru_cache(maxsize=256)
def schema_of(model: type[Parameters]) -> Schema:
    """The JSON schema of a class, which refers to nothing. `or_infinite` marks a number that may be inf too."""
    made = model.model_json_schema(schema_generator=_Generator)
    definitions = made.pop("$defs", {})

    def inlined(part: Any) -> Any:
        if isinstance(part, dict):
            reference = definitions[part["$ref"].rpartition("/")[2]] if isinstance(part.get("$ref"), str) else {}
            return {key: inlined(value) for key, value in (reference | part).items() if key != "$ref"}
        return [inlined(item) for item in part] if isinstance(part, list) else part

    return dict(inlined(made))


def takes_a_list(model: type[Parameters], key: str) -> bool:
    """Whether a list is one value of this field, and no sweep."""
    return key in model.model_fields and get_origin(model.model_fields[key].annotation) is tuple


def field(model: type[Parameters], keys: Keys) -> Schema:
    """The schema of what is at these keys; empty where it says nothing of them."""
    schema = schema_of(model)
    for key in keys:
        parts = list(_parts(schema))
        inner = [part["properties"][key] for part in parts if key in part.get("properties", ())]
        inner += [part[rest] for part in parts for rest in ("additionalProperties", "items") if part.get(rest)]
        inner += [part["prefixItems"][key] for part in parts if isinstance(key, int) and "prefixItems" in part]
        schema = inner[0] if inner and isinstance(inner[0], dict) else {}
    return schema


def _parts(schema: Schema) -> Iterator[Schema]:
    """A schema, and its alternatives."""
    yield schema
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _parts(part)


def in_words(schema: Schema) -> str:
    """What a value may be: a number > 0, a whole number >= 1, 'joint' or 'known'."""
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(in_words(option) for option in options if option.get("type") != "null"))
    if "enum" in schema or "const" in schema:
        return " or ".join(map(repr, schema.get("enum") or [schema["const"]]))
    if "items" in schema:
        return f"a list, each {in_words(schema['items'])}"
    if "prefixItems" in schema:
        return f"a list of {len(schema['prefixItems'])}"
    if "properties" in schema:
        return f"a mapping of {', '.join(schema['properties'])}"
    ends = " and ".join({s: f"{s} {schema[name]:g}" for name, s in _ENDS.items() if name in schema}.values())
    noun = _NOUNS.get(schema.get("type", ""), "a mapping")
    return f"{noun} {ends}".strip() + " or inf" * ("or_infinite" in schema)


@lru_cache(maxsize=256)
def meanings(model: type[Parameters]) -> Mapping[str, str]:
    """What the source says below each field of a class and of those that it inherits from; one line each."""
    texts: dict[str, str] = {}
    # A class that says a field anew has the last word.
    for part in (part for part in reversed(model.__mro__) if issubclass(part, Parameters)):
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        except (OSError, TypeError, SyntaxError):
            continue  # typed at a prompt: there is no source
        for above, below in pairwise(tree.body if isinstance(tree, ast.ClassDef) else []):
            match above, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                    texts[name] = " ".join(text.split())
    return texts
