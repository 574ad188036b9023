"""What a first config shows: every key of a problem and an algorithm with its default, meaning and range."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.near_the_optimum import is_flat, local, predicted_errors
from dpexp.config.cells import POPULATION, SECTIONS, Cell
from dpexp.config.error_messages import field, in_words, meanings, suggest, takes_a_list
from dpexp.config.experiment_file import read_experiment
from dpexp.config.sections import REGISTRIES, problems_of
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Parameters
from dpexp.core.text import fraction, yaml_in_line
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


def starter(
    problem: str | None, algorithm: str | None, data: Mapping[str, Any] | None = None, template: Sequence[str] = ()
) -> dict[str, Any]:  # fmt: skip
    """What the draft of a config is filled in with: names, and sections as (name, meaning, [(line, comment)]).

    Without a name the first algorithm that runs on the problem is taken, and the first problem that it runs on:
    registries are in the order in which a newcomer meets them. Of own `data` the template says what a user should add.
    Raises UsageError for unknown names and for names that do not go together.
    """
    for section, name in (("problem", problem), ("algorithm", algorithm)):
        if name is not None and name not in REGISTRIES[section]:
            raise UsageError(f"unknown {section} '{name}'", suggest(name, REGISTRIES[section]))
    message, hint = f"no starter for {problem or algorithm}", "start from a shipped config: dpexp init --from linear_d5"
    if problem and algorithm:
        message = f"algorithm '{algorithm}' does not run on problem '{problem}'"
        hint = f"it runs on: {', '.join(problems_of(ALGORITHMS[algorithm]))}"
    budgets = BUDGETS[1:] if data else BUDGETS
    for name in [algorithm] if algorithm else ALGORITHMS:
        kind = ALGORITHMS[name]
        keys, batches = kind.model_fields, list[dict[str, Any]]([{}])
        if data and "batch_size" in keys:
            # The number of a user's own records is public where they are replaced.
            sampling = {"sampling": "fixed-size"} if "sampling" in keys else {}
            batches = [{"batch_size": size} | sampling for size in BATCHES]
        problems = [own for own in problems_of(kind) if problem in (None, own)]
        for own, schedule, budget, steps, batch in product(problems, kind.schedules, budgets, STEPS, batches):
            sections = {
                "problem": {"name": own} | ({"data": data} if data else {}),
                "algorithm": {"name": name, **batch},
                "schedule": {"name": schedule},
                "privacy": dict(budget),
                # On a user's own records one replicate is released.
                "run": {**steps, "replicates": 1 if data else 20, "seed": 1},
            }
            text = "\n".join(f"{section}: {yaml_in_line(keys)}" for section, keys in sections.items())
            try:
                # blanks of a table are the user's to fill
                text = f"experiment: starter\n{text}".replace("[ONE, OTHER]", "[0, 1]")
                (cell,) = read_experiment(text, "starter.yaml").cells
            except ConfigError as error:
                message, hint = (error.issues[0].message, error.issues[0].hint) if data else (message, hint)
                continue
            return _described(cell, sections, (*template, *IF_ADDED) if data else ())
    raise UsageError(message, hint)


def _described(cell: Cell, written: Mapping[str, Mapping[str, Any]], template: Sequence[str]) -> dict[str, Any]:
    """The sections of a cell with every key, its value, meaning and range; below its data, what the user should add."""
    sections = list[tuple[str, str, list[tuple[str, str]]]]()
    for section in SECTIONS:
        part, rows, named = getattr(cell, section), list[tuple[str, str]](), section in REGISTRIES
        kind: type[Parameters] = type(part)
        about = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
        for key in [key for key in kind.model_fields if section != "privacy" or key in written[section]]:
            value = written[section].get(key, getattr(part, key))
            takes = in_words(field(kind, (key,))) + " (a list is one value)" * takes_a_list(kind, key)
            takes = "" if key == "name" or section == "privacy" else takes
            comment = "; ".join(filter(None, (meanings(kind).get(key), takes)))
            if key == POPULATION or (key == "n" and key not in written[section]):
                continue
            if isinstance(value, Mapping) and value:
                lines = [*(f"{inner}: {yaml_in_line(v)}" for inner, v in value.items()), *template]
                rows += [(f"{key}:", comment), *((f"  {line}", "") for line in lines)]
            else:
                # Of a part with keys of its own only what is not the default.
                of_part = isinstance(value, Parameters)
                value = value.model_dump(exclude_none=True, exclude_defaults=True) if of_part else value
                rows.append((f"# {key}:" if value is None else f"{key}: {yaml_in_line(value)}", comment))
        sections.append((section, about if named else "", rows))
        if section == "problem" and POPULATION in kind.model_fields:
            sections.append((f"# {POPULATION}", meanings(kind)[POPULATION], []))
        if section == "schedule" and (cell.algorithm.name, part.name) == ("ldp-sgd", "power"):
            rows += [(f"# {line}", "") for line in _step_sizes(cell)]
    return {"problem": cell.problem.name, "algorithm": cell.algorithm.name, "sections": sections}


def _step_sizes(cell: Cell) -> Iterator[str]:
    """The best step sizes by the linearised recursion, for some numbers of users; none where no curvature is known."""
    problem, budget = cell.problem, cell.privacy.mu
    if not isinstance(problem, LinearPredictorProblem) or problem.unknown_curvature() or is_flat(problem):
        return
    place = local(problem, budget)
    # in units of 1 / M: beyond 2 / M the linear iteration diverges
    etas = np.geomspace(1e-3, 1.5, 31) / np.linalg.eigvalsh(place.hessian)[-1]
    yield f"Theory (the linearised recursion) recommends for mu = {budget.label}, in root mean square distance:"
    for n in (20_000, 300_000, 3_000_000):
        candidates = []
        for alpha in (1 / 3, 1 / 2, 2 / 3):
            (errors,) = predicted_errors([place], np.array([n]), etas, alpha, of_loss=False)
            for estimator, squares in (("last iterate", errors.sgd[:, 0]), ("average", errors.asgd[:, 0])):
                k = int(np.nanargmin(squares))
                candidates.append((float(squares[k]), estimator, float(etas[k]), alpha))
        square, estimator, eta, alpha = min(candidates)
        yield f"  n = {n}: eta: {eta:.2g}, alpha: {fraction(alpha)} and the {estimator}: {math.sqrt(square):.2g}"
