"""The section `population:` of a config: its sweeps, and its place in the problem's parameters.

(a) A list sweeps at any depth, but where a key takes a list itself: there a list of lists sweeps. So
`coefficients: [1, 2]` is one vector, and `errors: {law: t, df: [3, 5]}` two populations.
(b) One population has one form: what the short forms of the problem (`d`, `sigma_z`, `beta`, `sigma`) can say is said
by them, so that cells keep their ids in either spelling; anything else is the parameter `population`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from pydantic import ValidationError

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cells import Cell
from dpexp.config.messages import explain
from dpexp.config.yamlfile import Issue, Located
from dpexp.core.parameters import Parameters
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.population import Faults, Population

POPULATION = "population"
LISTS = {"coefficients": 1, "slopes": 1, "correlation": 2, "p": 1, "columns": 1, "heteroscedastic": 1}
"""depth of the lists that these keys take"""
SHORT = ("d", "sigma_z", "beta")


def expanded(value: Located, key: str = "") -> list[Located]:
    """(a): every population that a section says."""
    if isinstance(value.value, list):
        rules = key != "columns" and any(item.is_mapping for item in value.value)
        if rules or _depth(value) > LISTS.get(key, 0):
            return [one for item in value.value for one in expanded(item, key)]
        if key == "columns":
            return [replace(value, value=list(items)) for items in product(*map(expanded, value.value))]
        return [value]
    if not value.is_mapping:
        return [value]
    parts = [expanded(inner, name) for name, inner in value.value.items()]
    return [replace(value, value=dict(zip(value.value, items, strict=True))) for items in product(*parts)]


def _depth(value: Located) -> int:
    """How many lists stand in one another."""
    return 1 + max(map(_depth, value.value), default=0) if isinstance(value.value, list) else 0


def alternatives(
    kind: type[Parameters], problem: Located, given: Located, report: Callable[[Issue], None]
) -> list[dict[str, Any]]:
    """Parameters of the problem, one mapping for every population that the section says; what is wrong is reported."""
    if not issubclass(kind, LinearPredictorProblem) or not kind.populations:
        report(Issue(given.where, "this problem does not take a population", "leave out `population`"))
        return []
    if not given.is_mapping and not isinstance(given.value, list):
        report(Issue(given.where, "'population' must be a mapping", "for instance population: {d: 5, weights: none}"))
        return []
    found = []
    for one in expanded(given):
        for key in (*SHORT, *(("sigma", "support") if one.is_mapping and "errors" in one.value else ())):
            if key in problem.value:
                report(
                    Issue(problem.keys[key], f"'problem.{key}' is said by 'population' too", "keep it in population")
                )
        try:
            population = Population.model_validate(one.plain(), strict=True)
        except ValidationError as error:
            for issue in _issues(error, one):
                report(issue)
            continue
        if kind.labels and population.errors is not None:
            message = "the responses are labels: errors have no meaning"
            hint = "leave out `errors`; `response: {link: probit}` changes the law of labels"
            report(Issue(one.keys["errors"], message, hint))
        elif population.response is not None and not kind.labels:
            report(
                Issue(one.keys["response"], "a link is of labels, and this problem has none", "leave out `response`")
            )
        else:
            found.append(_parameters(kind, population))
    return found


def described(cells: Sequence[Cell]) -> list[str]:
    """One line for every population of these cells: theta*, what it was computed by, and how flat the risk is there."""
    from dpexp.problems.population_means import clipped_optimum, optimum_of

    found: dict[str, None] = {}
    for cell in cells:
        problem, algorithm = cell.problem, cell.algorithm
        if not isinstance(problem, LinearPredictorProblem) or problem.population is None:
            continue
        assert isinstance(algorithm, OnePassAlgorithm)  # no other takes a population
        best = optimum_of(problem)
        eigenvalues = np.linalg.eigvalsh(best.hessian)
        ends = f"{eigenvalues[0]:.4g} to {eigenvalues[-1]:.4g}"
        text = f"theta* = {_numbers(best.theta)}; Hessian eigenvalues {ends}; |w(x) x| <= {problem.longest_row:.4f}; "
        text += f"sensitivity {algorithm.sensitivities(problem).exact:.4f}; "
        text += f"relative error of means over rows {best.error:.0e}"
        if problem.labels and isinstance(algorithm, ClippedLdpSgd):
            clip = algorithm.clip
            text += f"; clipped to {clip:g} the mean gradient is 0 at {_numbers(clipped_optimum(problem, clip))}"
        found[text] = None
    return list(found)


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


def _issues(error: ValidationError, given: Located) -> list[Issue]:
    found: list[Issue] = []
    for detail in error.errors():
        wrong = detail.get("ctx", {}).get("error")
        if isinstance(wrong, Faults):
            for fault in wrong.faults:
                found.append(Issue(_deepest(given, fault.path).where, f"{fault.place} {fault.message}", fault.hint))
    if found:
        return found
    first = error.errors()[0]
    # tags of alternatives are no keys of the config
    words = [
        part for part in first["loc"] if isinstance(part, str) and part not in ("number", "list", "mapping", "word")
    ]
    if first["type"] in ("extra_forbidden", "missing"):
        words = words[:-1]
    return list(explain(error, ".".join([POPULATION, *words]), given))


def _deepest(value: Located, path: tuple[str | int, ...]) -> Located:
    """What the path reaches, or the last place on the way that is there."""
    for part in path:
        inner = value.value
        if isinstance(inner, Mapping) and part in inner:
            value = inner[part]
        elif isinstance(inner, list) and isinstance(part, int) and part < len(inner):
            value = inner[part]
        else:
            break
    return value
