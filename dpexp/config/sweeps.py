"""From one config to those of single values: cases laid over the rest, names, and what lists sweep.

A list on a key that takes no list itself sweeps; several make the cartesian product, the first key of a section varying
slowest. In a population, which is nested, lists sweep at any depth: `coefficients: [1, 2]` is one vector, and
`errors: {law: t, df: [3, 5]}` two populations. Whatever is taken from its list keeps its place in the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from dpexp.config.cells import OF_THE_EXPERIMENT, POPULATION
from dpexp.config.error_messages import takes_a_list
from dpexp.config.yamlfile import List, Map, Mark, Position, config_error
from dpexp.core.parameters import Parameters

MAX_CELLS, MAX_DEPTH = 10_000, 20
FEWER = "sweep fewer values, or split the experiment in several"
LISTS = {"coefficients": 1, "slopes": 1, "correlation": 2, "p": 1, "columns": 1, "heteroscedastic": 1}
"""depth of the lists that these keys of a population take"""
REPLACED = {"mu": ("eps", "delta", "message"), "eps": ("mu",)}
"""keys of privacy that one of these replaces"""


def laid_over(config: Map, case: Map) -> Map:
    """A config with the sections of a case: their keys replace those of the config.

    A new name starts afresh, and so does a new kind of budget.
    """
    sections = dict[str, Any]()
    for section, own in case.items():
        base = config.get(section)
        # Parameters of one algorithm mean nothing to another.
        if isinstance(base, Map) and isinstance(own, Map) and base.get("name") == own.get("name", base.get("name")):
            replaced = {key for name, keys in REPLACED.items() if name in own for key in keys}
            own = base.only([key for key in base if key not in replaced]).over(own, own.start)
        sections[section] = own
    return config.over(Map(sections, case.marks, case.start))


def by_name(config: Map, registries: Mapping[str, Mapping[str, type[Parameters]]]) -> list[Map]:
    """The config once for all combinations of names that its sections list, with the keys that each name has."""
    several = [config]
    for section, registry in registries.items():
        own = config.get(section)
        if not isinstance(own, Map) or not isinstance(names := own.get("name"), List) or not names:
            continue
        fields = {name: registry[name].model_fields for name in names if isinstance(name, str) and name in registry}
        variants = []
        for k, name in enumerate(names):
            # A key of another name is that one's; one that no name has is a mistake.
            others = {key for other in fields.values() for key in other} - {*fields.get(str(name), own)}
            variant = own.only([key for key in own if key not in others])
            variants.append(variant.over(Map({"name": name}, {"name": names.marks[k]}, own.start)))
        several = [config.over({section: variant}) for config in several for variant in variants]
    return several


def points(section: Map, model: type[Parameters]) -> list[Map]:
    """A section at every point of its lists. Raises ConfigError for too many."""
    return [point for point, _ in _options(section, section.start, "", model, 2)]


def _options(
    value: Any, where: Position, key: int | str, model: type[Parameters] | None, depth: int
) -> list[tuple[Any, Position]]:
    """What a value at a key stands for, as values with their places: its lists sweep, down to a depth.

    The key is one of a class, or without it of a population.
    """
    if depth == 0 or not isinstance(value, Map | List) or not value:
        return [(value, where)]
    if isinstance(value, List):
        if _sweeps(value, key, model):
            items = (_options(item, value.marks[k].value, key, model, depth - 1) for k, item in enumerate(value))
            return [option for options in items for option in options]
        if key != "columns":
            return [(value, where)]
    parts = value if isinstance(value, Map) else dict(enumerate(value))
    options = [
        _options(part, value.marks[inner].value, inner, None, MAX_DEPTH)
        if inner == POPULATION
        else _options(part, value.marks[inner].value, inner, model, depth - 1)
        for inner, part in parts.items()
    ]
    if (count := math.prod(map(len, options))) > MAX_CELLS:
        longest, _ = max(zip(parts, options, strict=True), key=lambda part: len(part[1]))
        message = f"'{longest}' and its neighbors sweep {count:,} values; at most {MAX_CELLS:,} cells are allowed"
        raise config_error(value.marks[longest].value, message, FEWER)
    rebuilt = list[Any]()
    for point in product(*options):
        values, places = [part for part, _ in point], [place for _, place in point]
        if isinstance(value, Map):
            marks = {key: Mark(place, value.marks[key].key) for key, place in zip(parts, places, strict=True)}
            rebuilt.append(Map(dict(zip(value, values, strict=True)), marks, value.start))
        else:
            rebuilt.append(List(values, places))
    return [(each, where) for each in rebuilt]


def _sweeps(value: List, key: int | str, model: type[Parameters] | None) -> bool:
    """Whether a list is several values of a key, and not one."""
    if model:
        return key not in OF_THE_EXPERIMENT and not takes_a_list(model, str(key))
    rules = key != "columns" and any(isinstance(item, dict) for item in value)
    return rules or _depth(value) > LISTS.get(str(key), 0)


def _depth(value: Any) -> int:
    """How many lists are in one another."""
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple) else 0
