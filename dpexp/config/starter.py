"""What a first config shows: every key of a problem and an algorithm with its default, meaning and range."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from dpexp.algorithms import ALGORITHMS
from dpexp.config.cells import RunSettings
from dpexp.config.error_messages import field, in_words, meanings, suggest, takes_a_list
from dpexp.config.experiment_file import read_experiment
from dpexp.config.populations import POPULATION
from dpexp.config.reader import REGISTRIES, parameters_of
from dpexp.config.sections import problems_of
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Parameters
from dpexp.core.scalars import yaml_in_line
from dpexp.privacy.budgets import PrivacySettings

BUDGETS: Sequence[Mapping[str, Any]] = ({"mu": 1}, {"eps": 1, "delta": 1e-5}, {"mu": math.inf})
STEPS: Sequence[Mapping[str, Any]] = ({}, {"n": 20_000})
BATCHES = (250, 16, 1)
"""what is tried in turn: some algorithms know their number of steps, and no batch is larger than the data"""
IF_ADDED = (
    "# Or state about how many there are, a public number that is not counted here. Then sampling: poisson, for",
    "# records that are added or removed, is private too, with less noise:",
    "# records: NUMBER",
)


class Draft(NamedTuple):
    """A source of data, and what a user should add to it, as lines of YAML in which values are to be filled in."""

    source: Mapping[str, Any]
    template: tuple[str, ...]


def starter(problem: str | None, algorithm: str | None, data: Draft | None = None) -> dict[str, Any]:
    """What the draft of a config is filled in with: names, and sections as (name, meaning, [(line, comment)]).

    Without a name the first algorithm that runs on the problem is taken, and the first problem that it runs on.
    Raises UsageError for unknown names and for names that do not go together.
    """
    for section, name in (("problem", problem), ("algorithm", algorithm)):
        if name is not None and name not in REGISTRIES[section]:
            raise UsageError(f"unknown {section} '{name}'", suggest(name, REGISTRIES[section]))
    message, hint = f"no starter for {problem or algorithm}", "start from a shipped config: dpexp init --from linear_d5"
    if problem and algorithm:
        message = f"algorithm '{algorithm}' does not run on problem '{problem}'"
        hint = f"it runs on: {', '.join(problems_of(ALGORITHMS[algorithm]))}"
    for sections in _candidates(problem, algorithm, data.source if data else None):
        text = "\n".join(["experiment: starter", *(f"{key}: {yaml_in_line(value)}" for key, value in sections.items())])
        try:
            # blanks of a table are the user's to fill
            read_experiment(text.replace("[ONE, OTHER]", "[0, 1]"), "starter.yaml")
        except ConfigError as error:
            message, hint = (error.issues[0].message, error.issues[0].hint) if data else (message, hint)
            continue
        template = (*data.template, *IF_ADDED) if data else ()
        described = [(name, *_described(name, values, template)) for name, values in sections.items()]
        problem, algorithm = sections["problem"]["name"], sections["algorithm"]["name"]
        meaning = meanings(parameters_of(REGISTRIES["problem"][problem])).get(POPULATION)
        population: list[Any] = [(f"# {POPULATION}", meaning, [])] if meaning else []
        return {"problem": problem, "algorithm": algorithm, "sections": [described[0], *population, *described[1:]]}
    raise UsageError(message, hint)


def _candidates(
    problem: str | None, algorithm: str | None, data: Mapping[str, Any] | None
) -> Iterator[dict[str, dict[str, Any]]]:
    """Configs that may be valid, the most usual first: registries are in the order in which a newcomer meets them."""
    for name in [algorithm] if algorithm else ALGORITHMS:
        kind = ALGORITHMS[name]
        keys, batches = parameters_of(kind).model_fields, list[dict[str, Any]]([{}])
        if data and "batch_size" in keys:
            # The number of a user's own records is public where they are replaced.
            sampling = {"sampling": "fixed-size"} if "sampling" in keys else {}
            batches = [{"batch_size": size} | sampling for size in BATCHES]
        problems = [own for own in problems_of(kind) if problem in (None, own)]
        for choice in product(problems, kind.schedules, BUDGETS[1:] if data else BUDGETS, STEPS, batches):
            own, schedule, budget, steps, batch = choice
            yield {
                "problem": {"name": own} | ({"data": data} if data else {}),
                "algorithm": {"name": name, **batch},
                "schedule": {"name": schedule},
                "privacy": dict(budget),
                # On a user's own records one replicate is released.
                "run": {**steps, "replicates": 1 if data else 20, "seed": 1},
            }


def _described(section: str, values: Mapping[str, Any], template: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    """The meaning of a section, and its keys; below the data of a problem, what the user should add there."""
    if section == "privacy":
        return "", [(f"{key}: {yaml_in_line(v)}", meanings(PrivacySettings)[key]) for key, v in values.items()]
    if section == "run":
        return "", list(_rows(RunSettings, values, ()))
    kind = parameters_of(REGISTRIES[section][values["name"]])
    first = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return " ".join(first.split()).partition(". ")[0].rstrip("."), list(_rows(kind, values, template))


def _rows(kind: type[Parameters], values: Mapping[str, Any], template: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every key of a class with its value or default, and its meaning; a comment where there is no value."""
    for key, info in kind.model_fields.items():
        value = values.get(key, None if info.is_required() else info.get_default(call_default_factory=True))
        if key == POPULATION or (value is None and info.is_required()):
            continue
        takes = in_words(field(kind, key)) + " (a list is one value)" * takes_a_list(kind, key)
        comment = "; ".join(filter(None, (meanings(kind).get(key), "" if key == "name" else takes)))
        if isinstance(value, Mapping) and value:
            yield f"{key}:", comment
            lines = [*(f"{inner}: {yaml_in_line(v)}" for inner, v in value.items()), *template]
            yield from ((f"  {line}", "") for line in lines)
        else:
            # Of a part with keys of its own only what is not the default.
            own = value.model_dump(exclude_none=True, exclude_defaults=True) if isinstance(value, Parameters) else value
            yield f"# {key}:" if value is None else f"{key}: {yaml_in_line(own)}", comment
