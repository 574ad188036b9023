"""The sections of a config: what a file holds, and a section of single values as parameters.

One population has one form: what the short forms of the problem (`d`, `sigma_z`, `beta`, `sigma`) can say is said by
them, so that cells keep their ids in either spelling; anything else is the parameter `population`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cells import POPULATION
from dpexp.config.error_messages import suggest, validated
from dpexp.config.sweeps import MAX_CELLS
from dpexp.config.yamlfile import ConfigError, Issue, Map, collected
from dpexp.core.parameters import Parameters
from dpexp.privacy.budgets import BUDGETS, Budget, ConstantBudget, PrivacySettings, PureBudget, Target
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.population import Population

REGISTRIES: Mapping[str, Mapping[str, type[Parameters]]]
REGISTRIES = {"problem": PROBLEMS, "algorithm": ALGORITHMS, "schedule": SCHEDULES}
LAW_EXAMPLES = (
    "for instance 2, inf, {uniform: [1, 2]}, {list: [0.5, 1]}, {choice: {values: [1, 2], probabilities: [1/2, 1/2]}}"
)
MAX_COLUMNS = 1000
"""of rows with a law of their own, as `dpexp.problems.row_rules` takes"""
Section = Annotated[dict[str, Any], Field(default_factory=dict)]


class Case(Parameters):
    """Sections, each a mapping."""

    problem: Section
    """what is learned, and from which data"""
    population: Any = None
    """how users are drawn"""
    algorithm: Section
    """the update rule; several in one file: cases: [{algorithm: ...}, ...]"""
    schedule: Section
    """the step sizes; several in one file: cases: [{schedule: ...}, ...]"""
    privacy: Section
    """the budget of every user, or the target of the whole run"""
    run: Section
    """how much is simulated"""


class ConfigFile(Case):
    """What a config file holds."""

    experiment: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
    """names the folder of the results: letters, digits, '_' and '-'"""
    plugins: Annotated[tuple[str, ...], BeforeValidator(lambda file: (file,) if isinstance(file, str) else file)] = ()
    """Python files that add names, by their paths from the config"""
    cases: Annotated[tuple[Case, ...] | None, Field(min_length=1, max_length=MAX_CELLS)] = None
    """partial configs, each laid over the rest of the file"""


def parameters_of(section: str, model: type[Parameters], values: Map, defaults: Mapping[str, int]) -> Parameters:
    """A section of single values as parameters of a class. Raises ConfigError with all mistakes."""
    if section == "privacy":
        return _privacy(values)
    issues, own = list[Issue](), dict[str, Any]()
    with collected(issues):
        own = _short_form(model, values, issues) if POPULATION in values else {}
    written = {key: value for key, value in values.items() if key != POPULATION}
    with collected(issues):
        parameters = validated(model, values, section, {**defaults, **written, **own})
    if issues:
        raise ConfigError(issues)
    return parameters


def _privacy(section: Map) -> PrivacySettings:
    """The section `privacy:`: budgets of users or a target. Raises ConfigError with all mistakes."""
    issues = [
        Issue(section.key(key), message, hint)
        for key, wrong, message, hint in (
            ("eps", "mu" in section, "give 'privacy.mu' or 'privacy.eps', not both", "eps comes with delta"),
            ("delta", "eps" not in section, "'privacy.delta' belongs to 'privacy.eps'", "for instance eps: 1"),
            ("message", section.get("delta") != 0, "'privacy.message' belongs to eps with delta: 0",
             "leave out `message`"),
        )
        if key in section and wrong
    ]  # fmt: skip
    if "mu" not in section and section.get("eps") is None:
        issues.append(Issue(section.at("eps"), "'privacy.mu' is missing", "write `mu: inf` for no privacy"))
    changes: dict[str, object] = {"mu": ConstantBudget(mu=1.0)}  # of a target, until its numbers are known to be such
    with collected(issues):
        changes = {"mu": _budget(section)} if "mu" in section else changes
    with collected(issues):
        settings = validated(PrivacySettings, section, "privacy", section | changes)
        if settings.eps is not None and settings.delta == 0:
            changes = {"mu": validated(PureBudget, section, "privacy", {"eps": settings.eps})}
        elif settings.eps is not None:
            # Epsilon is reported at the delta of the target.
            delta = 1e-5 if settings.delta is None else settings.delta
            deltas = settings.deltas if "deltas" in section else (delta,)
            changes = {"mu": Target(eps=settings.eps, delta=delta), "delta": delta, "deltas": deltas}
    if issues:
        raise ConfigError(issues)
    return settings.model_copy(update=changes)


def _budget(section: Map) -> Budget:
    """A budget of the users: a number, or a mapping with one known law. Raises ConfigError."""
    mu = section["mu"]
    if not isinstance(mu, Map):
        return validated(BUDGETS["constant"], section.only(["mu"]), "privacy")
    laws = [name for name in BUDGETS if name != "constant"]
    wrong = [Issue(mu.key(key), f"unknown law of budgets '{key}'", suggest(key, laws)) for key in mu if key not in laws]
    if wrong or len(mu) != 1:
        raise ConfigError(wrong or [Issue(mu.start, "'privacy.mu' needs exactly one law", LAW_EXAMPLES)])
    return validated(BUDGETS[next(iter(mu))], mu, "privacy.mu")


def _short_form(model: type[Parameters], problem: Map, issues: list[Issue]) -> dict[str, Any]:
    """The parameters of a problem that its population is; mistakes are added to the issues. Raises ConfigError."""
    section, where = problem[POPULATION], problem.at(POPULATION)
    if not issubclass(model, LinearPredictorProblem) or not model.populations:
        raise ConfigError([Issue(where, "this problem does not take a population", "leave out `population`")])
    if not isinstance(section, Map):
        example = "for instance population: {d: 5, weights: none}"
        raise ConfigError([Issue(where, "'population' must be a mapping", example)])
    for key in ("d", "sigma_z", "beta", *(("sigma", "support") if "errors" in section else ())):
        if key in problem:
            message = f"'problem.{key}' is also set in 'population'"
            issues.append(Issue(problem.key(key), message, "keep it in population"))
    population = validated(Population, section, POPULATION)
    short, errors, has_sigma = population.short, population.errors, "sigma" in model.model_fields
    own: dict[str, Any] = {POPULATION: population}
    if short is not None and (has_sigma or "sigma" not in short):
        own = dict(short)
    elif has_sigma and errors is not None and errors.law == "normal" and errors.heteroscedastic is None:
        own = {"sigma": errors.size, POPULATION: population.model_copy(update={"errors": None})}
    for wrong, key, message, hint in (
        (model.labels and errors is not None, "errors", "the responses are labels: errors have no meaning",
         "leave out `errors`; `response: {link: probit}` changes the law of labels"),
        (not model.labels and population.response is not None, "response",
         "a link is of labels, and this problem has none", "leave out `response`"),
        (POPULATION in own and population.width > MAX_COLUMNS, "d",
         f"'population' has {population.width:,} columns; rows of at most {MAX_COLUMNS:,} are integrated",
         "take fewer columns, or the laws that the keys of the problem name"),
    ):  # fmt: skip
        issues += [Issue(section.key(key), message, hint)] * wrong
    return own


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]
