"""The sections of a config: what a case lays over them, budgets, and whether all of them go together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cells import SECTIONS, Cell
from dpexp.config.error_messages import explain, suggest
from dpexp.config.populations import POPULATION
from dpexp.config.yamlfile import ConfigError, Issue, Located, config_error
from dpexp.core.errors import UsageError
from dpexp.privacy.budgets import BUDGETS, Budget, ConstantBudget, PrivacySettings, PureBudget, Target
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem

REPLACED = {"mu": ("eps", "delta", "message"), "eps": ("mu",)}
"""keys of privacy that one of these replaces"""
LAW_EXAMPLES = (
    "for instance 2, inf, {uniform: [1, 2]}, {list: [0.5, 1]}, {choice: {values: [1, 2], probabilities: [1/2, 1/2]}}"
)
MAX_STEPS = 10**12
"""as `run.n` may be"""


class Part(NamedTuple):
    """A section at one point of its lists: as it is written, and its value."""

    written: Located
    value: Any


def laid_over(base: Any, over: Any) -> Any:
    """The section `base` with the keys of `over`; a new name starts afresh, and so does a new kind of budget."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    # Parameters of one algorithm mean nothing to another.
    if {"name"} <= base.keys() & over.keys() and base["name"] != over["name"]:
        return over
    replaced = {key for name, keys in REPLACED.items() if name in over for key in keys}
    return {key: value for key, value in base.items() if key not in replaced} | over


def privacy_of(section: Located) -> PrivacySettings:
    """The section `privacy:` as a value: budgets of users or a target. Raises ConfigError with all mistakes."""
    value, issues = section.value, list[Issue]()
    for key, wrong, message, hint in (
        ("eps", "mu" in value, "give 'privacy.mu' or 'privacy.eps', not both", "eps comes with delta"),
        ("delta", "eps" not in value, "'privacy.delta' belongs to 'privacy.eps'", "for instance eps: 1"),
        ("message", value.get("delta") != 0, "'privacy.message' belongs to eps with delta: 0", "leave out `message`"),
    ):
        if key in value and wrong:
            issues.append(Issue(section.key(key), message, hint))
    if "mu" not in value and value.get("eps") is None:
        issues.append(Issue(section.at("eps"), "'privacy.mu' is missing", "write `mu: inf` for no privacy"))
    changes: dict[str, object] = {"mu": ConstantBudget(mu=1.0)}  # of a target, until its numbers are known to be such
    try:
        changes = {"mu": _budget(section)} if "mu" in value else changes
    except ConfigError as error:
        issues += error.issues
    try:
        settings = PrivacySettings.model_validate({**value, **changes})
        if settings.eps is not None and settings.delta == 0:
            changes = {"mu": PureBudget(eps=settings.eps)}
        elif settings.eps is not None:
            # Epsilon is reported at the delta of the target.
            delta = 1e-5 if settings.delta is None else settings.delta
            deltas = settings.deltas if "deltas" in value else (delta,)
            changes = {"mu": Target(eps=settings.eps, delta=delta), "delta": delta, "deltas": deltas}
    except ValidationError as error:
        issues += explain(error, "privacy", section, PrivacySettings)
    if issues:
        raise ConfigError(issues)
    return settings.model_copy(update=changes)


def _budget(section: Located) -> Budget:
    """A budget of the users: a number, or a mapping with one known law. Raises ConfigError."""
    mu, law = section.value["mu"], "constant"
    if isinstance(mu, dict):
        laws = [name for name in BUDGETS if name != law]
        unknown = [key for key in mu if key not in laws]
        wrong = [Issue(section.key("mu", k), f"unknown law of budgets '{k}'", suggest(k, laws)) for k in unknown]
        if wrong or len(mu) != 1:
            raise ConfigError(wrong or [Issue(section.at("mu"), "'privacy.mu' needs exactly one law", LAW_EXAMPLES)])
        (law,) = mu
    inside = () if law == "constant" else ("mu",)
    try:
        return BUDGETS[law].model_validate(mu if inside else {"mu": mu})
    except ValidationError as error:
        raise ConfigError(explain(error, "privacy", section, LAW_EXAMPLES, inside)) from None


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]


def cell_of(experiment: str, point: Mapping[str, Part], profile: str) -> Cell:
    """The cell of one point. Raises ConfigError with what does not go together."""
    problem, algorithm, schedule, privacy, run = (point[section].value for section in SECTIONS)
    written = {section: part.written for section, part in point.items()}
    # In this order: an algorithm's own complaints take for granted that the parts go together.
    if issues := list(_incompatible(problem, algorithm, schedule, written)):
        raise ConfigError(issues)
    try:
        problem.prepare()
    except UsageError as error:
        # at the place that names the records
        raise config_error(written["problem"].at("data"), error.message, error.hint) from None
    if "n" not in written["run"].value:
        n = algorithm.steps(problem, schedule, privacy.mu)
        if n is None:
            raise config_error(written["run"].at(), "'run.n' is missing", "the number of steps: n: 10000")
        if n > MAX_STEPS:
            message = f"that makes {n:.3g} steps; at most {MAX_STEPS:.0e}"
            raise config_error(written["algorithm"].at(), message, "fewer epochs")
        run = run.model_copy(update={"n": n})
    if privacy.mu.pure_eps is not None and not algorithm.pure_budgets:
        message = f"'{algorithm.name}' takes no eps with delta = 0, which is of users who send one message each"
        raise config_error(written["privacy"].at("delta"), message, "ldp-sgd, or a delta above 0")
    for complaint in algorithm.complaints(problem, schedule, privacy.mu, run.n):
        message, _, hint = complaint.partition("\n")
        key = re.search(r"'population\.(\w+)'", message)
        where = written[POPULATION].at(key[1]) if key and POPULATION in written else written["algorithm"].at()
        issues.append(Issue(where, message, hint))
    if isinstance(problem, LinearPredictorProblem) and isinstance(algorithm, OnePassAlgorithm):
        known = {"all", *range(problem.d + 1), *["scale"] * problem.has_scale}
        hint = f"0 is the intercept, 1 to {problem.d} the slopes" + ", scale the scale" * problem.has_scale
        for place, entry in enumerate(run.coefficients):
            if entry not in known:
                message = f"'run.coefficients': there is no coefficient {entry}"
                issues.append(Issue(written["run"].at("coefficients", place), message, hint))
    elif run.coefficients:
        message = f"algorithm '{algorithm.name}' on problem '{problem.name}' has no coefficients to record"
        issues.append(Issue(written["run"].at("coefficients"), message, "leave out `coefficients`"))
    if issues:
        raise ConfigError(issues)
    # After all checks at full size, which is what the config says.
    if profile == "smoke":
        toy = dict(zip(("n", "replicates", "checkpoints"), (*algorithm.smoke_size, 20), strict=True))
        run = run.model_copy(update={key: min(getattr(run, key), size) for key, size in toy.items()})
    return Cell(experiment, problem, algorithm, schedule, privacy, run)


def _incompatible(problem: Any, algorithm: Any, schedule: Any, written: Mapping[str, Located]) -> Iterator[Issue]:
    """A problem, a population or a schedule that the algorithm does not take."""
    if not isinstance(problem, algorithm.runs_on):
        message = f"algorithm '{algorithm.name}' does not run on problem '{problem.name}'"
        yield Issue(written["problem"].at(), message, f"it runs on: {', '.join(problems_of(algorithm))}")
    populated = isinstance(problem, LinearPredictorProblem) and problem.population is not None
    if populated and not algorithm.populations:
        names = [name for name, kind in ALGORITHMS.items() if kind.populations]
        message = f"algorithm '{algorithm.name}' does not take a population"
        yield Issue(written["algorithm"].at(), message, f"these do: {', '.join(names)}")
    elif schedule.name not in algorithm.schedules:
        message = f"algorithm '{algorithm.name}' does not take schedule '{schedule.name}'"
        yield Issue(written["schedule"].at(), message, f"it takes: {', '.join(algorithm.schedules)}")
