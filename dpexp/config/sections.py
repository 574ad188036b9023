"""The sections of a config: what a file holds, the sections of single values that it means, and their parameters.

Cases are laid over the rest of the file. A list on a key that takes no list itself sweeps; several make the cartesian
product, the first key of a section varying slowest. In a population, which is nested, lists sweep at any depth:
`coefficients: [1, 2]` is one vector, and `errors: {law: t, df: [3, 5]}` two populations. Whatever is taken from its
list keeps its place in the file.

One population has one form: what the short forms of the problem (`d`, `sigma_z`, `beta`, `sigma`) can say is said by
them, so that cells keep their ids in either spelling; anything else is the parameter `population`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cells import OF_THE_EXPERIMENT, POPULATION
from dpexp.config.error_messages import suggest, takes_a_list, validated
from dpexp.config.yamlfile import Issue, Keys, Marked, Position, collected, config_error, require_none
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
MAX_CELLS = 10_000
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


def variants_of(root: Marked) -> list[Marked]:
    """The config of every case, once for all combinations of names that its sections list."""
    cases = root.values.get("cases", ({},))
    several = enumerate(cases) if isinstance(cases, tuple) else ()
    return [variant for k, case in several if isinstance(case, dict) for variant in _by_name(_laid_over(root, k, case))]


def _laid_over(root: Marked, number: int, case: Mapping[str, Any]) -> Marked:
    """A config with the sections of a case: their keys replace those of the config.

    A new name starts afresh, and so does a new kind of budget.
    """
    values, origins = dict[str, Any](), dict[Keys, Keys]()
    for section, own in case.items():
        base, kept = root.values.get(section), dict[str, Any]()
        # Parameters of one algorithm mean nothing to another.
        if isinstance(base, dict) and isinstance(own, dict) and base.get("name") == own.get("name", base.get("name")):
            replaced = {key for name, keys in REPLACED.items() if name in own for key in keys}
            kept = {key: value for key, value in base.items() if key not in replaced}
        values[section] = kept | own if kept else own
        origins |= {(section,): ("cases", number, section)}
        origins |= {(section, key): (section, key) for key in kept if key not in own}
    return root.over(values, origins)


def _by_name(config: Marked) -> list[Marked]:
    """The config once for all combinations of names that its sections list, with the keys that each name has."""
    several = [config]
    for section, registry in REGISTRIES.items():
        if isinstance(names := config.get(section, "name"), tuple) and names:
            fields = {name: registry[name].model_fields for name in names if isinstance(name, str) and name in registry}
            several = [
                own.over({section: _of_name(own.values[section], fields)})
                for config in several
                for own in config.entries((section, "name"))
            ]
    return several


def _of_name(section: Mapping[str, Any], fields: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """A section without keys that only other names have, of which the fields are given; one of none is a mistake."""
    others = {key for keys in fields.values() for key in keys}.difference(fields.get(str(section["name"]), section))
    return {key: value for key, value in section.items() if key not in others}


def points(config: Marked, section: str, model: type[Parameters]) -> list[Marked]:
    """A config with one of its sections at every point of its lists. Raises ConfigError for too many."""
    several = [config]
    while any(lists := [next(_lists_that_sweep(own, section, model), ()) for own in several]):
        pairs = [*zip(several, lists, strict=True)]
        require_few(sum(len(own.get(*keys)) if keys else 1 for own, keys in pairs), config.at(section))
        several = [point for own, keys in pairs for point in (own.entries(keys) if keys else [own])]
    return several


def _lists_that_sweep(config: Marked, section: str, model: type[Parameters]) -> Iterator[Keys]:
    """Keys of lists that are several values, and not one."""
    for key, value in config.values[section].items():
        # a list in such a list is a value
        sweeps = key not in OF_THE_EXPERIMENT and isinstance(config.origin(section, key)[-1], str)
        if sweeps and isinstance(value, tuple) and value and not takes_a_list(model, key):
            yield section, key
    if section == "problem":
        yield from _lists_in_population(config.get(POPULATION), (POPULATION,))


def _lists_in_population(value: Any, keys: Keys) -> Iterator[Keys]:
    if isinstance(value, tuple) and value:
        # a list of rules, or of one list more than the key takes
        rules = keys[-1] != "columns" and any(isinstance(item, dict) for item in value)
        if rules or _depth(value) > LISTS.get(str(keys[-1]), 0):
            yield keys
        elif keys[-1] == "columns":
            for k, column in enumerate(value):
                yield from _lists_in_population(column, (*keys, k))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _lists_in_population(inner, (*keys, key))


def _depth(value: Any) -> int:
    """How many lists are in one another."""
    return 1 + max(map(_depth, value), default=0) if isinstance(value, tuple) else 0


def require_few(count: int, where: Position) -> None:
    """Raises ConfigError where lists make more than 10,000 cells."""
    if count > MAX_CELLS:
        hint = "sweep fewer values, or split the experiment in several"
        raise config_error(where, f"{count:,} cells; at most {MAX_CELLS:,} are allowed", hint)


def parameters_of(section: str, model: type[Parameters], config: Marked, steps: Mapping[str, int]) -> Parameters:
    """A section of single values as parameters of a class. Raises ConfigError with all mistakes."""
    if section == "privacy":
        return _privacy(config)
    issues, own = list[Issue](), config.values[section]
    if section == "problem" and POPULATION in config.values:
        with collected(issues):
            own = own | _short_form(model, config, issues)
    with collected(issues):
        parameters = validated(model, config, (section,), {**steps, **own})
    require_none(issues)
    return parameters


def _privacy(config: Marked) -> PrivacySettings:
    """The section `privacy:`: budgets of users or a target. Raises ConfigError with all mistakes."""
    section = config.values["privacy"]
    issues = [
        Issue(config.key("privacy", key), message, hint)
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


def _budget(config: Marked) -> Budget:
    """A budget of the users: a number, or a mapping with one known law. Raises ConfigError."""
    place, mu = ("privacy", "mu"), config.get("privacy", "mu")
    if not isinstance(mu, dict):
        return validated(BUDGETS["constant"], config, ("privacy",), {"mu": mu})
    laws = [name for name in BUDGETS if name != "constant"]
    require_none([
        Issue(config.key(*place, key), f"unknown law of budgets '{key}'", suggest(key, laws))
        for key in mu if key not in laws
    ])  # fmt: skip
    if len(mu) != 1:
        raise config_error(config.at(*place), "'privacy.mu' needs exactly one law", LAW_EXAMPLES)
    return validated(BUDGETS[next(iter(mu))], config, place)


def _short_form(model: type[Parameters], config: Marked, issues: list[Issue]) -> dict[str, Any]:
    """The parameters of a problem that its population is; mistakes are added to the issues. Raises ConfigError."""
    section = config.values[POPULATION]
    if not issubclass(model, LinearPredictorProblem) or not model.populations:
        raise config_error(config.at(POPULATION), "this problem does not take a population", "leave out `population`")
    if not isinstance(section, dict):
        example = "for instance population: {d: 5, weights: none}"
        raise config_error(config.at(POPULATION), "'population' must be a mapping", example)
    for key in ("d", "sigma_z", "beta", *(("sigma", "support") if "errors" in section else ())):
        if key in config.values["problem"]:
            message = f"'problem.{key}' is also set in 'population'"
            issues.append(Issue(config.key("problem", key), message, "keep it in population"))
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
        (POPULATION in own and population.width > MAX_COLUMNS, "d",
         f"'population' has {population.width:,} columns; rows of at most {MAX_COLUMNS:,} are integrated",
         "take fewer columns, or the laws that the keys of the problem name"),
    ):  # fmt: skip
        issues += [Issue(config.key(POPULATION, key), message, hint)] * wrong
    return own


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]
