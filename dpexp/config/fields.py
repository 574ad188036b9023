"""What the fields of a class of parameters mean and take, by its docstrings and pydantic's own JSON schema."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, get_origin

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema, WithDefaultSchema

from dpexp.core.parameters import Parameters

Schema = dict[str, Any]

_NOUNS = {"number": "a number", "integer": "a whole number", "string": "text", "boolean": "true or false",
          "object": "a mapping", "array": "a list"}  # fmt: skip
_SIGNS = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}
_NARROWER = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
"""ends that a field adds to those of its type, as pydantic leaves them in the schema"""


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
        said = meanings(kind) if issubclass(kind := schema["cls"], Parameters) else {}
        for key, part in made["properties"].items():
            part["description"] = said.get(key) or f"{key}: {in_words(part)}"
        return made


@lru_cache(maxsize=256)
def schema_of(kind: type[Parameters]) -> Schema:
    """The JSON schema of a class, whole: it refers to nothing. `or_infinite` marks a number that may be inf too."""
    made = kind.model_json_schema(schema_generator=_Generator)
    definitions = made.pop("$defs", {})

    def whole(part: Any) -> Any:
        if isinstance(part, dict):
            reference = definitions[part["$ref"].rpartition("/")[2]] if isinstance(part.get("$ref"), str) else {}
            return {key: whole(value) for key, value in (reference | part).items() if key != "$ref"}
        return [whole(item) for item in part] if isinstance(part, list) else part

    inlined: Schema = whole(made)
    return inlined


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
    schema = schema | {name: schema[key] for key, name in _NARROWER.items() if key in schema}
    ends = [f"{sign} {schema[name]:g}" for name, sign in _SIGNS.items() if name in schema]
    words = " ".join([_NOUNS.get(schema.get("type", ""), "a mapping"), " and ".join(ends)]).strip()
    return words + " or inf" * ("or_infinite" in schema)


@lru_cache(maxsize=256)
def meanings(kind: type[Parameters]) -> Mapping[str, str]:
    """What the source says below each field of a class and of those that it inherits from; one line each."""
    found: dict[str, str] = {}
    # A class that says a field anew has the last word.
    for part in reversed(kind.__mro__):
        if not issubclass(part, Parameters) or part is Parameters:
            continue
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        except (OSError, TypeError, SyntaxError):
            continue  # typed at a prompt: there is no source
        for field, below in pairwise(tree.body if isinstance(tree, ast.ClassDef) else []):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                    found[name] = " ".join(text.split())
    return found
