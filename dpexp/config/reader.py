"""From a YAML tree to an Experiment, collecting everything that is wrong on the way.

(a) Plug-ins are loaded first: which names the sections may use is not known before.
(b) Every section of every variant is checked by itself, a swept value like a single one, so that all mistakes are
reported at once.
(c) Nothing is multiplied out before the number of cells is known.
(d) Then every point of the grid is built, and what depends on a whole setting is checked: whether its parts go
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
from dpexp.algorithms.one_pass import OnePassAlgorithm
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
from dpexp.config.sections import by_name, completed, from_its_folder
from dpexp.config.settings import differences
from dpexp.config.yamlfile import ConfigError, Issue, NotChecked, Position, Tree
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Parameters
from dpexp.plugins.loaded import LOADED, is_research
from dpexp.plugins.loading import use, use_installed
from dpexp.privacy.budgets import BUDGETS, PrivacySettings, PureBudget, Target, as_budget
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

    sections: dict[str, Tree]
    """all of them, in the order of the file"""
    kinds: dict[str, type[Parameters]]
    """what they are sections of, where that is known"""
    sweeps: dict[Parameter, list[Tree]]
    """in the order of the file"""

    def section(self, name: str, point: Mapping[Parameter, Tree]) -> Tree:
        """A section at a point of the grid, with one value for each list."""
        swept = {key: value for (section, key), value in point.items() if section == name}
        if not swept:
            return self.sections[name]
        parts = {**self.sections[name].parts(), **swept}
        if isinstance(population := swept.get(POPULATION), Tree):
            del parts[POPULATION]
            parts |= population.parts()
        return self.sections[name].joined(parts)


class Reader:
    """Turns a YAML tree into an Experiment, collecting what is wrong on the way."""

    def __init__(self, path: Path, profile: str, issues: list[Issue], trusted: bool = True) -> None:
        self.path, self.profile, self.issues, self.trusted = path, profile, issues, trusted

    def complain(self, where: Position, message: str, hint: str = "") -> None:
        self.issues.append(Issue(where, message, hint))

    def stop_if_wrong(self) -> None:
        """Raise ConfigError where there was a complaint."""
        if self.issues:
            raise ConfigError(self.issues)

    def experiment(self, root: Tree) -> Experiment:
        """The whole file."""
        if not isinstance(root.value, dict):
            self.complain(
                root.at(), f"a config is a mapping, not {kind(root.value)}", f"sections: {', '.join(SECTIONS)}"
            )
            raise ConfigError(self.issues)
        self.unknown(root, ("experiment", "plugins", *SECTIONS, POPULATION, "cases"), "section")
        # (a)
        name, plugins = self.name(root), self.plugins(root)
        from_its_folder(root, self.path.parent)
        base = _sections(root)
        cased = "cases" in root
        # (b)
        cases = self.cases(root.part("cases"), base) if cased else [base]
        choices = [sections for case in cases for sections in _named(case)]
        variants = [self.variant(part, root) for part in choices]
        self.stop_if_wrong()
        # (c)
        count = sum(math.prod(map(len, variant.sweeps.values())) for variant in variants)
        if count > MAX_CELLS:
            self.complain(root.at(), f"{count:,} cells; at most {MAX_CELLS:,} are allowed", FEWER)
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
        built = [replace(cell, shared=shared) for cell in built]
        populated = any(("problem", POPULATION) in variant.sweeps for variant in variants)
        # With `cases:`, or several names, no list says what varies, so that the cells are compared.
        listed_out = cased or len(choices) > 1
        varying = tuple(dict.fromkeys(parameter for variant in variants for parameter in variant.sweeps))
        if populated or listed_out:
            differing = differences(built)
            # the nested keys that vary stand for the whole
            nested = [parameter for parameter in differing if parameter not in varying]
            several = (p for v in varying for p in (nested if v == ("problem", POPULATION) else [v]))
            varying = differing if listed_out else tuple(several)
        built = [replace(cell, swept=varying) for cell in built]
        if cased and len({cell.run.replicates for cell in built}) > 1:
            self.complain(root.at("cases"), "'run.replicates' is one number for all cases", "give it in run:")
        # sizes that differ are often one toy size, and then no mistake: the first of each, in the order of the file
        different = {cell.cell_id: cell for cell in reversed(built)}
        toy = self.profile == "smoke" and len(different) < len(built)
        if toy:
            built = list(different.values())[::-1]
        self.duplicates(root, built)
        self.stop_if_wrong()
        # With cases or several names, or at toy size, the cells are no product of lists.
        product = {} if listed_out or toy or populated else variants[0].sweeps
        sweeps = {parameter: tuple(part.value for part in values) for parameter, values in product.items()}
        replicates = built[0].run.replicates
        return Experiment(
            name, self.path, tuple(built), replicates, self.profile, sweeps, where=root.at("run"), plugins=plugins
        )

    def unknown(self, mapping: Tree, allowed: Sequence[str], noun: str) -> None:
        """Complain of keys that are not allowed."""
        for key in mapping.value:
            if key not in allowed:
                self.complain(mapping.key(key), f"unknown {noun} '{key}'", suggest(key, allowed))

    def name(self, root: Tree) -> str:
        """The experiment's name, which is also its folder's."""
        if "experiment" not in root:
            self.complain(root.at(), "no 'experiment': it names the results folder", "add a line `experiment: NAME`")
            return ""
        name = root.value["experiment"]
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
            words = repr(name) if isinstance(name, str) else kind(name)
            message = f"experiment must be a name of letters, digits, '_' and '-', not {words}"
            self.complain(root.at("experiment"), message, "it names a folder")
        return str(name)

    def plugins(self, root: Tree) -> tuple[str, ...]:
        """Load what is installed, and the files that `plugins:` names by their paths from the config file.

        Raises ConfigError where that fails: which names the sections may use is not known then.
        """
        use_installed()
        files = root.part("plugins").items() if "plugins" in root else []
        # Only what is wrong here ends the reading.
        before = len(self.issues)
        for file in files:
            if not isinstance(file.value, str):
                message = f"a plug-in is the path of a Python file, not {kind(file.value)}"
                self.complain(file.at(), message, PLUGINS_EXAMPLE)
                continue
            path = self.path.parent / Path(file.value).expanduser()
            if not self.trusted and path.name not in LOADED and not is_research(path.resolve()):
                message = f"not checked: needs --plugin {shlex.quote(file.value)}"
                raise NotChecked([Issue(file.at(), message, "a list loads no code that a config names")])
            try:
                use(path)
            except (UsageError, RuntimeError) as error:
                self.complain(file.at(), str(error), getattr(error, "hint", ""))
        if len(self.issues) > before:
            raise ConfigError(self.issues)
        return tuple(file.value for file in files)

    def cases(self, cases: Tree, base: dict[str, Tree]) -> list[dict[str, Tree]]:
        """The base merged with each case."""
        if not isinstance(cases.value, tuple) or not cases.value:
            self.complain(cases.at(), f"cases must be a list of mappings, not {kind(cases.value)}", CASES_EXAMPLE)
            return []
        if len(cases.value) > MAX_CELLS:
            self.complain(cases.at(), f"{len(cases.value):,} cases; at most {MAX_CELLS:,} are allowed", FEWER)
            return []
        merged = []
        for case in cases.items():
            if not isinstance(case.value, dict):
                message = f"a case must be a mapping of sections, not {kind(case.value)}"
                self.complain(case.at(), message, CASES_EXAMPLE)
                continue
            self.unknown(case, (*SECTIONS, POPULATION), "section")
            # Sections that a case does not have are those outside.
            merged.append(base | {s: completed(base.get(s), section) for s, section in _sections(case).items()})
        return merged

    def variant(self, written: dict[str, Tree], root: Tree) -> _Variant:
        """The sections that are given and those that are left out, all checked."""
        sections = dict(written)
        population = sections.pop(POPULATION, None)
        # what is said of an algorithm that nobody named belongs to the problem
        left_out = {"algorithm": sections.get("problem", root)}
        sections |= {s: left_out.get(s, root).holding({}) for s in SECTIONS if s not in sections}
        variant = _Variant(sections, {}, {})
        algorithm = _algorithm_of(sections["algorithm"].value)
        for section, tree in sections.items():
            if not isinstance(tree.value, dict):
                hint = f"for instance {section}: {{key: value}}"
                hint += f", or cases: [{{{section}: ...}}, ...] for several" if isinstance(tree.value, tuple) else ""
                self.complain(tree.at(), f"'{section}' must be a mapping, not {kind(tree.value)}", hint)
            elif model := self.kind(section, tree, algorithm):
                variant.kinds[section] = model
                self.keys(section, tree, model, algorithm)
                for key, part in tree.parts().items():
                    if key in model.model_fields and (values := self.values(section, model, key, part)):
                        variant.sweeps[section, key] = values
        if population is not None and "problem" in variant.kinds:
            self.population(population, variant)
        return variant

    def population(self, section: Tree, variant: _Variant) -> None:
        """Put the populations into the problem: one, or several that sweep."""
        problem = variant.sections["problem"]
        variant.sections[POPULATION] = section
        design = section.value.get("design") if isinstance(section.value, dict) else None
        if not self.trusted and isinstance(design, dict) and "rows" in design:
            message = f"not checked: reads {design['rows']}"
            raise NotChecked([Issue(section.at(), message, "a list opens no data that a config names")])
        options = alternatives(variant.kinds["problem"], problem, section, self.complain)
        places = [section.joined({key: section.holding(value) for key, value in values.items()}) for values in options]
        if len(places) == 1:
            variant.sections["problem"] = problem.joined({**problem.parts(), **places[0].parts()})
        elif places:
            variant.sections["problem"] = problem.joined({**problem.parts(), POPULATION: places[0]})
            variant.sweeps["problem", POPULATION] = places

    def kind(self, section: str, tree: Tree, algorithm: type[Algorithm] | None) -> type[Parameters] | None:
        """The class that a section's parameters belong to, by its name where it has one."""
        if section not in REGISTRIES:
            return PrivacySettings if section == "privacy" else RunSettings
        registry, default = REGISTRIES[section], DEFAULT_NAMES.get(section)
        # the schedule that is meant where none is named is the first that the algorithm takes
        if section == "schedule" and algorithm and algorithm.schedules and default not in algorithm.schedules:
            default = algorithm.schedules[0]
        name = tree.value.get("name", default)
        if isinstance(name, str) and name in registry:
            return parameters_of(registry[name])
        if name is None and "name" not in tree:
            self.complain(tree.at(), f"'{section}.name' is missing", f"names: {listed(registry)}")
        else:
            self.complain(tree.at("name"), f"unknown {section} {show(name)}", suggest(str(name), registry))
        return None

    def keys(self, section: str, tree: Tree, model: type[Parameters], algorithm: type[Algorithm] | None) -> None:
        """Complain of keys that are unknown, missing, or do not go together."""
        self.unknown(tree, [key for key in model.model_fields if key != POPULATION], f"key in {section}:")
        if section == "privacy" and "eps" in tree and "mu" in tree:
            self.complain(tree.key("eps"), "give 'privacy.mu' or 'privacy.eps', not both", "eps comes with delta")
        if section == "privacy" and "delta" in tree and "eps" not in tree:
            self.complain(tree.key("delta"), "'privacy.delta' belongs to 'privacy.eps'", "for instance eps: 1")
        if section == "privacy" and "message" in tree and tree.value.get("delta") != 0:
            self.complain(tree.key("message"), "'privacy.message' belongs to eps with delta: 0", "leave out `message`")
        # whether an algorithm knows its steps here is known when its problem is (`cell`); one that leaves the
        # question to its base never does, and is told at once
        never: object = Algorithm.steps
        known = {
            ("privacy", "mu"): "eps" in tree,
            ("run", "n"): algorithm is not None and algorithm.steps is not never,
        }
        for key, field in model.model_fields.items():
            if key not in tree and field.is_required() and not known.get((section, key)):
                self.missing(section, key, field, tree.at())

    def missing(self, section: str, key: str, field: FieldInfo, where: Position) -> None:
        """Complain of a key that the config has to give."""
        hint = "write `mu: inf` for no privacy" if key == "mu" else f"allowed: {allowed(field)}"
        self.complain(where, f"'{section}.{key}' is missing", hint)

    def values(self, section: str, model: type[Parameters], key: str, tree: Tree) -> list[Tree]:
        """Check the value of one key, or its values: those that it sweeps over, or none."""
        if not isinstance(tree.value, tuple) or takes_a_list(model, key):
            self.check(model, section, key, tree)
            return []
        if not tree.value:
            self.complain(tree.at(), f"'{section}.{key}' is an empty list", "give a value, or several to sweep")
        elif section == "run" and key in OF_THE_EXPERIMENT:
            hint = "give one number" if key == "replicates" else f"give one: {allowed(model.model_fields[key])}"
            self.complain(tree.at(), f"'run.{key}' cannot be swept", hint)
        # (c): refused before each of them is looked at
        elif len(tree.value) > MAX_CELLS:
            message = f"'{section}.{key}' sweeps {len(tree.value):,} values; at most {MAX_CELLS:,} cells are allowed"
            self.complain(tree.at(), message, FEWER)
        else:
            values = tree.items()
            for item in values:
                self.check(model, section, key, item)
            return values
        return []

    def check(self, model: type[Parameters], section: str, key: str, tree: Tree) -> None:
        """Validate one value of one key."""
        if model is PrivacySettings and key == "mu":
            self.check_budget(tree)
            return
        try:
            # Strictly: 1 is no text, and "1" is no number.
            _adapter(model, key).validate_python(tree.value, strict=True)
        except ValidationError as error:
            self.issues += explain(error, f"{section}.{key}", tree, f"allowed: {allowed(model.model_fields[key])}")

    def check_budget(self, tree: Tree) -> None:
        """Validate a budget: a number, or a mapping with one known law."""
        laws = [law for law in BUDGETS if law != "constant"]
        if isinstance(tree.value, dict):
            self.unknown(tree, laws, "law of budgets")
            if not tree.value.keys() <= set(laws):
                return
            if len(tree.value) != 1:
                self.complain(tree.at(), "'privacy.mu' needs exactly one law", LAW_EXAMPLES)
                return
        elif isinstance(tree.value, bool) or not isinstance(tree.value, int | float):
            self.complain(tree.at(), f"'privacy.mu' must be a number or a law, got {show(tree.value)}", LAW_EXAMPLES)
            return
        try:
            _law(as_budget(tree.value))
        except ValidationError as error:
            self.issues += explain(error, "privacy.mu", tree, LAW_EXAMPLES)

    def cell(self, experiment: str, variant: _Variant, point: Mapping[Parameter, Tree]) -> Cell | None:
        """One point of the grid; None where it is wrong."""
        before = len(self.issues)
        sections = {section: variant.section(section, point) for section in SECTIONS}
        problem: Problem = self.build("problem", variant, sections)
        algorithm: Algorithm = self.build("algorithm", variant, sections)
        schedule: Schedule = self.build("schedule", variant, sections)
        privacy: PrivacySettings = self.build("privacy", variant, sections)
        # asked in this order: the algorithm's own questions take parts for granted that go together
        if len(self.issues) > before or not self.compatible(problem, algorithm, schedule, sections):
            return None
        if not self.trusted and problem.files():
            message = f"not checked: reads {', '.join(problem.files())}"
            raise NotChecked([Issue(sections["problem"].at(), message, "a list opens no data that a config names")])
        try:
            problem.prepare()
        except UsageError as error:
            # at the place that names the records
            self.complain(sections["problem"].at("data"), error.message, error.hint)
            return None
        run = sections["run"]
        if "n" not in run:
            n = algorithm.steps(problem, schedule, privacy.mu)
            if n is None:
                self.missing("run", "n", RunSettings.model_fields["n"], run.at())
            elif n > MOST_STEPS:
                message = f"that makes {n:.3g} steps; at most {MOST_STEPS:.0e}"
                self.complain(sections["algorithm"].at(), message, "fewer epochs")
            sections["run"] = replace(run, value={**run.value, "n": n})
        settings: RunSettings | None = self.build("run", variant, sections) if len(self.issues) == before else None
        if settings is None:
            return None
        if privacy.mu.pure_eps is not None and not algorithm.pure_budgets:
            message = f"'{algorithm.name}' takes no eps with delta = 0, which is of users who send one message each"
            self.complain(sections["privacy"].at("delta"), message, "ldp-sgd, or a delta above 0")
            return None
        for message in algorithm.complaints(problem, schedule, privacy.mu, settings.n):
            message, _, hint = message.partition("\n")
            key = re.search(r"'population\.(\w+)'", message)
            where = variant.sections[POPULATION].at(key[1]) if key and POPULATION in variant.sections else None
            self.complain(where or sections["algorithm"].at(), message, hint)
        if settings.coefficients and not self.recorded(problem, algorithm, settings, run):
            return None
        # After everything was asked at full size, which is what the config says.
        if self.profile == "smoke":
            settings = smoke(settings, algorithm.smoke_size)
        return Cell(experiment, problem, algorithm, schedule, privacy, settings)

    def recorded(self, problem: Problem, algorithm: Algorithm, settings: RunSettings, run: Tree) -> bool:
        """Complain of coefficients that a run cannot record."""
        if not (isinstance(problem, LinearPredictorProblem) and isinstance(algorithm, OnePassAlgorithm)):
            message = f"algorithm '{algorithm.name}' on problem '{problem.name}' has no coefficients to record"
            self.complain(run.at("coefficients"), message, "leave out `coefficients`")
            return False
        known = {"all", *range(problem.d + 1), *(("scale",) if problem.has_scale else ())}
        for place, entry in enumerate(settings.coefficients):
            if entry not in known:
                tree = run.part("coefficients")
                where = tree.items()[place].at() if isinstance(tree.value, tuple) else tree.at()
                scale = ", scale the scale" if problem.has_scale else ""
                hint = f"0 is the intercept, 1 to {problem.d} the slopes{scale}"
                self.complain(where, f"'run.coefficients': there is no coefficient {entry}", hint)
        return known >= set(settings.coefficients)

    def build(self, section: str, variant: _Variant, sections: Mapping[str, Tree]) -> Any:
        """A section's values as one value; None where they are wrong."""
        tree = sections[section]
        try:
            values = _with_budget(tree.value) if section == "privacy" else tree.value
            return variant.kinds[section].model_validate(values)
        except ValidationError as error:
            # the numbers of a budget were checked one by one, but for the epsilon of messages
            self.issues += explain(error, "privacy.eps" if section == "privacy" else section, tree)
            return None

    def compatible(self, problem: Problem, algorithm: Algorithm, schedule: Schedule, trees: Mapping[str, Tree]) -> bool:
        """Complain of a problem or schedule that the algorithm does not take."""
        runs, takes = isinstance(problem, algorithm.runs_on), schedule.name in algorithm.schedules
        if not runs:
            message = f"algorithm '{algorithm.name}' does not run on problem '{problem.name}'"
            self.complain(trees["problem"].at(), message, f"it runs on: {', '.join(problems_of(algorithm))}")
        drawn = isinstance(problem, LinearPredictorProblem) and problem.population is not None
        if drawn and not algorithm.populations:
            message = f"algorithm '{algorithm.name}' does not take a population"
            names = [name for name, kind in ALGORITHMS.items() if kind.populations]
            self.complain(trees["algorithm"].at(), message, f"these do: {', '.join(names)}")
            return False
        if not takes:
            message = f"algorithm '{algorithm.name}' does not take schedule '{schedule.name}'"
            self.complain(trees["schedule"].at(), message, f"it takes: {', '.join(algorithm.schedules)}")
        return runs and takes

    def duplicates(self, root: Tree, cells: list[Cell]) -> None:
        """Complain of cells that are the same setting."""
        numbers: dict[str, int] = {}
        for number, cell in enumerate(cells, start=1):
            first = numbers.setdefault(cell.cell_id, number)
            if first < number:
                message = f"cells {first} and {number} are the same setting"
                self.complain(root.at(), message, "take one of them out of the sweep")


def _sections(tree: Tree) -> dict[str, Tree]:
    """The sections of a config or a case, in one order for all files."""
    return {section: tree.part(section) for section in (*SECTIONS, POPULATION) if section in tree}


def _named(sections: dict[str, Tree]) -> list[dict[str, Tree]]:
    """The sections once for each of the names that one of them lists."""
    several = [sections]
    for section, registry in REGISTRIES.items():
        if section in sections:
            fields = {name: parameters_of(kind).model_fields for name, kind in registry.items()}
            several = [{**choice, section: own} for choice in several for own in by_name(sections[section], fields.get)]
    return several


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]


def parameters_of(kind: type[object]) -> type[Parameters]:
    """A class that a config names, as the parameters that all of them are."""
    if not issubclass(kind, Parameters):
        raise TypeError(f"{kind.__qualname__} has no parameters: let it inherit from {Parameters.__qualname__}")
    return kind


def _algorithm_of(section: Any) -> type[Algorithm] | None:
    """The class that the section `algorithm` names, or the default's, without complaints."""
    name = section.get("name", DEFAULT_NAMES["algorithm"]) if isinstance(section, dict) else DEFAULT_NAMES["algorithm"]
    return ALGORITHMS.get(name) if isinstance(name, str) else None


def _with_budget(plain: dict[str, Any]) -> dict[str, Any]:
    """The values of the section privacy with a target, or a law of budgets, in place of its numbers."""
    if "eps" not in plain:
        return plain | {"mu": _law(as_budget(plain["mu"]))}
    delta = plain.get("delta", 1e-5)
    if delta == 0:
        return plain | {"mu": PureBudget(eps=plain["eps"])}
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
