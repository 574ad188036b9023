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
from dpexp.config.cells import POPULATION, Cell
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


def starter(problem: str | None, algorithm: str | None, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the draft of a config is filled in with: `sections` with their `rows` (key, value, comment), and step sizes.

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
    for name in [algorithm] if algorithm else ALGORITHMS:
        kind = ALGORITHMS[name]
        # The number of a user's own records is public where they are replaced.
        sampling = {"sampling": "fixed-size"} if "sampling" in kind.model_fields else {}
        batches = [{"batch_size": size, **sampling} for size in BATCHES if data and "batch_size" in kind.model_fields]
        problems = [own for own in problems_of(kind) if problem in (None, own)]
        choices = product(problems, kind.schedules, BUDGETS[1:] if data else BUDGETS, STEPS, batches or [{}])
        for own, schedule, budget, steps, batch in choices:
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
                if data:
                    _, message, hint = error.issues[0]
                    message = message if str(data["path"]) in message else f"{data['path']}: {message}"
                continue
            of_power = (cell.algorithm.name, cell.schedule.name) == ("ldp-sgd", "power")
            return {
                "sections": {name: _described(getattr(cell, name), name, own) for name, own in sections.items()},
                "population": meanings(type(cell.problem)).get(POPULATION),
                "budget": cell.privacy.mu.label,
                "step_sizes": list(_step_sizes(cell)) if of_power else [],
            }
    raise UsageError(message, hint)


def _described(part: Parameters, section: str, written: Mapping[str, Any]) -> dict[str, Any]:
    """What a section is about, and its keys, each with a value, and with its meaning and range."""
    kind, rows = type(part), list[tuple[str, Any, str]]()
    about = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    for key in kind.model_fields:
        if key == POPULATION or (key not in written and (section == "privacy" or key == "n")):
            continue
        takes = in_words(field(kind, (key,))) + " (a list is one value)" * takes_a_list(kind, key)
        takes = "" if key == "name" or section == "privacy" else takes
        value = written.get(key, getattr(part, key))
        # Of a part with keys of its own only what is not the default.
        value = value.model_dump(exclude_none=True, exclude_defaults=True) if isinstance(value, Parameters) else value
        rows.append((key, value, "; ".join(filter(None, (meanings(kind).get(key), takes)))))
    return {"name": getattr(part, "name", ""), "about": about if section in REGISTRIES else "", "rows": rows}


def _step_sizes(cell: Cell) -> Iterator[tuple[int, str, str, str, str]]:
    """By the linearised recursion, for some numbers of users: the best eta, alpha and estimator, and the error."""
    problem = cell.problem
    if not isinstance(problem, LinearPredictorProblem) or problem.unknown_curvature() or is_flat(problem):
        return
    place, alphas = local(problem, cell.privacy.mu), (1 / 3, 1 / 2, 2 / 3)
    steps = np.array([20_000, 300_000, 3_000_000])
    # in units of 1 / M: beyond 2 / M the linear iteration diverges
    etas = np.geomspace(1e-3, 1.5, 31) / np.linalg.eigvalsh(place.hessian)[-1]
    errors = [own for alpha in alphas for own in predicted_errors([place], steps, etas, alpha, of_loss=False)]
    squares = np.array([(own.sgd, own.asgd) for own in errors])
    for k, n in enumerate(steps):
        a, e, j = np.unravel_index(np.nanargmin(squares[..., k]), squares.shape[:-1])
        error, estimator = math.sqrt(squares[a, e, j, k]), ("last iterate", "average")[e]
        yield n, f"{etas[j]:.2g}", fraction(alphas[a]), estimator, f"{error:.2g}"
