"""What a first config shows: every key of a problem and an algorithm with its default, meaning and range."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.near_the_optimum import is_flat, local, predicted_errors
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
from dpexp.core.text import fraction
from dpexp.privacy.budgets import ConstantBudget, PrivacySettings
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem

BUDGETS: Sequence[Mapping[str, Any]] = ({"mu": 1}, {"eps": 1, "delta": 1e-5}, {"mu": math.inf})
STEPS: Sequence[Mapping[str, Any]] = ({}, {"n": 20_000})
BATCHES = (250, 16, 1)
"""what is tried in turn: some algorithms know their number of steps, and no batch is larger than the data"""
IF_ADDED = (
    "# Or state about how many there are, a public number that is not counted here. Then sampling: poisson, for",
    "# records that are added or removed, is private too, with less noise:",
    "# records: NUMBER",
)
Rows = Iterator[tuple[str, str]]
"""lines of YAML, each with its comment"""


class Draft(NamedTuple):
    """A source of data, and what a user should add to it, as lines of YAML in which values are to be filled in."""

    source: Mapping[str, Any]
    template: tuple[str, ...]


def starter(problem: str | None, algorithm: str | None, data: Draft | None = None) -> dict[str, Any]:
    """What the draft of a config is filled in with: the names, and the sections with their rows; it validates.

    Without a name the first algorithm that runs on the problem is taken, and the first problem that it runs on.
    Raises UsageError for names that are not there or do not go together.
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
        else:
            return _described(sections, (*data.template, *IF_ADDED) if data else ())
    raise UsageError(message, hint)


def _candidates(
    problem: str | None, algorithm: str | None, data: Mapping[str, Any] | None
) -> Iterator[dict[str, dict[str, Any]]]:
    """Configs that may be valid, the most usual first: registries are in the order in which a newcomer meets them."""
    for a in [algorithm] if algorithm else ALGORITHMS:
        keys, batches = parameters_of(ALGORITHMS[a]).model_fields, list[dict[str, Any]]([{}])
        if data and "batch_size" in keys:
            # The number of a user's own records is public where they are replaced.
            sampling = {"sampling": "fixed-size"} if "sampling" in keys else {}
            batches = [{"batch_size": size} | sampling for size in BATCHES]
        names = [name for name in problems_of(ALGORITHMS[a]) if problem in (None, name)]
        budgets = BUDGETS[1:] if data else BUDGETS
        for p, schedule, budget, steps, batch in product(names, ALGORITHMS[a].schedules, budgets, STEPS, batches):
            yield {
                "problem": {"name": p} | ({"data": data} if data else {}),
                "algorithm": {"name": a, **batch},
                "schedule": {"name": schedule},
                "privacy": dict(budget),
                # On a user's own records one replicate is released.
                "run": {**steps, "replicates": 1 if data else 20, "seed": 1},
            }


def _described(sections: Mapping[str, Mapping[str, Any]], template: Sequence[str]) -> dict[str, Any]:
    """The sections with all their keys; below the data, what the user should add there."""
    # Keys, defaults and meanings come from the classes: a draft cannot fall behind them.
    described = []
    for section, values in sections.items():
        rows: Rows = ((f"{key}: {yaml_in_line(v)}", meanings(PrivacySettings)[key]) for key, v in values.items())
        about = ""
        if section in REGISTRIES:
            kind = parameters_of(REGISTRIES[section][values["name"]])
            about = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
            rows = _rows(kind, values, template)
        elif section == "run":
            rows = _rows(RunSettings, values)
        described.append((section, about, list(rows)))
    problem, algorithm, schedule = (sections[section]["name"] for section in REGISTRIES)
    if algorithm == "ldp-sgd" and schedule == "power":
        described[2][2].extend((f"# {line}", "") for line in _step_sizes(problem, sections["privacy"]["mu"]))
    own = parameters_of(PROBLEMS[problem])
    if POPULATION in own.model_fields:  # a section of its own
        described.insert(1, (f"# {POPULATION}", meanings(own)[POPULATION], []))
    return {"problem": problem, "algorithm": algorithm, "sections": described}


def _step_sizes(problem: str, mu: float) -> Iterator[str]:
    """The best step sizes by the linearised recursion, for some numbers of users; none where no curvature is known."""
    kind = PROBLEMS[problem].model_validate({})
    if not isinstance(kind, LinearPredictorProblem) or not kind.knows_curvature or is_flat(kind):
        return
    place = local(kind, ConstantBudget(mu=mu))
    # in units of 1 / M: beyond 2 / M the linear iteration diverges
    etas = np.geomspace(1e-3, 1.5, 31) / np.linalg.eigvalsh(place.hessian)[-1]
    yield f"Theory (the linearised recursion) recommends for mu = {mu:g}, in root mean square distance:"
    for n in (20_000, 300_000, 3_000_000):
        candidates = []
        for alpha in (1 / 3, 1 / 2, 2 / 3):
            (errors,) = predicted_errors([place], np.array([n]), etas, alpha, of_loss=False)
            for estimator, squares in (("last iterate", errors.sgd[:, 0]), ("average", errors.asgd[:, 0])):
                k = int(np.nanargmin(squares))
                candidates.append((float(squares[k]), estimator, float(etas[k]), alpha))
        square, estimator, eta, alpha = min(candidates)
        yield f"  n = {n}: eta: {eta:.2g}, alpha: {fraction(alpha)} and the {estimator}: {math.sqrt(square):.2g}"


def _rows(kind: type[Parameters], values: Mapping[str, Any], template: Sequence[str] = ()) -> Rows:
    """Every key of a class with the value given or its default, and what it is; a comment where there is no value."""
    for key, info in kind.model_fields.items():
        if key == POPULATION:
            continue
        value = values.get(key, None if info.is_required() else info.get_default(call_default_factory=True))
        takes = in_words(field(kind, key)) + " (a list is one value)" * takes_a_list(kind, key)
        comment = "; ".join(filter(None, (meanings(kind).get(key), "" if key == "name" else takes)))
        if isinstance(value, Mapping) and value:
            yield f"{key}:", comment
            yield from (
                (f"  {line}", "") for line in (*(f"{k}: {yaml_in_line(v)}" for k, v in value.items()), *template)
            )
        elif value is not None or not info.is_required():
            # Of a part with keys of its own only what is not the default.
            own = value.model_dump(exclude_none=True, exclude_defaults=True) if isinstance(value, Parameters) else value
            yield f"# {key}:" if value is None else f"{key}: {yaml_in_line(own)}", comment
