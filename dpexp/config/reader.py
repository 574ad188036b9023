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
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import AlgorithmBase
from dpexp.algorithms.schedules import SCHEDULES, Schedule
from dpexp.config.cells import OF_THE_EXPERIMENT, SECTIONS, Cell, Experiment, RunSettings, shared_names, smoke
from dpexp.config.messages import allowed, explain, kind, listed, show, suggest
from dpexp.config.settings import differences
from dpexp.config.tuning import OVER, TUNE, merged, place
from dpexp.config.yamlfile import ConfigError, Issue, Located, Position
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Parameters
from dpexp.plugins.loading import use, use_installed
from dpexp.privacy.budgets import BUDGETS, PrivacySettings, Target, as_budget
from dpexp.problems import PROBLEMS

if TYPE_CHECKING:
    from dpexp.algorithms.algorithm import Algorithm
    from dpexp.core.parameters import Named
    from dpexp.problems.problem import Problem

N = TypeVar("N", bound="Named")
V = TypeVar("V")

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


class _Choice(NamedTuple):
    """One swept value: what it is and where it stands."""

    section: str
    key: str
    values: list[Located]


class Reader:
    """Turns a located YAML tree into an Experiment, collecting what is wrong on the way."""

    def __init__(self, path: Path, profile: str, issues: list[Issue], accepted: bool = False) -> None:
        self.path, self.profile, self.issues, self.accepted = path, profile, issues, accepted
        self.algorithm: type[Algorithm] | None = None
        """class of the algorithm of the variant at hand, if its name is known"""

    def complain(self, where: Position, message: str, hint: str = "") -> None:
        self.issues.append(Issue(where, message, hint))

    def experiment(self, root: Located) -> Experiment:
        """The whole file."""
        if not isinstance(root.value, dict):
            self.complain(root.where, f"a config is a mapping, not {kind(root)}", f"sections: {', '.join(SECTIONS)}")
            raise ConfigError(self.issues)
        self.unknown(root, ("experiment", "plugins", *SECTIONS, TUNE, "cases"), "section")
        # (a)
        name, plugins = self.name(root), self.plugins(root)
        root = _from_here(root, self.path.parent)
        base = {s: root.value[s] for s in (*SECTIONS, TUNE) if s in root.value}
        variants = self.cases(root.value["cases"], base, root.where) if "cases" in root.value else [base]
        variants = [merged(variant, DEFAULT_NAMES["algorithm"], self.complain) for variant in variants]
        # (b)
        grids = [self.grid(root, variant) for variant in variants]
        if self.issues:
            raise ConfigError(self.issues)
        # (c)
        count = sum(math.prod(len(choice.values) for choice in grid[1]) for grid in grids)
        if count > MAX_CELLS:
            self.complain(root.where, f"{count:,} cells; at most {MAX_CELLS:,} are allowed", FEWER)
            raise ConfigError(self.issues)
        # (d)
        varying = self.varying(grids)
        cells = [
            self.cell(name, root, sections, choices, combination, varying)
            for sections, choices in grids
            for combination in itertools.product(*(choice.values for choice in choices))
        ]
        if self.issues:
            raise ConfigError(self.issues)
        shared = shared_names(parameter for cell in cells if cell is not None for parameter in cell.own_parameters)
        built = [replace(cell, shared=shared) for cell in cells if cell is not None]
        if "cases" in root.value:
            if len({cell.run.replicates for cell in built}) > 1:
                self.complain(
                    root.value["cases"].where, "'run.replicates' is one number for all cases", "give it in run:"
                )
            differing = differences(built)
            built = [replace(cell, swept=differing) for cell in built]
        different = list({cell.cell_id: cell for cell in reversed(built)}.values())[::-1]
        # sizes that differ are often one toy size, and then no mistake
        toy = self.profile == "smoke" and len(different) < len(built)
        if toy:
            built = different
        self.duplicates(root, built)
        if self.issues:
            raise ConfigError(self.issues)
        sweeps = {}
        if "cases" not in root.value and not toy:
            sweeps = {(c.section, c.key): tuple(v.plain() for v in c.values) for c in grids[0][1]}
        where = root.value["run"].where if "run" in root.value else root.where
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
            self.complain(
                located.where,
                f"experiment must be a name of letters, digits, '_' and '-', not {shown}",
                "it names a folder",
            )
            return ""
        return name

    def plugins(self, root: Located) -> tuple[str, ...]:
        """Load what is installed, and the files that `plugins:` names by their paths from the config file.

        Raises ConfigError where that fails: which names the sections may use is not known then.
        """
        use_installed()
        located = root.value.get("plugins", Located([], root.where))
        files = located.value if isinstance(located.value, list) else [located]
        before = len(self.issues)
        for file in files:
            if not isinstance(file.value, str):
                self.complain(file.where, f"a plug-in is the path of a Python file, not {kind(file)}", PLUGINS_EXAMPLE)
                continue
            try:
                use(self.path.parent / Path(file.value).expanduser())
            except (UsageError, RuntimeError) as error:
                self.complain(file.where, str(error), getattr(error, "hint", ""))
        if len(self.issues) > before:
            raise ConfigError(self.issues)
        return tuple(file.value for file in files)

    def cases(self, cases: Located, base: dict[str, Located], where: Position) -> list[dict[str, Located]]:
        """The base merged with each case."""
        if not isinstance(cases.value, list) or not cases.value:
            self.complain(cases.where, f"cases must be a list of mappings, not {kind(cases)}", CASES_EXAMPLE)
            return []
        if len(cases.value) > MAX_CELLS:
            self.complain(cases.where, f"{len(cases.value):,} cases; at most {MAX_CELLS:,} are allowed", FEWER)
            return []
        found = []
        for case in cases.value:
            if not isinstance(case.value, dict):
                self.complain(case.where, f"a case must be a mapping of sections, not {kind(case)}", CASES_EXAMPLE)
                continue
            self.unknown(case, (*SECTIONS, TUNE), "section")
            own = [s for s in (*SECTIONS, TUNE) if s in case.value]
            found.append(base | {s: _merge(base.get(s), case.value[s]) for s in own})
        return found

    def grid(self, root: Located, sections: dict[str, Located]) -> tuple[dict[str, Located], list[_Choice]]:
        """Check every section of one variant; its sweeps, in the order of the file."""
        choices: list[_Choice] = []
        self.algorithm = self.algorithm_of(sections)
        for section in [*sections, *(s for s in SECTIONS if s not in sections)]:
            located = sections.get(section) or Located({}, root.where)
            if not isinstance(located.value, dict):
                self.complain(
                    located.where,
                    f"'{section}' must be a mapping, not {kind(located)}",
                    f"for instance {section}: {{key: value}}",
                )
                continue
            model = self.model(section, located)
            if model is None:
                continue
            fields = model.model_fields
            self.unknown(located, list(fields), f"key in {section}:")
            if section == "privacy":
                self.one_target(located, root.where)
            for key, info in fields.items():
                if key not in located.value and info.is_required() and not self.known_otherwise(key, located):
                    self.missing(section, key, info, located.where if section in sections else root.where)
            for key, value in located.value.items():
                if key in fields:
                    choices += self.values(section, model, key, value, located.keys[key])
        return sections, choices

    def algorithm_of(self, sections: dict[str, Located]) -> type[Algorithm] | None:
        """The class that the section `algorithm` names, or the default's, without complaints."""
        located = sections.get("algorithm")
        inside = located.value if located is not None and isinstance(located.value, dict) else {}
        name = inside["name"].value if "name" in inside else DEFAULT_NAMES["algorithm"]
        return ALGORITHMS.get(name) if isinstance(name, str) else None

    def known_otherwise(self, key: str, located: Located) -> bool:
        """Whether a missing key may follow from others: a target gives the budget, some algorithms their steps."""
        # whether an algorithm knows them here is known when its problem is (`steps_of`); one that leaves the question
        # to its base never does, and is told at once
        never: object = AlgorithmBase.steps
        knows = self.algorithm is not None and self.algorithm.steps is not never
        return (key == "mu" and "eps" in located.value) or (key == "n" and knows)

    def missing(self, section: str, key: str, field: FieldInfo, where: Position) -> None:
        """Complain of a key that the config has to give."""
        hint = "write `mu: inf` for no privacy" if key == "mu" else f"allowed: {_allowed(field)}"
        self.complain(where, f"'{section}.{key}' is missing", hint)

    def one_target(self, located: Located, where: Position) -> None:
        """Complain of a budget beside a target, or of a delta without one."""
        if "eps" in located.value and "mu" in located.value:
            self.complain(located.keys["eps"], "give 'privacy.mu' or 'privacy.eps', not both", "eps comes with delta")
        if "delta" in located.value and "eps" not in located.value:
            self.complain(located.keys["delta"], "'privacy.delta' belongs to 'privacy.eps'", "for instance eps: 1")

    def model(self, section: str, located: Located) -> type[Parameters] | None:
        """The class that a section's parameters belong to."""
        if section not in REGISTRIES:
            return PrivacySettings if section == "privacy" else RunSettings
        kind = self.kind(section, REGISTRIES[section], located)
        return None if kind is None else parameters_of(kind)

    def kind(self, section: str, registry: Mapping[str, type[N]], located: Located) -> type[N] | None:
        """What a section's name means in its registry."""
        named = located.value.get("name")
        if named is None:
            if section in DEFAULT_NAMES:
                return registry[self.default(section)]
            self.complain(located.where, f"'{section}.name' is missing", f"names: {listed(registry)}")
            return None
        if isinstance(named.value, list):
            self.complain(named.where, f"'{section}.name' cannot be swept", "use `cases:`")
            return None
        if not isinstance(named.value, str) or named.value not in registry:
            self.complain(named.where, f"unknown {section} {show(named)}", suggest(str(named.value), registry))
            return None
        return registry[named.value]

    def default(self, section: str) -> str:
        """The name that is meant where none is given: the first schedule that the algorithm takes."""
        accepted = self.algorithm.schedules if self.algorithm is not None and section == "schedule" else ()
        return DEFAULT_NAMES[section] if not accepted or DEFAULT_NAMES[section] in accepted else accepted[0]

    def values(self, section: str, model: type[Parameters], key: str, value: Located, where: Position) -> list[_Choice]:
        """Check the value of one key; a choice where it sweeps."""
        if not isinstance(value.value, list) or takes_a_list(model, key):
            self.check(model, section, key, value)
            return []
        if not value.value:
            self.complain(value.where, f"'{place(section, key)}' is an empty list", "give a value, or several to sweep")
            return []
        if section == "run" and key in OF_THE_EXPERIMENT:
            hint = "give one number" if key == "replicates" else f"give one: {_allowed(model.model_fields[key])}"
            self.complain(value.where, f"'run.{key}' cannot be swept", hint)
            return []
        # (c): refused before each of them is looked at
        if len(value.value) > MAX_CELLS:
            message = f"'{section}.{key}' sweeps {len(value.value):,} values; at most {MAX_CELLS:,} cells are allowed"
            self.complain(value.where, message, FEWER)
            return []
        for item in value.value:
            self.check(model, section, key, item)
        return [_Choice(section, key, value.value)]

    def check(self, model: type[Parameters], section: str, key: str, value: Located) -> None:
        """Validate one value of one key."""
        name = place(section, key)
        if model is PrivacySettings and key == "mu":
            self.check_budget(value)
            return
        field = model.model_fields[key]
        try:
            _adapter(model, key).validate_python(value.plain(), strict=True)
        except ValidationError as error:
            self.explain(error, name, value, f"allowed: {_allowed(field)}")

    def check_budget(self, value: Located) -> None:
        """Validate a budget: a number, or a mapping with one known law."""
        laws = [law for law in BUDGETS if law != "constant"]
        if not isinstance(value.value, dict):
            if isinstance(value.value, bool) or not isinstance(value.value, int | float):
                message = f"'privacy.mu' must be a number or a law, got {show(value)}"
                self.complain(value.where, message, LAW_EXAMPLES)
                return
            model, named = BUDGETS["constant"], {"mu": value}
        else:
            self.unknown(value, laws, "law of budgets")
            if len(value.value) != 1 or next(iter(value.value)) not in laws:
                if all(key in laws for key in value.value):
                    self.complain(value.where, "'privacy.mu' needs exactly one law", LAW_EXAMPLES)
                return
            model, named = BUDGETS[next(iter(value.value))], value.value
        try:
            model.model_validate({k: v.plain() for k, v in named.items()})
        except ValidationError as error:
            self.explain(error, "privacy.mu", Located(named, value.where, value.keys), LAW_EXAMPLES)

    def explain(self, error: ValidationError, name: str, value: Located, hint: str = "") -> None:
        """Turn pydantic's errors into issues at the place of the value they concern."""
        self.issues.extend(explain(error, name, value, hint))

    def varying(self, grids: list[tuple[dict[str, Located], list[_Choice]]]) -> list[tuple[str, str]]:
        """(section, key) of everything that is swept anywhere."""
        found = [(c.section, c.key) for _, choices in grids for c in choices]
        return list(dict.fromkeys(found))

    def cell(
        self,
        name: str,
        root: Located,
        sections: dict[str, Located],
        choices: list[_Choice],
        combination: tuple[Located, ...],
        varying: list[tuple[str, str]],
    ) -> Cell | None:
        """One point of the grid."""
        chosen = {(c.section, c.key): value for c, value in zip(choices, combination, strict=True)}
        self.algorithm = self.algorithm_of(sections)
        given = {section: sections.get(section) or Located({}, root.where) for section in SECTIONS}
        for section, located in given.items():
            values = {k: chosen.get((section, k), v) for k, v in located.value.items()}
            given[section] = Located(values, located.where, located.keys)
        problem = self.named("problem", PROBLEMS, given)
        algorithm = self.named("algorithm", ALGORITHMS, given)
        schedule = self.named("schedule", SCHEDULES, given)
        privacy = self.build("privacy", PrivacySettings, given["privacy"])
        if problem is None or algorithm is None or schedule is None or privacy is None:
            return None
        # asked in this order: the algorithm's own questions take parts for granted that go together
        if not self.compatible(problem, algorithm, schedule, sections, root.where):
            return None
        if not self.readable(problem, sections):
            return None
        if "n" not in given["run"].value:
            n = self.steps_of(algorithm, problem, schedule, privacy, given)
            if n is None:
                return None
            given["run"].value["n"] = Located(n, given["run"].where)
        run = self.build("run", RunSettings, given["run"])
        if run is None:
            return None
        found = [] if self.accepted else algorithm.complaints(problem, schedule, privacy.mu, run.n)
        if found:
            blamed = sections.get("algorithm") or sections.get("problem") or root
            for message in found:
                self.complain(blamed.keys.get(OVER, blamed.where), message)
            return None
        if self.profile == "smoke":
            run = smoke(run, algorithm.smoke_size)
        return Cell(name, problem, algorithm, schedule, privacy, run, tuple(varying))

    def named(self, section: str, registry: Mapping[str, type[N]], given: Mapping[str, Located]) -> N | None:
        """What a section names, with its parameters; None where they are wrong."""
        kind = self.kind(section, registry, given[section])
        return None if kind is None else self.build(section, kind, given[section])

    def build(self, section: str, kind: type[V], given: Located) -> V | None:
        """A section's values as one value; None where they are wrong."""
        try:
            return _build(kind, given.value)
        except ValidationError as error:
            self.explain(error, section, replace(given, where=given.keys.get(OVER, given.where)))
            return None

    def steps_of(
        self,
        algorithm: Algorithm,
        problem: Problem,
        schedule: Schedule,
        privacy: PrivacySettings,
        given: Mapping[str, Located],
    ) -> int | None:
        """The number of steps where `run.n` is left out: the algorithm's, where it knows one."""
        steps = algorithm.steps(problem, schedule, privacy.mu)
        if steps is None:
            self.missing("run", "n", RunSettings.model_fields["n"], given["run"].where)
        elif steps > MOST_STEPS:
            message = f"that makes {steps:.3g} steps; at most {MOST_STEPS:.0e}"
            self.complain(given["algorithm"].where, message, "fewer epochs")
            return None
        return steps

    def compatible(
        self,
        problem: Problem,
        algorithm: Algorithm,
        schedule: Schedule,
        sections: dict[str, Located],
        where: Position,
    ) -> bool:
        """Complain of a problem or schedule that the algorithm does not take."""
        before = len(self.issues)
        if not isinstance(problem, algorithm.runs_on):
            message = f"algorithm '{algorithm.name}' does not run on problem '{problem.name}'"
            place = (sections.get("problem") or Located({}, where)).where
            self.complain(place, message, f"it runs on: {', '.join(problems_of(algorithm))}")
        if schedule.name not in algorithm.schedules:
            message = f"algorithm '{algorithm.name}' does not take schedule '{schedule.name}'"
            place = (sections.get("schedule") or Located({}, where)).where
            self.complain(place, message, f"it takes: {', '.join(algorithm.schedules)}")
        return len(self.issues) == before

    def readable(self, problem: Problem, sections: dict[str, Located]) -> bool:
        """Complain of records that cannot be used, at the place that names them."""
        try:
            problem.prepare()
        except UsageError as error:
            section = sections["problem"]
            place = section.value.get("data", section).where
            self.complain(place, error.message, error.hint)
            return False
        return True

    def duplicates(self, root: Located, cells: list[Cell]) -> None:
        """Complain of cells that are the same setting."""
        seen: dict[str, int] = {}
        for number, cell in enumerate(cells, start=1):
            if cell.cell_id in seen:
                where = f"cells {seen[cell.cell_id]} and {number}"
                self.complain(root.where, f"{where} are the same setting", "take one of them out of the sweep")
            seen.setdefault(cell.cell_id, number)


def problems_of(algorithm: Algorithm | type[Algorithm]) -> list[str]:
    """The names of the problems that an algorithm runs on."""
    return [name for name, kind in PROBLEMS.items() if issubclass(kind, algorithm.runs_on)]


def parameters_of(kind: type[object]) -> type[Parameters]:
    """A class that a config names, as the parameters that all of them are."""
    if not issubclass(kind, Parameters):
        raise TypeError(f"{kind.__qualname__} has no parameters: let it inherit from {Parameters.__qualname__}")
    return kind


def _build(kind: type[V], values: Mapping[str, Located]) -> V:
    plain = {k: v.plain() for k, v in values.items()}
    if kind is PrivacySettings and "eps" in plain:
        plain.setdefault("delta", 1e-5)
        plain["mu"] = Target(eps=plain["eps"], delta=plain["delta"])
        plain.setdefault("deltas", (plain["delta"],))
    elif kind is PrivacySettings:
        budget = as_budget(plain["mu"])
        plain["mu"] = BUDGETS["constant" if "mu" in budget else next(iter(budget))].model_validate(budget)
    built = parameters_of(kind).model_validate(plain)
    assert isinstance(built, kind)
    return built


def _from_here(root: Located, folder: Path) -> Located:
    """The file with its data paths as seen from the working directory: in a config they start at its own folder."""
    sections = dict(root.value)
    if "problem" in sections:
        sections["problem"] = _placed(sections["problem"], folder)
    cases = sections.get("cases")
    if cases is not None and isinstance(cases.value, list):
        sections["cases"] = replace(cases, value=[_from_here(c, folder) if _is_map(c) else c for c in cases.value])
    return replace(root, value=sections)


def _placed(problem: Located, folder: Path) -> Located:
    """A problem section whose `data.path`, or paths that sweep, are seen from the working directory."""
    data = problem.value.get("data") if _is_map(problem) else None
    if data is None:
        return problem
    if isinstance(data.value, list):
        moved = [_moved(one, folder) for one in data.value]
        return replace(problem, value={**problem.value, "data": replace(data, value=moved)})
    return replace(problem, value={**problem.value, "data": _moved(data, folder)})


def _moved(data: Located, folder: Path) -> Located:
    path = data.value.get("path") if _is_map(data) else None
    # a path given on the command line, which has no line, starts where the command is run
    if path is None or not isinstance(path.value, str) or not path.where.line:
        return data
    if Path(path.value).is_absolute() or path.value.startswith("~") or not path.value:
        return data
    seen = os.path.normpath(folder / path.value)
    return replace(data, value={**data.value, "path": replace(path, value=seen)})


def _is_map(located: Located) -> bool:
    return isinstance(located.value, dict)


def _merge(base: Located | None, over: Located) -> Located:
    """The section `base` with the keys of `over`; a new name starts afresh."""
    if base is None or not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    name = over.value.get("name")
    if name is not None and base.value.get("name") is not None and name.value != base.value["name"].value:
        return over
    return Located(base.value | over.value, over.where, base.keys | over.keys)


@lru_cache(maxsize=512)
def _adapter(model: type[Parameters], key: str) -> TypeAdapter[Any]:
    """The check of one field alone."""
    return TypeAdapter(_annotated(model.model_fields[key]))


def _allowed(field: FieldInfo) -> str:
    """What a field takes, in words."""
    return allowed(field.annotation, field.metadata)


def _annotated(field: FieldInfo) -> Any:
    """The full annotation of a field, constraints included."""
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def takes_a_list(model: type[Parameters], key: str) -> bool:
    return get_origin(model.model_fields[key].annotation) is tuple
