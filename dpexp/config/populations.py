"""The section `population:` of a config: its sweeps, and its place in the problem's parameters.

(a) A list sweeps at any depth, but where a key takes a list itself: there a list of lists sweeps. So
`coefficients: [1, 2]` is one vector, and `errors: {law: t, df: [3, 5]}` two populations.
(b) One population has one form: what the short forms of the problem (`d`, `sigma_z`, `beta`, `sigma`) can say is said
by them, so that cells keep their ids in either spelling; anything else is the parameter `population`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from pydantic import ValidationError

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cells import Cell
from dpexp.config.error_messages import explain
from dpexp.config.yamlfile import Issue, Keys, Located
from dpexp.core.parameters import Parameters
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.population import Population

POPULATION = "population"
LISTS = {"coefficients": 1, "slopes": 1, "correlation": 2, "p": 1, "columns": 1, "heteroscedastic": 1}
"""depth of the lists that these keys take"""
SHORT = ("d", "sigma_z", "beta")
MAX_COLUMNS = 1000
"""of rows with a law of their own, as `dpexp.problems.row_rules` takes"""


def expanded(section: Located, keys: Keys = (), path: Keys = ()) -> list[tuple[Any, dict[Keys, Keys]]]:
    """(a): every population that a section says, with the path in the file of all that is taken from a list."""
    value, path = section.value, path or section.path(keys)
    name = keys[-1] if keys else ""
    if isinstance(value, tuple):
        rules = name != "columns" and any(isinstance(item, dict) for item in value)
        if rules or _depth(value) > LISTS.get(str(name), 0):
            several = []
            for k, item in enumerate(value):
                inner = expanded(Located(item, section.marks, section.paths), keys, (*path, k))
                several += [(variant, {keys: (*path, k), **paths}) for variant, paths in inner]
            return several
    if not isinstance(value, dict) and not (isinstance(value, tuple) and name == "columns"):
        return [(value, {})]
    parts = value if isinstance(value, dict) else dict(enumerate(value))
    options = [
        expanded(Located(inner, section.marks, section.paths), (*keys, k), (*path, k) if keys else ())
        for k, inner in parts.items()
    ]
    variants = []
    for choice in product(*options):
        paths = {moved: place for _, inner in choice for moved, place in inner.items()}
        values = [inner for inner, _ in choice]
        variants.append((dict(zip(parts, values, strict=True)) if isinstance(value, dict) else tuple(values), paths))
    return variants


def _depth(value: Any) -> int:
    """How many lists are in one another."""
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple) else 0


def with_populations(
    kind: type[Parameters], points: list[Located], problem: Located, section: Located, issues: list[Issue]
) -> list[Located]:
    """Every point of a problem with every population that the section says; mistakes are reported."""
    if not issubclass(kind, LinearPredictorProblem) or not kind.populations:
        issues.append(Issue(section.at(), "this problem does not take a population", "leave out `population`"))
        return points
    if not isinstance(section.value, dict | tuple) or section.value == ():
        hint = "for instance population: {d: 5, weights: none}"
        issues.append(Issue(section.at(), "'population' must be a mapping", hint))
        return points
    options = []
    for value, paths in expanded(section):
        variant = Located(value, section.marks, {**section.paths, **paths})
        wrong = [
            Issue(problem.key(key), f"'problem.{key}' is also set in 'population'", "keep it in population")
            for key in (*SHORT, *(("sigma", "support") if "errors" in value else ()))
            if key in problem.value
        ]
        try:
            population = Population.model_validate(value, strict=True)
            own = _parameters(kind, population)
            wrong += _misfits(kind, population, own, variant)
        except ValidationError as error:
            wrong += explain(error, POPULATION, variant, "")
        issues += wrong
        if not wrong:
            moved: dict[Keys, Keys] = {(key,): section.path(()) for key in own}
            options.append([Located(p.value | own, p.marks, {**p.paths, **moved}) for p in points])
    return [point for several in zip(*options, strict=True) for point in several]


def _misfits(
    kind: type[LinearPredictorProblem], population: Population, own: dict[str, Any], variant: Located
) -> Iterator[Issue]:
    """Parts of a population that do not go with its problem."""
    if kind.labels and population.errors is not None:
        message = "the responses are labels: errors have no meaning"
        hint = "leave out `errors`; `response: {link: probit}` changes the law of labels"
        yield Issue(variant.key("errors"), message, hint)
    elif population.response is not None and not kind.labels:
        message = "a link is of labels, and this problem has none"
        yield Issue(variant.key("response"), message, "leave out `response`")
    elif POPULATION in own and population.width > MAX_COLUMNS:
        message = f"'population' has {population.width:,} columns; rows of at most {MAX_COLUMNS:,} are integrated"
        hint = "take fewer columns, or the laws that the keys of the problem name"
        yield Issue(variant.at("d"), message, hint)


def _parameters(kind: type[LinearPredictorProblem], population: Population) -> dict[str, Any]:
    """(b)"""
    has_sigma, short, errors = "sigma" in kind.model_fields, population.short, population.errors
    if short is not None and (has_sigma or "sigma" not in short):
        return dict(short)
    if has_sigma and errors is not None and errors.law == "normal" and errors.heteroscedastic is None:
        return {"sigma": errors.size, POPULATION: population.model_copy(update={"errors": None})}
    return {POPULATION: population}


def described(cells: Sequence[Cell]) -> list[str]:
    """One line for every population of these cells: theta*, how it was computed, and how flat the risk is there."""
    from dpexp.problems.population_means import clipped_optimum, places_of

    lines = dict[str, None]()
    for problem, algorithm in ((cell.problem, cell.algorithm) for cell in cells):
        if not isinstance(problem, LinearPredictorProblem) or problem.population is None:
            continue
        sensitivity = problem.exact_sensitivity()
        if isinstance(algorithm, OnePassAlgorithm):
            sensitivity = algorithm.sensitivities(problem).exact
        optimum, curvature = ", ".join(f"{v:.4f}" for v in problem.optimum()), problem.curvature()
        text = f"theta* = {optimum}; Hessian eigenvalues {curvature.m:.4g} to {curvature.M:.4g}; "
        text += f"|w(x) x| <= {problem.longest_row:.4f}; sensitivity {sensitivity:.4f}; "
        text += f"relative error of means over rows {places_of(problem).rows.error:.0e}"
        if problem.labels and isinstance(algorithm, ClippedLdpSgd):
            theta = ", ".join(f"{v:.4f}" for v in clipped_optimum(problem, algorithm.clip))
            text += f"; clipped to {algorithm.clip:g} the mean gradient is 0 at {theta}"
        lines[text] = None
    return list(lines)
