"""The sections of a config: what a file holds, the sections of single values that it means, and their parameters.

Cases are laid over the rest of the file. A list on a key that takes no list itself sweeps; several make the cartesian
product, the first key of a section varying slowest. In a population, which is nested, lists sweep at any depth:
`coefficients: [1, 2]` is one vector, and `errors: {law: t, df: [3, 5]}` two populations. Whatever is taken from its
list keeps its place in the file.

One population has one form: what the short forms of the problem (`d`, `sigma_z`, `beta`, `sigma`) can say is said by
them, so that cells keep their ids in either spelling; anything else is the parameter `population`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cells import OF_THE_EXPERIMENT, POPULATION
from dpexp.config.error_messages import suggest, takes_a_list, validated
from dpexp.config.yamlfile import ConfigError, Issue, List, Map, Mark, Position, collected, config_error
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
MAX_CELLS, MAX_DEPTH = 10_000, 20
LISTS = {"coefficients": 1, "slopes": 1, "correlation": 2, "p": 1, "columns": 1, "heteroscedastic": 1}
"""depth of the lists that these keys of a population take"""
REPLACED = {"mu": ("eps", "delta", "message"), "eps": ("mu",)}
"""keys of privacy that one of these replaces"""
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


def variants_of(root: Map) -> list[Map]:
    """The config of every case, once for all combinations of names that its sections list."""
    cases = root.get("cases", (Map({}, {}, root.start),))
    several = [case for case in cases if isinstance(case, Map)] if isinstance(cases, tuple) else []
    return [variant for case in several for variant in _by_name(_laid_over(root, case))]


def _laid_over(config: Map, case: Map) -> Map:
    """A config with the sections of a case: their keys replace those of the config.

    A new name starts afresh, and so does a new kind of budget.
    """
    sections = dict[str, Any]()
    for section, own in case.items():
        base = config.get(section)
        # Parameters of one algorithm mean nothing to another.
        if isinstance(base, Map) and isinstance(own, Map) and base.get("name") == own.get("name", base.get("name")):
            replaced = {key for name, keys in REPLACED.items() if name in own for key in keys}
            own = base.only([key for key in base if key not in replaced]).over(own, own.start)
        sections[section] = own
    return config.over(Map(sections, case.marks, case.start))


def _by_name(config: Map) -> list[Map]:
    """The config once for all combinations of names that its sections list, with the keys that each name has."""
    several = [config]
    for section, registry in REGISTRIES.items():
        own = config.get(section)
        if not isinstance(own, Map) or not isinstance(names := own.get("name"), List) or not names:
            continue
        fields = {name: registry[name].model_fields for name in names if isinstance(name, str) and name in registry}
        variants = []
        for k, name in enumerate(names):
            # A key of another name is that one's; one that no name has is a mistake.
            others = {key for other in fields.values() for key in other} - {*fields.get(str(name), own)}
            variant = own.only([key for key in own if key not in others])
            variants.append(variant.over(Map({"name": name}, {"name": names.marks[k]}, own.start)))
        several = [config.over({section: variant}) for config in several for variant in variants]
    return several


def points(section: Map, model: type[Parameters]) -> list[Map]:
    """A section at every point of its lists. Raises ConfigError for too many."""
    return [point for point, _ in _options(section, section.start, "", model, 2)]


def require_few(count: int, where: Position) -> None:
    """Raises ConfigError where lists make more than 10,000 cells."""
    if count > MAX_CELLS:
        hint = "sweep fewer values, or split the experiment in several"
        raise config_error(where, f"{count:,} cells; at most {MAX_CELLS:,} are allowed", hint)


def _options(
    value: Any, where: Position, key: int | str, model: type[Parameters] | None, depth: int
) -> list[tuple[Any, Position]]:
    """What a value at a key means, as values with their places: its lists sweep, down to a depth.

    The key is one of a class, or without it of a population.
    """
    if depth == 0 or not isinstance(value, Map | List) or not value:
        return [(value, where)]
    if isinstance(value, List):
        if _sweeps(value, key, model):
            items = (_options(item, value.marks[k].value, key, model, depth - 1) for k, item in enumerate(value))
            return [option for options in items for option in options]
        if key != "columns":
            return [(value, where)]
    parts = value if isinstance(value, Map) else dict(enumerate(value))
    options = [
        _options(part, value.marks[inner].value, inner, None, MAX_DEPTH)
        if inner == POPULATION
        else _options(part, value.marks[inner].value, inner, model, depth - 1)
        for inner, part in parts.items()
    ]
    require_few(math.prod(map(len, options)), where)
    rebuilt = list[Any]()
    for point in product(*options):
        values, places = [part for part, _ in point], [place for _, place in point]
        if isinstance(value, Map):
            marks = {key: Mark(place, value.marks[key].key) for key, place in zip(parts, places, strict=True)}
            rebuilt.append(Map(dict(zip(value, values, strict=True)), marks, value.start))
        else:
            rebuilt.append(List(values, places))
    return [(each, where) for each in rebuilt]


def _sweeps(value: List, key: int | str, model: type[Parameters] | None) -> bool:
    """Whether a list is several values of a key, and not one."""
    if model:
        return key not in OF_THE_EXPERIMENT and not takes_a_list(model, str(key))
    rules = key != "columns" and any(isinstance(item, dict) for item in value)
    return rules or _depth(value) > LISTS.get(str(key), 0)


def _depth(value: Any) -> int:
    """How many lists are in one another."""
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple) else 0


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
