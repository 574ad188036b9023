"""The JSON schema of config files, for editors and for programs that write configs.

It is made from the same annotations that `validate` checks, by walking them. It accepts everything that `dpexp
validate` accepts, and refuses every unknown key, every value of a wrong type and every number out of its range. What is
missing, and whether values fit each other, is left to `validate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import MinLen
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from dpexp.config.cells import OF_THE_EXPERIMENT, RunSettings
from dpexp.config.messages import constraints, limits
from dpexp.config.populations import POPULATION
from dpexp.config.reader import REGISTRIES, parameters_of, takes_a_list
from dpexp.config.starter import MEANINGS, meanings_of
from dpexp.core.parameters import Parameters, integral
from dpexp.privacy.budgets import BUDGETS, Mu, PrivacySettings
from dpexp.problems.population import Population

Schema = dict[str, Any]

LARGEST = 1.7976931348623157e308
"""the largest finite number: what is larger, as a program holds it, is infinite"""
UNSIGNED = r"(\d[\d_]*\s*/\s*\d[\d_]*|(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?)"
"""a number as `yamlfile.scalar` reads it from text"""
INFINITE = r"\.?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
_TYPES = {type(None): "null", bool: "boolean", str: "string"}
_KEYWORDS = {
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "le_or_inf": "maximum",
}  # fmt: skip
"""of the limits of a number"""
NAME = "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"


WORDS = {
    "experiment": "names the folder of the results",
    "plugins": "Python files that add names, by their paths from the config",
    "problem": "what is learned, and from which data",
    "population": "how users are drawn",
    "algorithm": "the update rule",
    "schedule": "the step sizes",
    "privacy": "the budget of every user, or the target of the whole run",
    "run": "how much is simulated",
    "cases": "partial configs, each laid over the rest of the file",
    "name": "which of the names that `dpexp list` shows",
    "deltas": "at which epsilon is stated",
    **{key: MEANINGS[key] for key in ("mu", "eps", "delta", "n")},
}
"""descriptions of sections, and of keys that no class explains"""


def json_schema() -> Schema:
    """The schema of what can be named today, plug-ins that are loaded included."""
    sections: Schema = {
        **{section: _section(section) for section in REGISTRIES},
        POPULATION: {
            "anyOf": [
                _object({key: {"description": meaning} for key, meaning in meanings_of(Population).items()}),
                {"type": "array"},
            ]
        },
        "privacy": _privacy(),
        "run": _mapping(RunSettings, sweeps=True),
    }
    top: Schema = {
        "experiment": {"type": "string", "pattern": NAME},
        "plugins": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "cases": {"type": "array", "items": _object(sections), "minItems": 1},
    }
    heading = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "dpexp config"}
    return {**heading, **_object(top | sections), "required": ["experiment"]}


def _section(section: str) -> Schema:
    """A section that names an entry of a registry: the keys are those of the entry, without a name those of any."""
    kinds = {name: _mapping(parameters_of(kind), sweeps=True) for name, kind in REGISTRIES[section].items()}
    named = [
        {"if": {"properties": {"name": {"const": name}}, "required": ["name"]}, "then": keys}
        for name, keys in kinds.items()
    ]
    unnamed = {"if": {"not": {"required": ["name"]}}, "then": {"anyOf": list(kinds.values())}}
    names = _described({"name": _or_list({"enum": list(kinds)})})
    return {"type": "object", "properties": names, "allOf": [*named, unnamed]}


def _privacy() -> Schema:
    """Budgets of the users, or a target of the whole run."""
    laws = [_mapping(kind) for law, kind in BUDGETS.items() if law != "constant"]
    eps, delta, deltas = (_of_field(PrivacySettings.model_fields[key]) for key in ("eps", "delta", "deltas"))
    mu = {"anyOf": [_of(Mu), *laws]}
    return _object({"mu": _or_list(mu), "eps": _or_list(eps), "delta": _or_list(delta), "deltas": deltas})


def _mapping(kind: type[Parameters], sweeps: bool = False) -> Schema:
    """The keys of one class of parameters; where it `sweeps`, a value that is not itself a list may be a list.

    A section does. A part of a value, such as a source of data or a law of budgets, does not, and needs all its keys.
    """
    properties: Schema = {}
    meanings = meanings_of(kind)
    for key, field in kind.model_fields.items():
        if key == POPULATION:  # a section of its own
            continue
        value = _of_field(field)
        # A value that is itself a list cannot also be a list of values.
        listed = sweeps and key not in ("name", *OF_THE_EXPERIMENT) and not takes_a_list(kind, key)
        properties[key] = (_or_list(value) if listed else value) | {"description": meanings[key]}
    required = [key for key, field in kind.model_fields.items() if field.is_required() and not sweeps]
    return _object(properties) | ({"required": required} if required else {})


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": _described(properties), "additionalProperties": False}


def _described(properties: Schema) -> Schema:
    """Each with a description, its own or the general one."""
    return {
        key: {"description": WORDS[key], **schema} if key in WORDS else schema for key, schema in properties.items()
    }


def _or_list(value: Schema) -> Schema:
    return {"anyOf": [value, {"type": "array", "items": value, "minItems": 1}]}


def _of_field(field: FieldInfo) -> Schema:
    """What one field takes."""
    return _of(field.annotation, field.metadata)


def _of(annotation: Any, metadata: Sequence[Any] = ()) -> Schema:
    """What a value of this annotation is written as."""
    # not by pydantic's own schema, which writes the limits of whole numbers in words that JSON Schema does not have
    # (`ge`, `lt`) and leaves references without what they refer to
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _of(inner[0], [*inner[1:], *metadata])
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, UnionType):
        return {"anyOf": [_of(kind) for kind in inner]}
    if any(isinstance(item, BeforeValidator) and item.func is not integral for item in constraints(metadata)):
        # It converts what is written before anything is checked (True to the text "True"), in a way only it knows.
        if origin is dict:
            lists = {"additionalProperties": {"type": "array"}} if get_origin(inner[1]) is tuple else {}
            return {"type": "object", **lists}
        return {"type": ["array", "string"]} if origin is tuple else {}
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        least = max((item.min_length for item in constraints(metadata) if isinstance(item, MinLen)), default=0)
        return {"type": "array", "items": _of(inner[0]), "minItems": least}
    if origin is tuple:  # a pair, such as the two ends of a uniform law
        return {"type": "array", "prefixItems": list(map(_of, inner)), "minItems": len(inner), "maxItems": len(inner)}
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    if annotation in (int, float):
        return _number(annotation is int, metadata)
    if isinstance(annotation, type) and issubclass(annotation, Parameters):
        return _mapping(annotation)
    return {}  # a kind that a plug-in has thought of: `validate` knows


def _number(integer: bool, metadata: Sequence[Any]) -> Schema:
    """A number in its range, or a text that dpexp reads as one."""
    narrowest = limits(metadata)
    ends: Schema = {_KEYWORDS[name]: limit for name, limit in narrowest.items()}
    or_infinite = "le_or_inf" in narrowest
    bounded = not or_infinite and ("maximum" in ends or "exclusiveMaximum" in ends)
    # Without a lower end, or with one below 0, a number may be negative.
    signed = max(ends.get("minimum", -1), ends.get("exclusiveMinimum", -1)) < 0
    # only dpexp's reader takes 1/3, inf, and 1e-5, which PyYAML alone reads as text, for a number; the schema knows
    # the sign of such a text, and its size is checked by `validate`
    text = UNSIGNED if bounded else f"({UNSIGNED}|{INFINITE})"
    forms: list[Schema] = [
        {"type": "integer" if integer else "number", **ends},
        {"type": "string", "pattern": f"^[+{'-' if signed else ''}]?{text}$"},
    ]
    # infinity, which JSON lacks, is a text or a number beyond the largest one
    forms += [{"type": "number", "exclusiveMinimum": LARGEST}] if or_infinite else []
    return {"anyOf": forms}
