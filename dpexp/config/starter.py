"""A first config to edit: every key of a problem and an algorithm with its default, what it means and what it takes."""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.near_the_optimum import is_flat, local, predicted_errors
from dpexp.config.cell_of_sections import problems_of
from dpexp.config.cells import RunSettings
from dpexp.config.error_messages import suggest
from dpexp.config.experiment_file import read_experiment
from dpexp.config.fields import field, in_words, meanings, takes_a_list
from dpexp.config.reader import REGISTRIES, parameters_of
from dpexp.config.yamlfile import ConfigError, Issue
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Parameters
from dpexp.core.scalars import yaml_in_line
from dpexp.core.text import fraction
from dpexp.privacy.budgets import ConstantBudget, PrivacySettings
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem

USERS = (20_000, 300_000, 3_000_000)
EXPONENTS = (1 / 3, 1 / 2, 2 / 3)
FRACTIONS = np.geomspace(1e-3, 1.5, 31)
"""step sizes that are compared, in units of 1 / M: beyond 2 / M the linear iteration diverges"""
COLUMN, WIDTH = 34, 118
"""where comments begin, and where they end"""
BUDGETS: Sequence[Mapping[str, Any]] = ({"mu": 1}, {"eps": 1, "delta": 1e-5}, {"mu": math.inf})
"""budgets that are tried in turn: one for every user, a target for the whole run, and none"""
BATCHES = (250, 64, 16, 4, 1)
"""batch sizes that are tried in turn: no batch is larger than the data"""
STEPS: Sequence[Mapping[str, Any]] = ({}, {"n": 20_000})
"""some algorithms know their number of steps, the others need it"""
HEAD = """\
# {algorithm} on {problem}, drafted by `dpexp init`.

# `dpexp validate FILE` checks this, `dpexp run FILE` computes it, and `dpexp plot NAME` draws the results.
# A list in place of a value runs each of them: alpha: [1/3, 1/2, 1]. A key that is left out has this value.
"""
IF_ADDED = (
    "# Or state about how many there are, a public number that is not counted here. Then sampling: poisson, for",
    "# records that are added or removed, is private too, with less noise:",
    "# records: NUMBER",
)
Sections = dict[str, dict[str, Any]]


class Draft(NamedTuple):
    """A source of data, and what a user should add to it, as lines of YAML in which values are to be filled in."""

    source: Mapping[str, Any]
    template: tuple[str, ...]


def starter(
    problem: str | None, algorithm: str | None, data: Draft | None = None, experiment: str = "my_experiment"
) -> str:
    """A config that validates, with comments.

    Without a name the first algorithm that runs on the problem is taken, and the first problem that it runs on.
    Raises UsageError for names that are not there or do not go together.
    """
    for section, name in (("problem", problem), ("algorithm", algorithm)):
        if name is not None and name not in REGISTRIES[section]:
            raise UsageError(f"unknown {section} '{name}'", suggest(name, REGISTRIES[section]))
    complaints: list[Issue] = []
    for sections in _candidates(problem, algorithm, data.source if data else None):
        text = _written(experiment, sections, (*data.template, *IF_ADDED) if data else ())
        try:
            # blanks of a table are the user's to fill
            read_experiment(text.replace("[ONE, OTHER]", "[0, 1]"), "starter.yaml")
        except ConfigError as error:
            complaints.append(error.issues[0])
        else:
            return text
    if data and complaints:  # of the most usual config with small batches: what is wrong then is wrong with the records
        issue = complaints[min(len(BATCHES), len(complaints)) - 1]
        raise UsageError(issue.message, issue.hint)
    if problem and algorithm:
        names = ", ".join(problems_of(ALGORITHMS[algorithm]))
        raise UsageError(f"algorithm '{algorithm}' does not run on problem '{problem}'", f"it runs on: {names}")
    hint = "start from a shipped config: dpexp init --from linear_d5"
    raise UsageError(f"no starter for {problem or algorithm}", hint)


def _candidates(problem: str | None, algorithm: str | None, data: Mapping[str, Any] | None) -> Iterator[Sections]:
    """Configs that may be valid, the most usual first: registries are in the order in which a newcomer meets them."""
    # On a user's own records one replicate is released; their number is public where they are replaced.
    run = {"replicates": 1 if data else 20, "seed": 1}
    for a in [algorithm] if algorithm else ALGORITHMS:
        fields = parameters_of(ALGORITHMS[a]).model_fields
        batches: list[dict[str, Any]] = [{}]
        if data and "batch_size" in fields:
            batches = [
                {"batch_size": size} | ({"sampling": "fixed-size"} if "sampling" in fields else {}) for size in BATCHES
            ]
        names = [p for p in problems_of(ALGORITHMS[a]) if problem in (None, p)]
        budgets = BUDGETS[1:] if data else BUDGETS
        for p, schedule, budget, steps, batch in product(names, ALGORITHMS[a].schedules, budgets, STEPS, batches):
            yield {
                "problem": {"name": p} | ({"data": data} if data else {}),
                "algorithm": {"name": a, **batch},
                "schedule": {"name": schedule},
                "privacy": dict(budget),
                "run": {**steps, **run},
            }


def _written(experiment: str, sections: Sections, template: Sequence[str]) -> str:
    """The sections with all their keys, one line each; below the data, what the user should add there."""
    # Keys, defaults and meanings come from the classes: a draft cannot fall behind them.
    problem, algorithm, schedule = (sections[section]["name"] for section in REGISTRIES)
    taken, solver = PROBLEMS[problem], ALGORITHMS[algorithm]
    others = {
        "schedule": list(solver.schedules),
        "problem": problems_of(solver),
        "algorithm": [name for name, kind in ALGORITHMS.items() if issubclass(taken, kind.runs_on)],
    }
    lines = [*HEAD.format(problem=problem, algorithm=algorithm).splitlines()]
    lines += _line(f"experiment: {experiment}", "names the folder of the results")
    for section, registry in REGISTRIES.items():
        own = parameters_of(registry[sections[section]["name"]])
        about = " ".join((inspect.getdoc(own) or "").partition("\n\n")[0].split())
        names = ", ".join(name for name in others[section] if name != sections[section]["name"])
        lines += ["", *_line(f"{section}:", about.partition(". ")[0].rstrip("."))]
        lines += _keys(own, sections[section], f"or {names}" * bool(names), template)
    if algorithm == "ldp-sgd" and schedule == "power":
        lines += [f"  # {line}" for line in _step_sizes(problem, sections["privacy"]["mu"])]
    lines += ["", "privacy:"]
    for key, value in sections["privacy"].items():
        lines += _line(f"  {key}: {yaml_in_line(value)}", meanings(PrivacySettings)[key])
    return "\n".join([*lines, "", "run:", *_keys(RunSettings, sections["run"])]) + "\n"


def _step_sizes(problem: str, mu: float) -> Iterator[str]:
    """The best step sizes by the linearised recursion, for some numbers of users; none where no curvature is known."""
    kind = PROBLEMS[problem].model_validate({})
    if not isinstance(kind, LinearPredictorProblem) or not kind.knows_curvature or is_flat(kind):
        return
    place = local(kind, ConstantBudget(mu=mu))
    etas = FRACTIONS / np.linalg.eigvalsh(place.hessian)[-1]
    yield f"Theory (the linearised recursion) recommends for mu = {mu:g}, in root mean square distance:"
    for n in USERS:
        candidates = []
        for alpha in EXPONENTS:
            (errors,) = predicted_errors([place], np.array([n]), etas, alpha, of_loss=False)
            for estimator, squares in (("last iterate", errors.sgd[:, 0]), ("average", errors.asgd[:, 0])):
                k = int(np.nanargmin(squares))
                candidates.append((float(squares[k]), estimator, float(etas[k]), alpha))
        square, estimator, eta, alpha = min(candidates)
        yield f"  n = {n}: eta: {eta:.2g}, alpha: {fraction(alpha)} and the {estimator}: {math.sqrt(square):.2g}"


def _keys(
    kind: type[Parameters], values: Mapping[str, Any], names: str = "", template: Sequence[str] = ()
) -> Iterator[str]:
    """Every key of a class with the value given or its default, and what it is; a comment where there is no value."""
    for key, info in kind.model_fields.items():
        value = values.get(key, None if info.is_required() else info.get_default(call_default_factory=True))
        list_is_one = " (a list is one value)" * takes_a_list(kind, key)
        takes = names if key == "name" else in_words(field(kind, key)) + list_is_one
        comment = "; ".join(filter(None, (meanings(kind).get(key), takes)))
        if value is None:
            yield from [] if info.is_required() else _line(f"  # {key}: ", comment)
        elif isinstance(value, Mapping) and value:
            yield from _line(f"  {key}:", comment)
            yield from (f"    {inner}: {yaml_in_line(v)}" for inner, v in value.items())
            yield from (f"    {line}" for line in template)
        else:
            # Of a part with keys of its own only what is not the default.
            own = value.model_dump(exclude_none=True, exclude_defaults=True) if isinstance(value, Parameters) else value
            yield from _line(f"  {key}: {yaml_in_line(own)}", comment)


def _line(text: str, comment: str) -> list[str]:
    """A line of YAML with its comment, which continues below where it is long."""
    if not comment:
        return [text]
    # At least forty letters, however long the value is.
    first, *rest = textwrap.wrap(comment, max(40, WIDTH - max(COLUMN, len(text) + 2) - 2))
    beside = f"{text:<{COLUMN}}" if len(text) < COLUMN else f"{text}  "
    return [f"{beside}# {first}", *(" " * COLUMN + f"# {more}" for more in rest)]
