"""The JSON schema of config files, for editors and for programs that write configs.

It is pydantic's, of the classes that `validate` checks with. It accepts everything that `dpexp validate` accepts, and
refuses every unknown key, every value of a wrong type and every number out of its range. What is missing, and whether
values fit each other, is left to `validate`.
"""

from __future__ import annotations

from typing import Any

from dpexp.config.cells import OF_THE_EXPERIMENT, POPULATION, RunSettings
from dpexp.config.error_messages import Schema, schema_of, takes_a_list
from dpexp.config.sections import REGISTRIES, ConfigFile
from dpexp.core.parameters import Parameters
from dpexp.privacy.budgets import BUDGETS, PrivacySettings
from dpexp.problems.population import Population

_LARGEST = 1.7976931348623157e308  # the largest finite number: what is larger, as a program holds it, is infinite
_NUMBER = r"^[+-]?(\.?[iI][nN][fF](inity)?|\d[\d_]*\s*/\s*\d[\d_]*|(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?)$"
"""a number as dpexp reads it from text: only dpexp takes 1/3 for one, and 1e-5, which PyYAML alone reads as text"""


def json_schema() -> Schema:
    """The schema of what can be named today, plug-ins that are loaded included."""
    file, privacy = schema_of(ConfigFile)["properties"], _keys(PrivacySettings)
    laws = [_written(schema_of(kind)) for law, kind in BUDGETS.items() if law != "constant"]
    number = _written(schema_of(BUDGETS["constant"])["properties"]["mu"])
    privacy["properties"]["mu"] |= _or_list({"anyOf": [number, *laws]})
    # A list sweeps at any depth of a population, so that no key has one type.
    keys = {key: {"description": v["description"]} for key, v in schema_of(Population)["properties"].items()}
    sections = {section: _section(section) for section in REGISTRIES} | {
        POPULATION: {"anyOf": [_object(keys), {"type": "array"}]}, "privacy": privacy, "run": _keys(RunSettings),
    }  # fmt: skip
    sections = {section: own | {"description": file[section]["description"]} for section, own in sections.items()}
    cases = {"type": "array", "items": _object(sections), "minItems": 1, "description": file["cases"]["description"]}
    top = {"experiment": file["experiment"], "plugins": file["plugins"], "cases": cases, **sections}
    heading = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "dpexp config"}
    return {**heading, **_object(top), "required": ["experiment"]}


def _section(section: str) -> Schema:
    """A section that names an entry of a registry: the keys are those of the entry, without a name those of any."""
    kinds = {name: _keys(kind) for name, kind in REGISTRIES[section].items()}
    named = [
        {"if": {"properties": {"name": {"const": name}}, "required": ["name"]}, "then": keys}
        for name, keys in kinds.items()
    ]
    unnamed = {"if": {"not": {"required": ["name"]}}, "then": {"anyOf": list(kinds.values())}}
    name = _or_list({"enum": list(kinds)}) | {"description": "which of the names that `dpexp list` shows"}
    return {"type": "object", "properties": {"name": name}, "allOf": [*named, unnamed]}


def _keys(kind: type[Parameters]) -> Schema:
    """The keys of a section, all optional; a value that is not itself a list may be one, which sweeps."""
    properties: Schema = {}
    for key, value in _written(schema_of(kind))["properties"].items():
        if key != POPULATION:  # a section of its own
            sweeps = key not in ("name", *OF_THE_EXPERIMENT) and not takes_a_list(kind, key)
            properties[key] = {"description": value.pop("description"), **(_or_list(value) if sweeps else value)}
    return _object(properties)


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _or_list(value: Schema) -> Schema:
    return {"anyOf": [value, {"type": "array", "items": value, "minItems": 1}]}


def _written(schema: Any) -> Any:
    """A schema of values as one of what people write, where a number may be a text that dpexp reads as one."""
    if isinstance(schema, list):
        return [_written(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") not in ("number", "integer"):
        return {key: _written(value) for key, value in schema.items()}
    ends = {key: value for key, value in schema.items() if key not in ("description", "or_infinite")}
    forms: list[Schema] = [ends, {"type": "string", "pattern": _NUMBER}]
    # Infinity, which JSON lacks, is a text or a number beyond the largest one.
    forms += [{"type": "number", "exclusiveMinimum": _LARGEST}] * ("or_infinite" in schema)
    return {"anyOf": forms} | {key: schema[key] for key in ("description",) if key in schema}
