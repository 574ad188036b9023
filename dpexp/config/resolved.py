"""A resolved config as YAML that reads back to the same cells, and the JSON schema of config files."""

from __future__ import annotations

import json
import math
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.config.reader import REGISTRIES, parameters_of, takes_a_list


def resolved_yaml(experiment: Experiment) -> str:
    """The experiment with every default filled in; sweeps stay lists, `cases` stay cases."""
    first: dict[str, Any] = dict(_sections(experiment.cells[0]))
    if experiment.sweeps:
        for (section, key), values in experiment.sweeps.items():
            first[section][key] = list(values)
    elif len(experiment.cells) > 1:
        base = {s: v for s, v in first.items() if all(_sections(c)[s] == v for c in experiment.cells)}
        cases = [{s: v for s, v in _sections(c).items() if s not in base} for c in experiment.cells]
        first = base | {"cases": cases}
    lines = [f"experiment: {experiment.name}"]
    lines += [f"plugins: {json.dumps(experiment.plugins)}"] if experiment.plugins else []
    for section, value in first.items():
        if section == "cases":
            lines += ["cases:", *(f"  - {_flow(case)}" for case in value)]
        else:
            lines += [f"{section}:", *(f"  {key}: {_flow(v)}" for key, v in value.items())]
    return "\n".join(lines) + "\n"


def _sections(cell: Cell) -> dict[str, dict[str, Any]]:
    budget = cell.privacy.mu.model_dump()
    return {
        "problem": cell.problem.model_dump(),
        "algorithm": cell.algorithm.model_dump(),
        "schedule": cell.schedule.model_dump(),
        "privacy": (budget if cell.privacy.eps is not None else {"mu": budget.get("mu", budget)})
        | {"deltas": list(cell.privacy.deltas)},
        "run": cell.run.model_dump(),
    }


def _flow(value: Any) -> str:
    """YAML in one line; numbers keep all their digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return "inf" if math.isinf(value) else repr(int(value)) if value.is_integer() and value < 1e15 else repr(value)
    return str(value)


def json_schema() -> dict[str, Any]:
    """JSON schema of a config file; a field that is not itself a list may be a list, which sweeps."""
    from dpexp.config.cells import RunSettings
    from dpexp.privacy.budgets import BUDGETS

    number = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^(inf|\d+/\d+)$"}]}
    laws = [BUDGETS[law].model_json_schema() for law in BUDGETS if law != "constant"]
    sections: dict[str, Any] = {
        name: {"oneOf": [_sweepable(kind) for kind in registry.values()]} for name, registry in REGISTRIES.items()
    }
    mu = {"anyOf": [number, *laws]}
    sections["privacy"] = {
        "type": "object",
        "properties": {
            "mu": _or_list(mu),
            "eps": _or_list(number),
            "delta": _or_list({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            "deltas": {"type": "array", "items": {"type": "number"}, "minItems": 1},
        },
        "oneOf": [{"required": ["mu"]}, {"required": ["eps"]}],
        "additionalProperties": False,
    }
    sections["run"] = _sweepable(RunSettings)
    sections["run"].pop("required", None)  # algorithms on data know their number of steps
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dpexp config",
        "type": "object",
        "properties": {
            "experiment": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"},
            "plugins": _or_list({"type": "string", "pattern": r"\.py$"}),
            **sections,
            "cases": {"type": "array", "items": {"type": "object"}, "minItems": 1},
        },
        "required": ["experiment"],
        "additionalProperties": False,
    }


def _sweepable(kind: type[object]) -> dict[str, Any]:
    schema: dict[str, Any] = parameters_of(kind).model_json_schema()
    for key, field in schema["properties"].items():
        if key not in ("name", "replicates") and not takes_a_list(parameters_of(kind), key):
            schema["properties"][key] = _or_list(field)
    return schema


def _or_list(field: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [field, {"type": "array", "items": field, "minItems": 1}]}
