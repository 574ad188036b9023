"""One point of the grid of a config: its sections together are a cell, or do not go together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cells import SECTIONS, Cell, RunSettings, smoke
from dpexp.config.error_messages import explain
from dpexp.config.fields import field, in_words
from dpexp.config.populations import POPULATION
from dpexp.config.yamlfile import ConfigError, Issue, NotChecked, Tree
from dpexp.core.errors import UsageError
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.problem import Problem

MOST_STEPS = 10**12
"""as `run.n` may be"""


class Part(NamedTuple):
    """A section at one point of its lists: as it is written, and what it is."""

    tree: Tree
    value: Any


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]


def cell_of(experiment: str, point: Mapping[str, Part], profile: str, trusted: bool) -> Cell:
    """The cell of one point. Raises ConfigError with what does not go together, and NotChecked."""
    problem, algorithm, schedule, privacy, run = (point[section].value for section in SECTIONS)
    trees = {section: part.tree for section, part in point.items()}
    # Asked in this order: the algorithm's own questions take parts for granted that go together.
    _require(_incompatible(problem, algorithm, schedule.name, trees))
    if not trusted and problem.files():
        message = f"not checked: reads {', '.join(problem.files())}"
        raise NotChecked([Issue(trees["problem"].at(), message, "a list opens no data that a config names")])
    try:
        problem.prepare()
    except UsageError as error:
        # at the place that names the records
        raise ConfigError([Issue(trees["problem"].at("data"), error.message, error.hint)]) from None
    if "n" not in trees["run"]:
        run = _with_steps(trees["run"], algorithm.steps(problem, schedule, privacy.mu), trees["algorithm"])
    if privacy.mu.pure_eps is not None and not algorithm.pure_budgets:
        message = f"'{algorithm.name}' takes no eps with delta = 0, which is of users who send one message each"
        raise ConfigError([Issue(trees["privacy"].at("delta"), message, "ldp-sgd, or a delta above 0")])
    issues = []
    for complaint in algorithm.complaints(problem, schedule, privacy.mu, run.n):
        message, _, hint = complaint.partition("\n")
        key = re.search(r"'population\.(\w+)'", message)
        where = trees[POPULATION].at(key[1]) if key and POPULATION in trees else trees["algorithm"].at()
        issues.append(Issue(where, message, hint))
    _require([*issues, *_unknown_coefficients(problem, algorithm, run, trees["run"])])
    # After everything was asked at full size, which is what the config says.
    run = smoke(run, algorithm.smoke_size) if profile == "smoke" else run
    return Cell(experiment, problem, algorithm, schedule, privacy, run)


def _require(issues: Iterator[Issue] | list[Issue]) -> None:
    if found := list(issues):
        raise ConfigError(found)


def _with_steps(run: Tree, n: int | None, algorithm: Tree) -> RunSettings:
    """The section `run` with the number of steps that the algorithm knows."""
    if n is None:
        raise ConfigError([Issue(run.at(), "'run.n' is missing", f"allowed: {in_words(field(RunSettings, 'n'))}")])
    if n > MOST_STEPS:
        message = f"that makes {n:.3g} steps; at most {MOST_STEPS:.0e}"
        raise ConfigError([Issue(algorithm.at(), message, "fewer epochs")])
    try:
        return RunSettings.model_validate({**run.value, "n": n})
    except ValidationError as error:
        raise ConfigError(explain(error, "run", run, RunSettings)) from None


def _incompatible(problem: Problem, algorithm: Algorithm, schedule: str, trees: Mapping[str, Tree]) -> Iterator[Issue]:
    """A problem, a population or a schedule that the algorithm does not take."""
    if not isinstance(problem, algorithm.runs_on):
        message = f"algorithm '{algorithm.name}' does not run on problem '{problem.name}'"
        yield Issue(trees["problem"].at(), message, f"it runs on: {', '.join(problems_of(algorithm))}")
    populated = isinstance(problem, LinearPredictorProblem) and problem.population is not None
    if populated and not algorithm.populations:
        names = [name for name, kind in ALGORITHMS.items() if kind.populations]
        message = f"algorithm '{algorithm.name}' does not take a population"
        yield Issue(trees["algorithm"].at(), message, f"these do: {', '.join(names)}")
    elif schedule not in algorithm.schedules:
        message = f"algorithm '{algorithm.name}' does not take schedule '{schedule}'"
        yield Issue(trees["schedule"].at(), message, f"it takes: {', '.join(algorithm.schedules)}")


def _unknown_coefficients(problem: Problem, algorithm: Algorithm, settings: RunSettings, run: Tree) -> Iterator[Issue]:
    """Coefficients that a run cannot record."""
    if not (isinstance(problem, LinearPredictorProblem) and isinstance(algorithm, OnePassAlgorithm)):
        if settings.coefficients:
            message = f"algorithm '{algorithm.name}' on problem '{problem.name}' has no coefficients to record"
            yield Issue(run.at("coefficients"), message, "leave out `coefficients`")
        return
    known = {"all", *range(problem.d + 1), *["scale"] * problem.has_scale}
    hint = f"0 is the intercept, 1 to {problem.d} the slopes" + ", scale the scale" * problem.has_scale
    for place, entry in enumerate(settings.coefficients):
        if entry not in known:
            yield Issue(run.at("coefficients", place), f"'run.coefficients': there is no coefficient {entry}", hint)
