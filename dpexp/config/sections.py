"""The sections of a config: cases, several names, data paths, budgets, and whether all of them go together."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cells import SECTIONS, Cell, RunSettings
from dpexp.config.error_messages import explain, field, in_words, suggest
from dpexp.config.populations import POPULATION
from dpexp.config.yamlfile import ConfigError, Issue, Keys, Located, Mark, NotChecked, config_error
from dpexp.core.errors import UsageError
from dpexp.core.places import as_named
from dpexp.privacy.budgets import BUDGETS, Budget, ConstantBudget, PrivacySettings, PureBudget, Target
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem

REPLACED = {"mu": ("eps", "delta", "message"), "eps": ("mu",)}
"""keys of privacy that one of these replaces"""
DATA = {("problem", "data", "path"), ("population", "design", "rows")}
LAW_EXAMPLES = (
    "for instance 2, inf, {uniform: [1, 2]}, {list: [0.5, 1]}, {choice: {values: [1, 2], probabilities: [1/2, 1/2]}}"
)
MOST_STEPS = 10**12
"""as `run.n` may be"""


def laid_over(base: Any, over: Any) -> Any:
    """The section `base` with the keys of `over`; a new name starts afresh, and so does a new kind of budget."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    # Parameters of one algorithm mean nothing to another.
    if {"name"} <= base.keys() & over.keys() and base["name"] != over["name"]:
        return over
    replaced = {key for named, keys in REPLACED.items() if named in over for key in keys}
    return {key: value for key, value in base.items() if key not in replaced} | over


def by_name(config: Located, section: str, fields: Mapping[str, Collection[str]]) -> list[Located]:
    """The config once for each of the names that a section lists, with the keys that this name has."""
    value = config.value.get(section)
    names = value.get("name") if isinstance(value, dict) else None
    if not isinstance(names, tuple) or not names:
        return [config]
    known = {name: fields[name] for name in names if isinstance(name, str) and name in fields}
    several = []
    for k, name in enumerate(names):
        # A key of another name is that one's; one that no name has is a mistake.
        own = known.get(name) if isinstance(name, str) else None
        others = {key for keys in known.values() for key in keys if own and key not in own}
        named = {key: inner for key, inner in value.items() if key not in others} | {"name": name}
        place: dict[Keys, Mark] = {(section, "name"): config.marks[section, "name", k]}
        several.append(Located(config.value | {section: named}, ChainMap(place, config.marks)))
    return several


def from_its_folder(root: Located, folder: Path, trusted: bool) -> None:
    """Let data paths start at the folder of the file. Raises NotChecked where none may be opened."""
    for path in root.marks:
        # without the numbers of cases and of what sweeps
        names = tuple(key for key in path if isinstance(key, str) and key != "cases")
        if names in DATA and isinstance(value := root.value_at(path), str) and isinstance(path[-1], str):
            if not trusted:
                message = f"not checked: reads {value}"
                raise NotChecked([Issue(root.at(*path[:-2]), message, "a list opens no data that a config names")])
            # A path given on the command line, which has no line, starts where the command is run.
            root.value_at(path[:-1])[path[-1]] = as_named(value, folder, not root.at(*path).line)


def privacy_of(section: Located) -> PrivacySettings:
    """The section `privacy:` as a value: budgets of users or a target. Raises ConfigError with all that is wrong."""
    value, issues, changes = section.value, list[Issue](), dict[str, object]()
    for key, wrong, message, hint in (
        ("eps", "mu" in value, "give 'privacy.mu' or 'privacy.eps', not both", "eps comes with delta"),
        ("delta", "eps" not in value, "'privacy.delta' belongs to 'privacy.eps'", "for instance eps: 1"),
        ("message", value.get("delta") != 0, "'privacy.message' belongs to eps with delta: 0", "leave out `message`"),
    ):
        if key in value and wrong:
            issues.append(Issue(section.key(key), message, hint))
    if "mu" not in value and value.get("eps") is None:
        issues.append(Issue(section.at("eps"), "'privacy.mu' is missing", "write `mu: inf` for no privacy"))
    budget: Budget = ConstantBudget(mu=1.0)  # of a target, until its numbers are known to be such
    try:
        budget = _budget(section) if "mu" in value else budget
    except ConfigError as error:
        issues += error.issues
    try:
        settings = PrivacySettings.model_validate({**value, "mu": budget})
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
    mu, constant, law = section.value["mu"], "constant", "constant"
    if isinstance(mu, dict):
        laws = [name for name in BUDGETS if name != constant]
        wrong = [
            Issue(section.key("mu", k), f"unknown law of budgets '{k}'", suggest(k, laws)) for k in mu if k not in laws
        ]
        if wrong or len(mu) != 1:
            raise ConfigError(wrong or [Issue(section.at("mu"), "'privacy.mu' needs exactly one law", LAW_EXAMPLES)])
        (law,) = mu
    try:
        return BUDGETS[law].model_validate({"mu": mu} if law == constant else mu)
    except ValidationError as error:
        raise ConfigError(
            explain(error, "privacy", section, LAW_EXAMPLES, () if law == constant else ("mu",))
        ) from None


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]


class Part(NamedTuple):
    """A section at one point of its lists: as it is written, and what it is."""

    written: Located
    value: Any


def cell_of(experiment: str, point: Mapping[str, Part], profile: str) -> Cell:
    """The cell of one point. Raises ConfigError with what does not go together."""
    problem, algorithm, schedule, privacy, run = (point[section].value for section in SECTIONS)
    written = {section: part.written for section, part in point.items()}
    # Asked in this order: the algorithm's own questions take parts for granted that go together.
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
            hint = f"allowed: {in_words(field(RunSettings, 'n'))}"
            raise config_error(written["run"].at(), "'run.n' is missing", hint)
        if n > MOST_STEPS:
            message = f"that makes {n:.3g} steps; at most {MOST_STEPS:.0e}"
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
    issues += _unknown_coefficients(problem, algorithm, run, written["run"])
    if issues:
        raise ConfigError(issues)
    # After everything was asked at full size, which is what the config says.
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


def _unknown_coefficients(problem: Any, algorithm: Algorithm, settings: RunSettings, run: Located) -> Iterator[Issue]:
    """Coefficients that a run cannot record."""
    if isinstance(problem, LinearPredictorProblem) and isinstance(algorithm, OnePassAlgorithm):
        known = {"all", *range(problem.d + 1), *["scale"] * problem.has_scale}
        hint = f"0 is the intercept, 1 to {problem.d} the slopes" + ", scale the scale" * problem.has_scale
        for place, entry in enumerate(settings.coefficients):
            if entry not in known:
                yield Issue(run.at("coefficients", place), f"'run.coefficients': there is no coefficient {entry}", hint)
    elif settings.coefficients:
        message = f"algorithm '{algorithm.name}' on problem '{problem.name}' has no coefficients to record"
        yield Issue(run.at("coefficients"), message, "leave out `coefficients`")
