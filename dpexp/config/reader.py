"""From a located YAML tree to an Experiment, collecting everything that is wrong on the way.

(a) Plug-ins are loaded first: which names the sections may use is not known before.
(b) Every section of every variant is checked by itself, a swept value like one that stands alone, so that all that is
wrong is said at once.
(c) Nothing is multiplied out before the number of cells is known.
(d) Then every point of the grid is built, and what only a whole setting can tell is asked: whether its parts go
together, whether its records can be read, and how many steps it has.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cells import (
    OF_THE_EXPERIMENT,
    SECTIONS,
    Cell,
    Experiment,
    Parameter,
    RunSettings,
    shared_names,
    smoke,
)
from dpexp.config.messages import allowed, explain, kind, listed, show, suggest
from dpexp.config.populations import POPULATION, alternatives
from dpexp.config.sections import completed, from_its_folder
from dpexp.config.settings import differences
from dpexp.config.yamlfile import ConfigError, Issue, Located, NotChecked, Position
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Parameters
from dpexp.plugins.loaded import LOADED
from dpexp.plugins.loading import use, use_installed
from dpexp.plugins.research import is_research
from dpexp.privacy.budgets import BUDGETS, PrivacySettings, Target, as_budget
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.algorithms.algorithm import Algorithm
    from dpexp.algorithms.schedules import Schedule
    from dpexp.core.parameters import Named
    from dpexp.problems.problem import Problem

MAX_CELLS = 10_000
MOST_STEPS = 10**12
"""as `run.n` may be"""
FEWER = "sweep fewer values, or split the experiment in several"
LAW_EXAMPLES = (
    "for instance 2, inf, {uniform: [1, 2]}, {list: [0.5, 1]}, {choice: {values: [1, 2], probabilities: [1/2, 1/2]}}"
)
REGISTRIES: dict[str, Mapping[str, type[Named]]] = {
    "problem": PROBLEMS,
    "algorithm": ALGORITHMS,
    "schedule": SCHEDULES,
}
PLUGINS_EXAMPLE = "for instance plugins: [my_algorithm.py], by the path from this file"
CASES_EXAMPLE = "for instance cases: [{problem: {d: 5}}, {problem: {d: 10}, privacy: {mu: 2}}]"
DEFAULT_NAMES = {"algorithm": "ldp-sgd", "schedule": "power"}


class _Variant(NamedTuple):
    """The sections of a config, or of one of its cases, some of whose values sweep."""

    sections: dict[str, Located]
    """all of them, in the order of the file"""
    kinds: dict[str, type[Parameters]]
    """what they are sections of, where that is known"""
    sweeps: dict[Parameter, list[Located]]
    """in the order of the file"""


class Reader:
    """Turns a located YAML tree into an Experiment, collecting what is wrong on the way."""

    def __init__(self, path: Path, profile: str, issues: list[Issue], trusted: bool = True) -> None:
        self.path, self.profile, self.issues, self.trusted = path, profile, issues, trusted

    def complain(self, where: Position, message: str, hint: str = "") -> None:
        self.issues.append(Issue(where, message, hint))

    def stop_if_wrong(self) -> None:
        """Raise ConfigError where there was a complaint."""
        if self.issues:
            raise ConfigError(self.issues)

    def experiment(self, root: Located) -> Experiment:
        """The whole file."""
        if not root.is_mapping:
            self.complain(root.where, f"a config is a mapping, not {kind(root)}", f"sections: {', '.join(SECTIONS)}")
            raise ConfigError(self.issues)
        self.unknown(root, ("experiment", "plugins", *SECTIONS, POPULATION, "cases"), "section")
        # (a)
        name, plugins = self.name(root), self.plugins(root)
        root = from_its_folder(root, self.path.parent)
        cases = root.value.get("cases")
        base = {s: root.value[s] for s in (*SECTIONS, POPULATION) if s in root.value}
        # (b)
        given = [one for case in (self.cases(cases, base) if cases else [base]) for one in self.by_name(case)]
        variants = [self.variant(one, root.where) for one in given]
        named = len(given) > 1 and not cases
        self.stop_if_wrong()
        # (c)
        count = sum(math.prod(map(len, variant.sweeps.values())) for variant in variants)
        if count > MAX_CELLS:
            self.complain(root.where, f"{count:,} cells; at most {MAX_CELLS:,} are allowed", FEWER)
            raise ConfigError(self.issues)
        # (d)
        built = [
            cell
            for variant in variants
            for values in itertools.product(*variant.sweeps.values())
            if (cell := self.cell(name, variant, dict(zip(variant.sweeps, values, strict=True))))
        ]
        self.stop_if_wrong()
        shared = shared_names(parameter for cell in built for parameter in cell.own_parameters)
        varying = tuple(dict.fromkeys(parameter for variant in variants for parameter in variant.sweeps))
        populated = ("problem", POPULATION) in varying
        if populated:
            # the nested keys that vary stand for the whole
            said = [parameter for parameter in differences(built) if parameter not in varying]
            varying = tuple(p for v in varying for p in (said if v == ("problem", POPULATION) else [v]))
        built = [replace(cell, swept=varying, shared=shared) for cell in built]
        if cases and len({cell.run.replicates for cell in built}) > 1:
            self.complain(cases.where, "'run.replicates' is one number for all cases", "give it in run:")
        if cases or named:
            # With `cases:`, or several names, no list says what varies, so that the cells are compared.
            differing = differences(built)
            built = [replace(cell, swept=differing) for cell in built]
        # The first of each, in the order of the file.
        different = list({cell.cell_id: cell for cell in reversed(built)}.values())[::-1]
        # sizes that differ are often one toy size, and then no mistake
        toy = self.profile == "smoke" and len(different) < len(built)
        if toy:
            built = different
        self.duplicates(root, built)
        self.stop_if_wrong()
        # With cases or several names, or at toy size, the cells are no product of lists.
        product = {} if cases or named or toy or populated else variants[0].sweeps
        sweeps = {parameter: tuple(value.plain() for value in values) for parameter, values in product.items()}
        where = root.value.get("run", root).where
        return Experiment(
            name, self.path, tuple(built), built[0].run.replicates, self.profile, sweeps, where=where, plugins=plugins
        )

    def unknown(self, mapping: Located, allowed: Sequence[str], what: str) -> None:
        """Complain of keys that are not allowed."""
        for key in mapping.value:
            if key not in allowed:
                self.complain(mapping.keys[key], f"unknown {what} '{key}'", suggest(key, allowed))

    def name(self, root: Located) -> str:
        """The experiment's name, which is also its folder's."""
        if "experiment" not in root.value:
            self.complain(root.where, "no 'experiment': it names the results folder", "add a line `experiment: NAME`")
            return ""
        located = root.value["experiment"]
        name = located.value
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
            shown = repr(name) if isinstance(name, str) else kind(located)
            message = f"experiment must be a name of letters, digits, '_' and '-', not {shown}"
            self.complain(located.where, message, "it names a folder")
        return str(name)

    def plugins(self, root: Located) -> tuple[str, ...]:
        """Load what is installed, and the files that `plugins:` names by their paths from the config file.

        Raises ConfigError where that fails: which names the sections may use is not known then.
        """
        use_installed()
        located = root.value.get("plugins", Located([], root.where))
        files = located.value if isinstance(located.value, list) else [located]
        # Only what is wrong here ends the reading.
        before = len(self.issues)
        for file in files:
            if not isinstance(file.value, str):
                self.complain(file.where, f"a plug-in is the path of a Python file, not {kind(file)}", PLUGINS_EXAMPLE)
                continue
            if not self.trusted and Path(file.value).name not in LOADED and not self.is_own(file.value):
                message = f"not checked: needs --plugin {shlex.quote(file.value)}"
                raise NotChecked([Issue(file.where, message, "a list loads no code that a config names")])
            try:
                use(self.path.parent / Path(file.value).expanduser())
            except (UsageError, RuntimeError) as error:
                self.complain(file.where, str(error), getattr(error, "hint", ""))
        if len(self.issues) > before:
            raise ConfigError(self.issues)
        return tuple(file.value for file in files)

    def is_own(self, file: str) -> bool:
        """Whether a plug-in that the config names is a file of dpexp's own."""
        return is_research((self.path.parent / file).resolve())

    def cases(self, cases: Located, base: dict[str, Located]) -> list[dict[str, Located]]:
        """The base merged with each case."""
        if not isinstance(cases.value, list) or not cases.value:
            self.complain(cases.where, f"cases must be a list of mappings, not {kind(cases)}", CASES_EXAMPLE)
            return []
        if len(cases.value) > MAX_CELLS:
            self.complain(cases.where, f"{len(cases.value):,} cases; at most {MAX_CELLS:,} are allowed", FEWER)
            return []
        found = []
        for case in cases.value:
            if not case.is_mapping:
                self.complain(case.where, f"a case must be a mapping of sections, not {kind(case)}", CASES_EXAMPLE)
                continue
            self.unknown(case, (*SECTIONS, POPULATION), "section")
            own = [s for s in (*SECTIONS, POPULATION) if s in case.value]
            # Sections that a case does not have are those that stand outside.
            found.append(base | {s: completed(base.get(s), case.value[s]) for s in own})
        return found

    def by_name(self, given: dict[str, Located]) -> list[dict[str, Located]]:
        """The sections once for each of the names that one of them lists, with the keys that this name has."""
        found = [given]
        for section, registry in REGISTRIES.items():
            located = given.get(section)
            names = located.value.get("name") if located is not None and located.is_mapping else None
            if located is None or names is None or not isinstance(names.value, list) or not names.value:
                continue
            fields = {
                one.value: parameters_of(registry[one.value]).model_fields
                for one in names.value
                if isinstance(one.value, str) and one.value in registry
            }
            several = []
            for name in names.value:
                # a key of another name is that one's; one that no name has is a mistake
                others = {key for other, keys in fields.items() if other != name.value for key in keys}
                left_out = others - set(fields.get(name.value, others)) if name.value in fields else set()
                values = {key: value for key, value in located.value.items() if key not in left_out}
                several.append(replace(located, value={**values, "name": name}))
            found = [{**one, section: own} for one in found for own in several]
        return found

    def variant(self, given: dict[str, Located], where: Position) -> _Variant:
        """The sections that are given and those that are left out, all checked."""
        sections = dict(given)
        population = sections.pop(POPULATION, None)
        # what is said of an algorithm that nobody named belongs to the problem
        left_out = {"algorithm": sections["problem"].where} if "problem" in sections else {}
        sections |= {s: Located({}, left_out.get(s, where)) for s in SECTIONS if s not in sections}
        found = _Variant(sections, {}, {})
        algorithm = _algorithm_of(sections["algorithm"])
        for section, located in sections.items():
            if not located.is_mapping:
                hint = f"for instance {section}: {{key: value}}"
                hint += f", or cases: [{{{section}: ...}}, ...] for several" if isinstance(located.value, list) else ""
                self.complain(located.where, f"'{section}' must be a mapping, not {kind(located)}", hint)
            elif model := self.kind(section, located, algorithm):
                found.kinds[section] = model
                self.keys(section, located, model, algorithm)
                for key, value in located.value.items():
                    if key in model.model_fields and self.sweeps(section, model, key, value):
                        found.sweeps[section, key] = value.value
        if population is not None and "problem" in found.kinds:
            self.population(population, found)
        return found

    def population(self, given: Located, found: _Variant) -> None:
        """Put the populations into the problem: one, or several that sweep."""
        problem = found.sections["problem"]
        options = alternatives(found.kinds["problem"], problem, given, self.issues.append)
        places = [
            Located({key: Located(value, given.where) for key, value in one.items()}, given.where) for one in options
        ]
        if len(places) == 1:
            found.sections["problem"] = replace(problem, value={**problem.value, **places[0].value})
        elif places:
            found.sections["problem"] = replace(problem, value={**problem.value, POPULATION: places[0]})
            found.sweeps["problem", POPULATION] = places

    def kind(self, section: str, located: Located, algorithm: type[Algorithm] | None) -> type[Parameters] | None:
        """The class that a section's parameters belong to, by its name where it has one."""
        if section not in REGISTRIES:
            return PrivacySettings if section == "privacy" else RunSettings
        registry, named = REGISTRIES[section], located.value.get("name")
        if named is None and section not in DEFAULT_NAMES:
            self.complain(located.where, f"'{section}.name' is missing", f"names: {listed(registry)}")
        elif named is not None and (not isinstance(named.value, str) or named.value not in registry):
            self.complain(named.where, f"unknown {section} {show(named)}", suggest(str(named.value), registry))
        else:
            default = DEFAULT_NAMES.get(section, "")
            # the schedule that is meant where none is named is the first that the algorithm takes
            if section == "schedule" and algorithm and algorithm.schedules and default not in algorithm.schedules:
                default = algorithm.schedules[0]
            return parameters_of(registry[named.value if named else default])
        return None

    def keys(self, section: str, located: Located, model: type[Parameters], algorithm: type[Algorithm] | None) -> None:
        """Complain of keys that are unknown, missing, or do not go together."""
        known_keys = [key for key in model.model_fields if key != POPULATION]
        self.unknown(located, known_keys, f"key in {section}:")
        there = located.value.keys()
        if section == "privacy" and {"eps", "mu"} <= there:
            self.complain(located.keys["eps"], "give 'privacy.mu' or 'privacy.eps', not both", "eps comes with delta")
        if section == "privacy" and "delta" in there and "eps" not in there:
            self.complain(located.keys["delta"], "'privacy.delta' belongs to 'privacy.eps'", "for instance eps: 1")
        # whether an algorithm knows its steps here is known when its problem is (`cell`); one that leaves the
        # question to its base never does, and is told at once
        never: object = Algorithm.steps
        known = {
            ("privacy", "mu"): "eps" in there,
            ("run", "n"): algorithm is not None and algorithm.steps is not never,
        }
        for key, field in model.model_fields.items():
            if key not in there and field.is_required() and not known.get((section, key)):
                self.missing(section, key, field, located.where)

    def missing(self, section: str, key: str, field: FieldInfo, where: Position) -> None:
        """Complain of a key that the config has to give."""
        hint = "write `mu: inf` for no privacy" if key == "mu" else f"allowed: {allowed(field)}"
        self.complain(where, f"'{section}.{key}' is missing", hint)

    def sweeps(self, section: str, model: type[Parameters], key: str, value: Located) -> bool:
        """Check the value of one key, or its values; whether it sweeps."""
        if not isinstance(value.value, list) or takes_a_list(model, key):
            self.check(model, section, key, value)
            return False
        if not value.value:
            self.complain(value.where, f"'{section}.{key}' is an empty list", "give a value, or several to sweep")
        elif section == "run" and key in OF_THE_EXPERIMENT:
            hint = "give one number" if key == "replicates" else f"give one: {allowed(model.model_fields[key])}"
            self.complain(value.where, f"'run.{key}' cannot be swept", hint)
        # (c): refused before each of them is looked at
        elif len(value.value) > MAX_CELLS:
            message = f"'{section}.{key}' sweeps {len(value.value):,} values; at most {MAX_CELLS:,} cells are allowed"
            self.complain(value.where, message, FEWER)
        else:
            for item in value.value:
                self.check(model, section, key, item)
        return True

    def check(self, model: type[Parameters], section: str, key: str, value: Located) -> None:
        """Validate one value of one key."""
        if model is PrivacySettings and key == "mu":
            self.check_budget(value)
            return
        try:
            # Strictly: 1 is no text, and "1" is no number.
            _adapter(model, key).validate_python(value.plain(), strict=True)
        except ValidationError as error:
            hint = f"allowed: {allowed(model.model_fields[key])}"
            self.issues.extend(explain(error, f"{section}.{key}", value, hint))

    def check_budget(self, value: Located) -> None:
        """Validate a budget: a number, or a mapping with one known law."""
        laws = [law for law in BUDGETS if law != "constant"]
        if not value.is_mapping:
            if isinstance(value.value, bool) or not isinstance(value.value, int | float):
                message = f"'privacy.mu' must be a number or a law, got {show(value)}"
                self.complain(value.where, message, LAW_EXAMPLES)
                return
            value = Located({"mu": value}, value.where)
        else:
            self.unknown(value, laws, "law of budgets")
            if not value.value.keys() <= set(laws):
                return
            if len(value.value) != 1:
                self.complain(value.where, "'privacy.mu' needs exactly one law", LAW_EXAMPLES)
                return
        try:
            _law(value.plain())
        except ValidationError as error:
            self.issues.extend(explain(error, "privacy.mu", value, LAW_EXAMPLES))

    def cell(self, experiment: str, variant: _Variant, point: Mapping[Parameter, Located]) -> Cell | None:
        """One point of the grid; None where it is wrong."""
        before = len(self.issues)
        # The values of this point in the place of the lists.
        given = {
            section: replace(located, value={k: point.get((section, k), v) for k, v in located.value.items()})
            for section, located in variant.sections.items()
        }
        if ("problem", POPULATION) in point:
            rest = {key: value for key, value in given["problem"].value.items() if key != POPULATION}
            given["problem"] = replace(given["problem"], value={**rest, **point["problem", POPULATION].value})
        problem: Problem = self.build("problem", variant, given)
        algorithm: Algorithm = self.build("algorithm", variant, given)
        schedule: Schedule = self.build("schedule", variant, given)
        privacy: PrivacySettings = self.build("privacy", variant, given)
        # asked in this order: the algorithm's own questions take parts for granted that go together
        if len(self.issues) > before or not self.compatible(problem, algorithm, schedule, given):
            return None
        if not self.trusted and problem.files():
            message = f"not checked: reads {', '.join(problem.files())}"
            raise NotChecked([Issue(given["problem"].where, message, "a list opens no data that a config names")])
        try:
            problem.prepare()
        except UsageError as error:
            # at the place that names the records
            self.complain(given["problem"].value.get("data", given["problem"]).where, error.message, error.hint)
            return None
        if "n" not in given["run"].value:
            n, where = algorithm.steps(problem, schedule, privacy.mu), given["run"].where
            if n is None:
                self.missing("run", "n", RunSettings.model_fields["n"], where)
            elif n > MOST_STEPS:
                message = f"that makes {n:.3g} steps; at most {MOST_STEPS:.0e}"
                self.complain(given["algorithm"].where, message, "fewer epochs")
            given["run"].value["n"] = Located(n, where)
        run: RunSettings | None = self.build("run", variant, given) if len(self.issues) == before else None
        if run is None:
            return None
        for message in algorithm.complaints(problem, schedule, privacy.mu, run.n):
            self.complain(given["algorithm"].where, message)
        # After everything was asked at full size, which is what the config says.
        if self.profile == "smoke":
            run = smoke(run, algorithm.smoke_size)
        return Cell(experiment, problem, algorithm, schedule, privacy, run)

    def build(self, section: str, variant: _Variant, given: Mapping[str, Located]) -> Any:
        """A section's values as one value; None where they are wrong."""
        located = given[section]
        try:
            values = _with_budget(located.plain()) if section == "privacy" else located.plain()
            return variant.kinds[section].model_validate(values)
        except ValidationError as error:
            self.issues.extend(explain(error, section, located))
            return None

    def compatible(
        self, problem: Problem, algorithm: Algorithm, schedule: Schedule, given: Mapping[str, Located]
    ) -> bool:
        """Complain of a problem or schedule that the algorithm does not take."""
        runs, takes = isinstance(problem, algorithm.runs_on), schedule.name in algorithm.schedules
        if not runs:
            message = f"algorithm '{algorithm.name}' does not run on problem '{problem.name}'"
            self.complain(given["problem"].where, message, f"it runs on: {', '.join(problems_of(algorithm))}")
        drawn = isinstance(problem, LinearPredictorProblem) and problem.population is not None
        if drawn and not algorithm.populations:
            message = f"algorithm '{algorithm.name}' does not take a population"
            names = [name for name, kind in ALGORITHMS.items() if kind.populations]
            self.complain(given["algorithm"].where, message, f"these do: {', '.join(names)}")
            return False
        if not takes:
            message = f"algorithm '{algorithm.name}' does not take schedule '{schedule.name}'"
            self.complain(given["schedule"].where, message, f"it takes: {', '.join(algorithm.schedules)}")
        return runs and takes

    def duplicates(self, root: Located, cells: list[Cell]) -> None:
        """Complain of cells that are the same setting."""
        seen: dict[str, int] = {}
        for number, cell in enumerate(cells, start=1):
            first = seen.setdefault(cell.cell_id, number)
            if first < number:
                message = f"cells {first} and {number} are the same setting"
                self.complain(root.where, message, "take one of them out of the sweep")


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]


def parameters_of(kind: type[object]) -> type[Parameters]:
    """A class that a config names, as the parameters that all of them are."""
    if not issubclass(kind, Parameters):
        raise TypeError(f"{kind.__qualname__} has no parameters: let it inherit from {Parameters.__qualname__}")
    return kind


def _algorithm_of(section: Located) -> type[Algorithm] | None:
    """The class that the section `algorithm` names, or the default's, without complaints."""
    named = section.value.get("name") if section.is_mapping else None
    name = named.value if named else DEFAULT_NAMES["algorithm"]
    return ALGORITHMS.get(name) if isinstance(name, str) else None


def _with_budget(plain: dict[str, Any]) -> dict[str, Any]:
    """The values of the section privacy with a target, or a law of budgets, in place of its numbers."""
    if "eps" not in plain:
        return plain | {"mu": _law(as_budget(plain["mu"]))}
    delta = plain.get("delta", 1e-5)
    # Epsilon is reported at the delta of the target.
    return {"delta": delta, "deltas": (delta,), **plain, "mu": Target(eps=plain["eps"], delta=delta)}


def _law(budget: dict[str, Any]) -> Any:
    """The budgets of `{mu: 2}`, or of a law by its name. Raises ValidationError."""
    return BUDGETS["constant" if "mu" in budget else next(iter(budget))].model_validate(budget)


@lru_cache(maxsize=512)
def _adapter(model: type[Parameters], key: str) -> TypeAdapter[Any]:
    """The check of one field alone, with its constraints."""
    field = model.model_fields[key]
    kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    return TypeAdapter(kind)


def takes_a_list(model: type[Parameters], key: str) -> bool:
    return get_origin(model.model_fields[key].annotation) is tuple
