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

from pydantic import Field

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cells import OF_THE_EXPERIMENT, POPULATION
from dpexp.config.error_messages import suggest, takes_a_list, validated
from dpexp.config.yamlfile import Issue, Items, Mark, Position, Section, collected, config_error, require_none
from dpexp.core.parameters import Parameters, Words
from dpexp.privacy.budgets import BUDGETS, Budget, ConstantBudget, PrivacySettings, PureBudget, Target
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.population import Population
from dpexp.problems.row_rules import MOST_COLUMNS

REGISTRIES: Mapping[str, Mapping[str, type[Parameters]]]
REGISTRIES = {"problem": PROBLEMS, "algorithm": ALGORITHMS, "schedule": SCHEDULES}
LAWS = "for instance 2, inf, {uniform: [1, 2]}, {list: [0.5, 1]}, {choice: {values: [1, 2], probabilities: [1/2, 1/2]}}"
MAX_CELLS = 10_000
LISTS = {"coefficients": 1, "slopes": 1, "correlation": 2, "p": 1, "columns": 1, "heteroscedastic": 1}
"""depth of the lists that these keys of a population take"""
REPLACED = {"mu": ("eps", "delta", "message"), "eps": ("mu",)}  # keys of privacy that one of these replaces
Keys = Annotated[dict[str, Any], Field(default_factory=dict)]  # of a section, with their values
Choice = tuple[Any, Mark]  # a value out of a list, and where it is


class Case(Parameters):
    """Sections, each a mapping."""

    problem: Keys
    """what is learned, and from which data"""
    population: Any = None
    """how users are drawn"""
    algorithm: Keys
    """the update rule; several in one file: cases: [{algorithm: ...}, ...]"""
    schedule: Keys
    """the step sizes; several in one file: cases: [{schedule: ...}, ...]"""
    privacy: Keys
    """the budget of every user, or the target of the whole run"""
    run: Keys
    """how much is simulated"""


class ConfigFile(Case):
    """What a config file holds."""

    experiment: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
    """names the folder of the results: letters, digits, '_' and '-'"""
    plugins: Words = ()
    """Python files that add names, by their paths from the config"""
    cases: Annotated[tuple[Case, ...] | None, Field(min_length=1, max_length=MAX_CELLS)] = None
    """partial configs, each laid over the rest of the file"""


def variants_of(root: Section) -> list[Section]:
    """The config of every case, once for all combinations of names that its sections list."""
    cases = (Section({}, root.start),) if root.get("cases") is None else root["cases"]
    several = [case for case in cases if isinstance(case, Section)] if isinstance(cases, tuple) else []
    return [variant for case in several for variant in _by_name(_laid_over(root, case))]


def _laid_over(root: Section, case: Section) -> Section:
    """A config with the sections of a case: their keys replace those of the config, and a new name all of them."""
    sections = case.entries
    for section, (own, mark) in case.entries.items():
        base: Any = root.get(section)
        mappings = isinstance(base, Section) and isinstance(own, Section)
        # Parameters of one algorithm mean nothing to another.
        if mappings and base.get("name") == own.get("name", base.get("name")):
            replaced = [key for name in own for key in REPLACED.get(name, ())]
            sections[section] = base.without(replaced).over(own.entries), mark
    return root.over(sections)


def _by_name(config: Section) -> list[Section]:
    """The config once for all combinations of names that its sections list, with the keys that each name has."""
    several = [config]
    for section, registry in REGISTRIES.items():
        if isinstance(names := config.value(section, "name"), Items) and names:
            fields = {name: registry[name].model_fields for name in names if isinstance(name, str) and name in registry}
            known, alone = {key for keys in fields.values() for key in keys}, list[Section]()
            for own in _combined(config[section], {"name": names.entries}, config.at(section)):
                # without the keys that only other names have; one of none is a mistake
                alone.append(own.without(known.difference(fields.get(str(own["name"]), own))))
            several = [config.over({section: (own, config.mark(section))}) for config in several for own in alone]
    return several


def points(config: Section, section: str, model: type[Parameters]) -> list[Section]:
    """A config with one of its sections at every point of its lists. Raises ConfigError for too many."""
    own, mark = config[section], config.mark(section)
    swept = (key for key in own if key not in OF_THE_EXPERIMENT and not takes_a_list(model, key))
    lists = {key: own[key].entries for key in swept if isinstance(own[key], Items) and own[key]}
    choices = {section: [(point, mark) for point in _combined(own, lists, mark.value)]}
    if section == "problem" and POPULATION in config:
        choices[POPULATION] = _populations(POPULATION, *config.entries[POPULATION])
    return _combined(config, choices, mark.value)


def _combined(written: Section, choices: Mapping[str, list[Choice]], where: Position) -> list[Section]:
    """A mapping with all combinations of choices for some keys, the first of them varying slowest."""
    require_few(math.prod(map(len, choices.values())), where)
    return [written.over(dict(zip(choices, point, strict=True))) for point in product(*choices.values())]


def _populations(key: str, value: Any, mark: Mark) -> list[Choice]:
    """A value at a key of a population, at every point of the lists in it."""
    if isinstance(value, Section):
        choices = {name: _populations(name, *entry) for name, entry in value.entries.items()}
        return [(own, mark) for own in _combined(value, choices, mark.value)]
    if not isinstance(value, Items) or not value:
        return [(value, mark)]
    # a list of rules, or of one list more than the key takes
    rules = key != "columns" and any(isinstance(item, dict) for item in value)
    if rules or _depth(value) > LISTS.get(key, 0):
        return [choice for entry in value.entries for choice in _populations(key, *entry)]
    if key != "columns":
        return [(value, mark)]
    columns = [[own for own, _ in _populations("", *entry)] for entry in value.entries]
    require_few(math.prod(map(len, columns)), mark.value)
    return [(Items(point, value.marks), mark) for point in product(*columns)]


def _depth(value: Any) -> int:
    """How many lists are in one another."""
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple) else 0


def require_few(count: int, where: Position) -> None:
    """Raises ConfigError where lists make more than 10,000 cells."""
    if count > MAX_CELLS:
        hint = "sweep fewer values, or split the experiment in several"
        raise config_error(where, f"{count:,} cells; at most {MAX_CELLS:,} are allowed", hint)


def parameters_of(section: str, model: type[Parameters], config: Section, steps: Mapping[str, int]) -> Parameters:
    """A section of single values as parameters of a class. Raises ConfigError with all mistakes."""
    if section == "privacy":
        return _privacy(config)
    issues, own = list[Issue](), config[section]
    if section == "problem" and POPULATION in config:
        with collected(issues):
            own = own | _short_form(model, config, issues)
    with collected(issues):
        parameters = validated(model, config, (section,), {**steps, **own})
    require_none(issues)
    return parameters


def _privacy(config: Section) -> PrivacySettings:
    """The section `privacy:`: budgets of users or a target. Raises ConfigError with all mistakes."""
    section = config["privacy"]
    issues = [
        Issue(config.mark("privacy", key).key, message, hint)
        for key, wrong, message, hint in (
            ("eps", "mu" in section, "give 'privacy.mu' or 'privacy.eps', not both", "eps comes with delta"),
            ("delta", "eps" not in section, "'privacy.delta' belongs to 'privacy.eps'", "for instance eps: 1"),
            ("message", section.get("delta") != 0, "'privacy.message' belongs to eps with delta: 0",
             "leave out `message`"),
        )
        if key in section and wrong
    ]  # fmt: skip
    if "mu" not in section and section.get("eps") is None:
        issues.append(Issue(config.at("privacy", "eps"), "'privacy.mu' is missing", "write `mu: inf` for no privacy"))
    changes: dict[str, object] = {"mu": ConstantBudget(mu=1.0)}  # of a target, until its numbers are known to be such
    with collected(issues):
        changes = {"mu": _budget(config)} if "mu" in section else changes
    with collected(issues):
        settings = validated(PrivacySettings, config, ("privacy",), section | changes)
        if settings.eps is not None and settings.delta == 0:
            changes = {"mu": validated(PureBudget, config, ("privacy",), {"eps": settings.eps})}
        elif settings.eps is not None:
            # Epsilon is reported at the delta of the target.
            delta = 1e-5 if settings.delta is None else settings.delta
            deltas = settings.deltas if "deltas" in section else (delta,)
            changes = {"mu": Target(eps=settings.eps, delta=delta), "delta": delta, "deltas": deltas}
    require_none(issues)
    return settings.model_copy(update=changes)


def _budget(config: Section) -> Budget:
    """A budget of the users: a number, or a mapping with one known law. Raises ConfigError."""
    place, mu = ("privacy", "mu"), config.value("privacy", "mu")
    if not isinstance(mu, dict):
        return validated(BUDGETS["constant"], config, ("privacy",), {"mu": mu})
    laws = [name for name in BUDGETS if name != "constant"]
    require_none([
        Issue(config.mark(*place, key).key, f"unknown law of budgets '{key}'", suggest(key, laws))
        for key in mu if key not in laws
    ])  # fmt: skip
    if len(mu) != 1:
        raise config_error(config.at(*place), "'privacy.mu' needs exactly one law", LAWS)
    return validated(BUDGETS[next(iter(mu))], config, place)


def _short_form(model: type[Parameters], config: Section, issues: list[Issue]) -> dict[str, Any]:
    """The parameters of a problem that its population is; mistakes are added to the issues. Raises ConfigError."""
    section = config[POPULATION]
    if not issubclass(model, LinearPredictorProblem) or not model.populations:
        raise config_error(config.at(POPULATION), "this problem does not take a population", "leave out `population`")
    if not isinstance(section, dict):
        example = "for instance population: {d: 5, weights: none}"
        raise config_error(config.at(POPULATION), "'population' must be a mapping", example)
    for key in ("d", "sigma_z", "beta", *(("sigma", "support") if "errors" in section else ())):
        if key in config["problem"]:
            message = f"'problem.{key}' is also set in 'population'"
            issues.append(Issue(config.mark("problem", key).key, message, "keep it in population"))
    population = validated(Population, config, (POPULATION,))
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
        (POPULATION in own and population.width > MOST_COLUMNS, "d",
         f"'population' has {population.width:,} columns; rows of at most {MOST_COLUMNS:,} are integrated",
         "take fewer columns, or the laws that the keys of the problem name"),
    ):  # fmt: skip
        issues += [Issue(config.mark(POPULATION, key).key, message, hint)] * wrong
    return own


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]
