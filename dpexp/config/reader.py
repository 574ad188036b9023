"""From a YAML tree to an Experiment, collecting everything that is wrong on the way.

(a) Plug-ins are loaded first: which names the sections may use is not known before.
(b) Every section of every variant is built at each point of its own lists, so that all mistakes are reported at once.
(c) Nothing is multiplied out before the number of cells is known.
(d) Then the sections meet, and what depends on a whole setting is checked: whether its parts go together, whether its
records can be read, and how many steps it has.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cell_of_sections import Part, cell_of
from dpexp.config.cell_settings import differences
from dpexp.config.cells import OF_THE_EXPERIMENT, SECTIONS, Cell, Experiment, Parameter, RunSettings, shared_names
from dpexp.config.error_messages import explain, kind, listed, show, suggest
from dpexp.config.fields import field, in_words, takes_a_list
from dpexp.config.populations import POPULATION, alternatives
from dpexp.config.privacy_section import privacy_of
from dpexp.config.sections import by_name, completed, from_its_folder
from dpexp.config.yamlfile import ConfigError, Issue, NotChecked, Position, Tree
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Named, Parameters
from dpexp.plugins.loaded import LOADED, is_research
from dpexp.plugins.loading import use, use_installed
from dpexp.privacy.budgets import PrivacySettings
from dpexp.problems import PROBLEMS

MAX_CELLS = 10_000
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
"""of an experiment, which is also its folder's"""
REGISTRIES: dict[str, Mapping[str, type[Named]]] = {
    "problem": PROBLEMS,
    "algorithm": ALGORITHMS,
    "schedule": SCHEDULES,
}
DEFAULT_NAMES = {"algorithm": "ldp-sgd", "schedule": "power"}
FEWER = "sweep fewer values, or split the experiment in several"
PLUGINS_EXAMPLE = "for instance plugins: [my_algorithm.py], by the path from this file"
CASES_EXAMPLE = "for instance cases: [{problem: {d: 5}}, {problem: {d: 10}, privacy: {mu: 2}}]"


class _Variant(NamedTuple):
    """The sections of a config, or of one of its cases."""

    parts: dict[str, list[Part]]
    """of every section, at every point of its lists"""
    sweeps: dict[Parameter, tuple[Any, ...]]
    """in the order of the sections"""


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
            hint = f"sections: {', '.join(SECTIONS)}"
            self.complain(root.at(), f"a config is a mapping, not {kind(root.value)}", hint)
            self.stop_if_wrong()
        self.unknown(root, ("experiment", "plugins", *SECTIONS, POPULATION, "cases"), "section")
        # (a)
        name, plugins = self.name(root), self.plugins(root)
        root = from_its_folder(root, self.path.parent)
        # (b)
        base, cased = _sections(root), "cases" in root
        cases = self.cases(root.part("cases"), base) if cased else [base]
        choices = [sections for case in cases for sections in _named(case)]
        variants = [self.variant(sections, root) for sections in choices]
        self.stop_if_wrong()
        # (c)
        count = sum(math.prod(map(len, variant.parts.values())) for variant in variants)
        if count > MAX_CELLS:
            self.complain(root.at(), f"{count:,} cells; at most {MAX_CELLS:,} are allowed", FEWER)
            self.stop_if_wrong()
        # (d)
        points = [
            dict(zip(variant.parts, point, strict=True))
            for variant in variants
            for point in itertools.product(*variant.parts.values())
        ]
        cells = []
        for point in points:
            try:
                cells.append(cell_of(name, point, self.profile, self.trusted))
            except NotChecked:
                raise
            except ConfigError as error:
                self.issues += error.issues
        self.stop_if_wrong()
        product = len(choices) == 1 and not cased
        cells = _with_names(cells, variants, product)
        if cased and len({cell.run.replicates for cell in cells}) > 1:
            self.complain(root.at("cases"), "'run.replicates' is one number for all cases", "give it in run:")
        # Sizes that differ are often one toy size, and then no mistake: the first of each, in the order of the file.
        different = {cell.cell_id: cell for cell in reversed(cells)}
        if self.profile == "smoke" and len(different) < len(cells):
            cells, product = list(different.values())[::-1], False
        self.duplicates(root, cells)
        self.stop_if_wrong()
        # With cases or several names, at toy size, or of populations, the cells are no product of lists.
        sweeps = variants[0].sweeps if product and ("problem", POPULATION) not in variants[0].sweeps else {}
        replicates, where = cells[0].run.replicates, root.at("run")
        return Experiment(name, self.path, tuple(cells), replicates, self.profile, sweeps, where=where, plugins=plugins)

    def unknown(self, mapping: Tree, known: Iterable[str], noun: str) -> None:
        """Complain of keys that are not known."""
        names = list(known)
        for key in mapping.parts():
            if key not in names:
                self.complain(mapping.key(key), f"unknown {noun} '{key}'", suggest(key, names))

    def name(self, root: Tree) -> str:
        """The experiment's name, which is also its folder's."""
        if "experiment" not in root:
            self.complain(root.at(), "no 'experiment': it names the results folder", "add a line `experiment: NAME`")
            return ""
        name = root.value["experiment"]
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            words = repr(name) if isinstance(name, str) else kind(name)
            message = f"experiment must be a name of letters, digits, '_' and '-', not {words}"
            self.complain(root.at("experiment"), message, "it names a folder")
        return str(name)

    def plugins(self, root: Tree) -> tuple[str, ...]:
        """Load what is installed, and the files that `plugins:` names by their paths from the config file.

        Raises ConfigError where that fails: which names the sections may use is not known then.
        """
        use_installed()
        before = len(self.issues)
        files = root.part("plugins").items() if "plugins" in root else []
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
            self.stop_if_wrong()
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

    def variant(self, written: Mapping[str, Tree], root: Tree) -> _Variant:
        """The sections that are given and those that are left out, all built."""
        # What is said of an algorithm that nobody named belongs to the problem.
        left_out = {"algorithm": written.get("problem", root)}
        algorithm = _algorithm_of(written.get("algorithm"))
        variant = _Variant({}, {})
        # In the order of the file, the first of which varies slowest.
        for section in dict.fromkeys([*(key for key in written if key != POPULATION), *SECTIONS]):
            tree = written.get(section) or left_out.get(section, root).holding({})
            if not isinstance(tree.value, dict):
                hint = f"for instance {section}: {{key: value}}"
                hint += f", or cases: [{{{section}: ...}}, ...] for several" if isinstance(tree.value, tuple) else ""
                self.complain(tree.at(), f"'{section}' must be a mapping, not {kind(tree.value)}", hint)
            elif model := self.kind(section, tree, algorithm):
                points = self.points(section, tree, model, variant.sweeps)
                if section == "problem" and (population := written.get(POPULATION)):
                    points = self.populations(model, tree, points, population, variant.sweeps)
                    variant.parts[POPULATION] = [Part(population, None)]
                built = [Part(point, self.built(section, model, point, algorithm)) for point in points]
                variant.parts[section] = built
        return variant

    def kind(self, section: str, tree: Tree, algorithm: type[Algorithm] | None) -> type[Parameters] | None:
        """The class that a section's parameters belong to, by its name where it has one."""
        if section not in REGISTRIES:
            return PrivacySettings if section == "privacy" else RunSettings
        registry, default = REGISTRIES[section], DEFAULT_NAMES.get(section)
        # The schedule that is meant where none is named is the first that the algorithm takes.
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

    def points(
        self, section: str, tree: Tree, model: type[Parameters], sweeps: dict[Parameter, tuple[Any, ...]]
    ) -> list[Tree]:
        """The section at every point of its lists, which are added to the sweeps; keys that are wrong are left out."""
        self.unknown(tree, [key for key in model.model_fields if key != POPULATION], f"key in {section}:")
        parts: dict[str, list[Tree]] = {}
        for key, part in tree.parts().items():
            if key not in model.model_fields or key == POPULATION:
                continue
            swept = isinstance(part.value, tuple) and part.value and not takes_a_list(model, key)
            parts[key] = part.items() if swept else [part]
            if swept and section == "run" and key in OF_THE_EXPERIMENT:
                hint = "give one number" if key == "replicates" else f"give one: {in_words(field(model, key))}"
                self.complain(part.at(), f"'run.{key}' cannot be swept", hint)
            # (c): refused before each of them is looked at
            elif math.prod(map(len, parts.values())) > MAX_CELLS:
                values = f"'{section}.{key}' sweeps {len(part.value):,} values"
                self.complain(part.at(), f"{values}; at most {MAX_CELLS:,} cells are allowed", FEWER)
                del parts[key][1:]
            elif swept:
                sweeps[section, key] = part.value
        return [tree.joined(dict(zip(parts, point, strict=True))) for point in itertools.product(*parts.values())]

    def populations(
        self,
        model: type[Parameters],
        problem: Tree,
        points: list[Tree],
        section: Tree,
        sweeps: dict[Parameter, tuple[Any, ...]],
    ) -> list[Tree]:
        """The points of a problem with each of the populations that the section says."""
        design = section.part("design") if "design" in section else section
        if not self.trusted and "rows" in design:
            message = f"not checked: reads {design.value['rows']}"
            raise NotChecked([Issue(section.at(), message, "a list opens no data that a config names")])
        options = alternatives(model, problem, section, self.complain)
        if len(options) > 1:
            sweeps["problem", POPULATION] = tuple(options)
        held = [{key: section.holding(value) for key, value in option.items()} for option in options] or [{}]
        return [point.joined({**point.parts(), **option}) for point in points for option in held]

    def built(self, section: str, model: type[Parameters], tree: Tree, algorithm: type[Algorithm] | None) -> Any:
        """A section at one point as a value; None where it is wrong, of which there is a complaint."""
        # An algorithm that leaves this question to its base never knows its steps; others are asked for each cell.
        never: object = Algorithm.steps
        steps = {"n": 1} if section == "run" and algorithm is not None and algorithm.steps is not never else {}
        try:
            return privacy_of(tree) if section == "privacy" else model.model_validate({**steps, **tree.value})
        except ValidationError as error:
            self.issues += explain(error, section, tree, model)
        except ConfigError as error:
            self.issues += error.issues
        return None

    def duplicates(self, root: Tree, cells: list[Cell]) -> None:
        """Complain of cells that are the same setting."""
        numbers: dict[str, int] = {}
        for number, cell in enumerate(cells, start=1):
            first = numbers.setdefault(cell.cell_id, number)
            if first < number:
                message = f"cells {first} and {number} are the same setting"
                self.complain(root.at(), message, "take one of them out of the sweep")


def _with_names(cells: list[Cell], variants: list[_Variant], product: bool) -> list[Cell]:
    """The cells with what varies among them, and with the names that two of their parameters share."""
    shared = shared_names(parameter for cell in cells for parameter in cell.own_parameters)
    cells = [replace(cell, shared=shared) for cell in cells]
    varying = list(dict.fromkeys(parameter for variant in variants for parameter in variant.sweeps))
    # With `cases:`, or several names, no list says what varies, so that the cells are compared.
    if not product:
        varying = list(differences(cells))
    elif ("problem", POPULATION) in varying:
        # The nested keys that vary stand for the whole.
        nested = [parameter for parameter in differences(cells) if parameter not in varying]
        several = ([*nested] if parameter == ("problem", POPULATION) else [parameter] for parameter in varying)
        varying = list(itertools.chain(*several))
    return [replace(cell, swept=tuple(varying)) for cell in cells]


def _sections(tree: Tree) -> dict[str, Tree]:
    """The sections of a config or a case, in one order for all files."""
    return {section: tree.part(section) for section in (*SECTIONS, POPULATION) if section in tree}


def _named(sections: dict[str, Tree]) -> list[dict[str, Tree]]:
    """The sections once for each of the names that one of them lists."""
    several = [sections]
    for section, registry in REGISTRIES.items():
        if section in sections:
            fields = {name: parameters_of(kind).model_fields for name, kind in registry.items()}
            several = [{**choice, section: own} for choice in several for own in by_name(sections[section], fields)]
    return several


def parameters_of(kind: type[object]) -> type[Parameters]:
    """A class that a config names, as the parameters that all of them are."""
    if not issubclass(kind, Parameters):
        raise TypeError(f"{kind.__qualname__} has no parameters: let it inherit from {Parameters.__qualname__}")
    return kind


def _algorithm_of(section: Tree | None) -> type[Algorithm] | None:
    """The class that the section `algorithm` names, or the default's, without complaints."""
    given = section.value if section is not None else {}
    name = given.get("name", DEFAULT_NAMES["algorithm"]) if isinstance(given, dict) else DEFAULT_NAMES["algorithm"]
    return ALGORITHMS.get(name) if isinstance(name, str) else None
