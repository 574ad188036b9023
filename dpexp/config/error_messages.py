"""What fields take and mean, by pydantic's JSON schema and their docstrings, and what is said of a wrong value."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar, get_origin

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema, WithDefaultSchema

from dpexp.config.cells import POPULATION
from dpexp.config.yamlfile import ConfigError, Issue, Keys, Section, show
from dpexp.core.parameters import Faults, Parameters, Registry
from dpexp.core.text import guess

P = TypeVar("P", bound=Parameters)
Schema = dict[str, Any]
_NOUNS = {"number": "a number", "integer": "a whole number", "string": "text", "boolean": "true or false",
          "array": "a list"}  # fmt: skip
_ENDS = {"exclusiveMinimum": ">", "gt": ">", "minimum": ">=", "ge": ">=",
         "exclusiveMaximum": "<", "lt": "<", "maximum": "<=", "le": "<="}  # fmt: skip
"""in the schema; the short names are ends that a field adds to those of its type"""


def suggest(word: str, known: Iterable[str]) -> str:
    """The hint for a wrong name: a known one that is close, and all of them."""
    hint = f"{guess(word, known)}allowed: {listed(known) or 'none'}"
    # Names may be absent only because a plug-in is not loaded.
    of_plugins = "; a plug-in's needs --plugin FILE.py, or plugins: [FILE.py] in the config"
    return hint + of_plugins if isinstance(known, Registry) else hint


def listed(names: Iterable[str]) -> str:
    """Names in a row, those of plug-ins with their file."""
    return ", ".join(names.words() if isinstance(names, Registry) else names)


def validated(model: type[P], written: Section, keys: Keys = (), values: Mapping[str, Any] | None = None) -> P:
    """Parameters of a class from what is written at some keys, or from `values` in its place. Raises ConfigError."""
    try:
        return model.model_validate(written.value(*keys) if values is None else values)
    except ValidationError as error:
        raise ConfigError(explain(error, model, written, keys)) from None


def explain(error: ValidationError, model: type[Parameters], written: Section, keys: Keys = ()) -> list[Issue]:
    """All that pydantic says against what is written at some keys as parameters of a class, each at its place."""
    own = written.value(*keys)
    details = [(*_found(detail["loc"], own), detail) for detail in error.errors()]
    # What is wrong further down says which alternative was meant; a list with a wrong entry is too short as well.
    around = {place[:k] for place, _, _ in details for k in range(len(place))}
    issues = list[Issue]()
    for place, value, detail in details:
        schema, wrong, at = field(model, place), detail.get("ctx", {}).get("error"), (*keys, *place)
        allowed = in_words(schema) if place and schema else ""
        if detail["type"] == "extra_forbidden":
            section = f" in {_dotted(at[:-1])}:" if _dotted(at[:-1]) else ""
            known = [key for part in _parts(field(model, place[:-1])) for key in part.get("properties", ())]
            hint = suggest(str(at[-1]), [key for key in known if (at[0], key) != ("problem", POPULATION)])
            issues.append(Issue(written.mark(*at).key, f"unknown key{section} '{at[-1]}'", hint))
        elif detail["type"] == "missing" and isinstance(key := detail["loc"][-1], str):
            hint = f"allowed: {in_words(field(model, (*place, key)))}"
            issues.append(Issue(written.at(*at), f"'{_dotted((*at, key))}' is missing", hint))
        elif isinstance(wrong, Faults):
            faults = (((*at, *fault.keys), fault) for fault in wrong.faults)
            issues += [Issue(written.at(*at), f"'{_dotted(at)}' {fault.message}", fault.hint) for at, fault in faults]
        elif wrong is not None:
            message = f"'{_dotted(at)}' is wrong: {wrong}" if _dotted(at) else str(wrong)
            issues.append(Issue(written.at(*at), message, f"allowed: {allowed}" if allowed else ""))
        elif place not in around:
            # pydantic says one after the other what the alternatives of a value are: the schema has all of them
            text = f"must be {allowed}" if allowed else detail["msg"].replace("Input should", "must")
            hint = schema.get("description") or field(model, place[:1]).get("description", "")
            issues.append(Issue(written.at(*at), f"'{_dotted(at)}' {text}, got {show(value)}", hint))
    return list(dict.fromkeys(issues))


def _dotted(keys: Keys) -> str:
    """The name of a place: the keys to it, without the numbers of entries in lists."""
    return ".".join(key for key in keys if isinstance(key, str))


def _found(places: Keys, value: Any) -> tuple[Keys, Any]:
    """The keys among pydantic's places, which puts its names of alternatives between them, and the value there."""
    keys: Keys = ()
    for key in places:
        if key in value if isinstance(value, dict) else isinstance(value, tuple) and key in range(len(value)):
            keys, value = (*keys, key), value[key]
    return keys, value


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
        with suppress(OSError, TypeError, SyntaxError):  # typed at a prompt: there is no source
            tree: Any = ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]
            for above, below in pairwise(tree.body):
                match above, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                        texts[name] = " ".join(text.split())
    return texts
