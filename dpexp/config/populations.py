"""The section `population:` of a config: its sweeps, and its place in the problem's parameters.

(a) A list sweeps at any depth, but where a key takes a list itself: there a list of lists sweeps. So
`coefficients: [1, 2]` is one vector, and `errors: {law: t, df: [3, 5]}` two populations.
(b) One population has one form: what the short forms of the problem (`d`, `sigma_z`, `beta`, `sigma`) can say is said
by them, so that cells keep their ids in either spelling; anything else is the parameter `population`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from pydantic import ValidationError

from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cells import Cell
from dpexp.config.error_messages import explain
from dpexp.config.yamlfile import Position, Tree
from dpexp.core.parameters import Parameters
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.population import Population

POPULATION = "population"
LISTS = {"coefficients": 1, "slopes": 1, "correlation": 2, "p": 1, "columns": 1, "heteroscedastic": 1}
"""depth of the lists that these keys take"""
SHORT = ("d", "sigma_z", "beta")
MOST_COLUMNS = 1000
"""of rows with a law of their own, as `dpexp.problems.row_rules` takes"""


def expanded(tree: Tree, key: str = "") -> list[Tree]:
    """(a): every population that a section says."""
    if isinstance(tree.value, tuple):
        rules = key != "columns" and any(isinstance(item, dict) for item in tree.value)
        if rules or _depth(tree.value) > LISTS.get(key, 0):
            return [variant for item in tree.items() for variant in expanded(item, key)]
        if key == "columns":
            return [tree.joined(items) for items in product(*map(expanded, tree.items()))]
    if not isinstance(tree.value, dict):
        return [tree]
    parts = [expanded(inner, name) for name, inner in tree.parts().items()]
    return [tree.joined(dict(zip(tree.value, items, strict=True))) for items in product(*parts)]


def _depth(value: Any) -> int:
    """How many lists are in one another."""
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple) else 0


def alternatives(
    kind: type[Parameters], problem: Tree, section: Tree, report: Callable[[Position, str, str], None]
) -> list[dict[str, Any]]:
    """Parameters of the problem, one mapping for every population that the section says; what is wrong is reported."""
    if not issubclass(kind, LinearPredictorProblem) or not kind.populations:
        report(section.at(), "this problem does not take a population", "leave out `population`")
        return []
    if not isinstance(section.value, dict | tuple):
        report(section.at(), "'population' must be a mapping", "for instance population: {d: 5, weights: none}")
        return []
    options = []
    for variant in expanded(section):
        for key in (*SHORT, *(("sigma", "support") if "errors" in variant else ())):
            if key in problem:
                report(problem.key(key), f"'problem.{key}' is said by 'population' too", "keep it in population")
        try:
            population = Population.model_validate(variant.value, strict=True)
        except ValidationError as error:
            for issue in explain(error, POPULATION, variant, ""):
                report(issue.where, issue.message, issue.hint)
            continue
        if kind.labels and population.errors is not None:
            message = "the responses are labels: errors have no meaning"
            hint = "leave out `errors`; `response: {link: probit}` changes the law of labels"
            report(variant.key("errors"), message, hint)
        elif population.response is not None and not kind.labels:
            report(variant.key("response"), "a link is of labels, and this problem has none", "leave out `response`")
        elif POPULATION in (values := _parameters(kind, population)) and population.width > MOST_COLUMNS:
            message = f"'population' has {population.width:,} columns; rows of at most {MOST_COLUMNS:,} are integrated"
            report(variant.at("d"), message, "take fewer columns, or the laws that the keys of the problem name")
        else:
            options.append(values)
    return options


def described(cells: Sequence[Cell]) -> list[str]:
    """One line for every population of these cells: theta*, what it was computed by, and how flat the risk is there."""
    from dpexp.problems.population_means import clipped_optimum, places_of

    lines: dict[str, None] = {}
    for cell in cells:
        problem, algorithm = cell.problem, cell.algorithm
        if not isinstance(problem, LinearPredictorProblem) or problem.population is None:
            continue
        curvature, rows = problem.curvature(), places_of(problem).rows
        ends = f"{curvature.m:.4g} to {curvature.M:.4g}"
        text = f"theta* = {_numbers(problem.optimum())}; Hessian eigenvalues {ends}; "
        text += f"|w(x) x| <= {problem.longest_row:.4f}; sensitivity {_sensitivity(algorithm, problem):.4f}; "
        text += f"relative error of means over rows {rows.error:.0e}"
        if problem.labels and isinstance(algorithm, ClippedLdpSgd):
            clip = algorithm.clip
            text += f"; clipped to {clip:g} the mean gradient is 0 at {_numbers(clipped_optimum(problem, clip))}"
        lines[text] = None
    return list(lines)


def _sensitivity(algorithm: Algorithm, problem: LinearPredictorProblem) -> float:
    if isinstance(algorithm, OnePassAlgorithm):
        return algorithm.sensitivities(problem).exact
    return problem.exact_sensitivity()


def _numbers(theta: np.ndarray) -> str:
    return ", ".join(f"{value:.4f}" for value in theta)


def _parameters(kind: type[LinearPredictorProblem], population: Population) -> dict[str, Any]:
    """(b)"""
    has_sigma = "sigma" in kind.model_fields
    short = population.short
    if short is not None and (has_sigma or "sigma" not in short):
        return dict(short)
    errors = population.errors
    if has_sigma and errors is not None and errors.law == "normal" and errors.heteroscedastic is None:
        return {"sigma": errors.size, POPULATION: population.model_copy(update={"errors": None})}
    return {POPULATION: population}
