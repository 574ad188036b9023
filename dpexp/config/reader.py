"""From the plain values of a config to an Experiment, collecting everything that is wrong on the way.

(a) Plug-ins are loaded first: which names the sections may use is not known before.
(b) Every section of every variant is built at each point of its own lists, so that all mistakes are reported at once.
(c) The lists are multiplied out after the number of cells is known.
(d) Then the sections meet, and what depends on a whole setting is checked: whether its parts go together, whether its
records can be read, and how many steps it has.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cell_settings import differences
from dpexp.config.cells import OF_THE_EXPERIMENT, SECTIONS, Experiment, Parameter, RunSettings, shared_names
from dpexp.config.error_messages import explain, field, in_words, kind, listed, show, suggest, takes_a_list
from dpexp.config.populations import POPULATION, with_populations
from dpexp.config.sections import Part, by_name, cell_of, from_its_folder, laid_over, privacy_of
from dpexp.config.yamlfile import ConfigError, Issue, Keys, Located, Mark, NotChecked
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Named, Parameters
from dpexp.plugins.loaded import LOADED, is_research
from dpexp.plugins.loading import use, use_installed
from dpexp.privacy.budgets import PrivacySettings
from dpexp.problems import PROBLEMS

MAX_CELLS = 10_000
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
"""of an experiment, which is also its folder's"""
REGISTRIES: dict[str, Mapping[str, type[Named]]]
REGISTRIES = {"problem": PROBLEMS, "algorithm": ALGORITHMS, "schedule": SCHEDULES}
DEFAULT_NAMES = {"algorithm": "ldp-sgd", "schedule": "power"}
FEWER = "sweep fewer values, or split the experiment in several"
CASES_EXAMPLE = "for instance cases: [{problem: {d: 5}}, {problem: {d: 10}, privacy: {mu: 2}}]"


class Reader:
    """Turns a YAML file into an Experiment, collecting what is wrong on the way."""

    def __init__(self, root: Located, path: Path, profile: str, issues: list[Issue], trusted: bool = True) -> None:
        self.root, self.path, self.profile, self.issues, self.trusted = root, path, profile, issues, trusted
        self.sweeps: dict[Parameter, tuple[Any, ...]] = {}  # in the order of the sections

    def complain(self, keys: Keys, message: str, hint: str = "", config: Located | None = None) -> None:
        """Report what is wrong with the value at a path of the file, or of a case of it."""
        self.issues.append(Issue((config or self.root).at(*keys), message, hint))

    def stop_if_wrong(self) -> None:
        """Raise ConfigError where there was a complaint."""
        if self.issues:
            raise ConfigError(self.issues)

    def experiment(self) -> Experiment:
        """The whole file."""
        value = self.root.value
        if not isinstance(value, dict):
            self.complain((), f"a config is a mapping, not {kind(value)}", f"sections: {', '.join(SECTIONS)}")
            self.stop_if_wrong()
        self.unknown(self.root, (), value, ("experiment", "plugins", *SECTIONS, POPULATION, "cases"), "section")
        # (a)
        name, plugins = self.name(), self.plugins()
        from_its_folder(self.root, self.path.parent, self.trusted)
        # (b)
        cased = "cases" in value
        configs = [config for case in (self.cases() if cased else [self.root]) for config in named(case)]
        variants = [self.variant(config) for config in configs]
        self.stop_if_wrong()
        # (c)
        count = sum(math.prod(map(len, parts.values())) for parts in variants)
        if count > MAX_CELLS:
            self.complain((), f"{count:,} cells; at most {MAX_CELLS:,} are allowed", FEWER)
            self.stop_if_wrong()
        # (d)
        cells = []
        for parts in variants:
            for point in itertools.product(*parts.values()):
                try:
                    cells.append(cell_of(name, dict(zip(parts, point, strict=True)), self.profile))
                except ConfigError as error:
                    self.issues += error.issues
        self.stop_if_wrong()
        if cased and len({cell.run.replicates for cell in cells}) > 1:
            self.complain(("cases",), "'run.replicates' is one number for all cases", "give it in run:")
        # With cases or several names, or of populations, the cells are no product of lists, and are compared.
        product = len(configs) == 1 and not cased and ("problem", POPULATION) not in self.sweeps
        shared = shared_names(parameter for cell in cells for parameter in cell.own_parameters)
        cells = [replace(cell, shared=shared) for cell in cells]
        swept = tuple(self.sweeps) if product else differences(cells)
        # Sizes that differ are often one toy size, and then no mistake: the first of each, in the order of the file.
        numbers: dict[str, int] = {}
        for number, cell in enumerate(cells):
            if (first := numbers.setdefault(cell.cell_id, number)) < number and self.profile != "smoke":
                message = f"cells {first + 1} and {number + 1} are the same setting"
                self.complain((), message, "take one of them out of the sweep")
        self.stop_if_wrong()
        different = tuple([replace(cells[number], swept=swept) for number in numbers.values()])
        return Experiment(
            name, self.path, different, cells[0].run.replicates, self.profile,
            self.sweeps if product and len(different) == len(cells) else {}, where=self.root.at("run"), plugins=plugins,
        )  # fmt: skip

    def unknown(self, config: Located, path: Keys, keys: Iterable[str], known: Sequence[str], noun: str) -> None:
        """Complain of keys that are not known."""
        wrong = [key for key in keys if key not in known]
        self.issues += [Issue(config.key(*path, k), f"unknown {noun} '{k}'", suggest(k, known)) for k in wrong]

    def name(self) -> str:
        """The experiment's name, which is also its folder's."""
        name = self.root.value.get("experiment")
        if "experiment" not in self.root.value:
            self.complain((), "no 'experiment': it names the results folder", "add a line `experiment: NAME`")
        elif not isinstance(name, str) or not re.fullmatch(NAME, name):
            words = repr(name) if isinstance(name, str) else kind(name)
            message = f"experiment must be a name of letters, digits, '_' and '-', not {words}"
            self.complain(("experiment",), message, "it names a folder")
        return str(name)

    def plugins(self) -> tuple[str, ...]:
        """Load what is installed, and the files that `plugins:` names by their paths from the config file.

        Raises ConfigError where that fails: which names the sections may use is not known then.
        """
        use_installed()
        before, files = len(self.issues), self.root.value.get("plugins", ())
        files = files if isinstance(files, tuple) else (files,)
        for k, file in enumerate(files):
            keys = ("plugins", k)
            if not isinstance(file, str):
                hint = "for instance plugins: [my_algorithm.py], by the path from this file"
                self.complain(keys, f"a plug-in is the path of a Python file, not {kind(file)}", hint)
                continue
            path = self.path.parent / Path(file).expanduser()
            if not self.trusted and path.name not in LOADED and not is_research(path.resolve()):
                message = f"not checked: needs --plugin {shlex.quote(file)}"
                raise NotChecked([Issue(self.root.at(*keys), message, "a list loads no code that a config names")])
            try:
                use(path)
            except (UsageError, RuntimeError) as error:
                self.complain(keys, str(error), getattr(error, "hint", ""))
        if len(self.issues) > before:
            self.stop_if_wrong()
        return files

    def cases(self) -> list[Located]:
        """The config with each case laid over it."""
        cases, merged = self.root.value["cases"], list[Located]()
        if not isinstance(cases, tuple) or not cases:
            self.complain(("cases",), f"cases must be a list of mappings, not {kind(cases)}", CASES_EXAMPLE)
            return []
        if len(cases) > MAX_CELLS:
            self.complain(("cases",), f"{len(cases):,} cases; at most {MAX_CELLS:,} are allowed", FEWER)
            return []
        marks: list[dict[Keys, Mark]] = [{} for _ in cases]
        for path, mark in self.root.marks.items():
            if path[:1] == ("cases",) and len(path) > 2:
                marks[int(path[1])][path[2:]] = mark
        for k, case in enumerate(cases):
            if not isinstance(case, dict):
                message = f"a case must be a mapping of sections, not {kind(case)}"
                self.complain(("cases", k), message, CASES_EXAMPLE)
                continue
            self.unknown(self.root, ("cases", k), case, (*SECTIONS, POPULATION), "section")
            over = {section: laid_over(self.root.value.get(section), value) for section, value in case.items()}
            merged.append(Located(self.root.value | over, ChainMap(marks[k], self.root.marks)))
        return merged

    def variant(self, config: Located) -> dict[str, list[Part]]:
        """The sections that are given and those that are left out, all built at every point of their lists."""
        parts: dict[str, list[Part]] = {}
        algorithm: Any = self.kind("algorithm", config, None)
        # An algorithm that leaves this question to its base never knows its steps; others are asked for each cell.
        steps = {} if algorithm is None or algorithm.steps is Algorithm.steps else {"n": 1}
        # In one order for all files, those that only a case has last.
        for section in sorted(SECTIONS, key=lambda section: section not in self.root.value):
            value = config.value.get(section, {})
            if not isinstance(value, dict):
                hint = f"for instance {section}: {{key: value}}"
                hint += f", or cases: [{{{section}: ...}}, ...] for several" if isinstance(value, tuple) else ""
                self.complain((section,), f"'{section}' must be a mapping, not {kind(value)}", hint, config)
            elif model := self.kind(section, config, algorithm):
                points = self.points(section, config, value, model)
                if section == "problem" and POPULATION in config.value:
                    problem, population = config.part("problem"), config.part(POPULATION)
                    options = with_populations(model, points, problem, population, self.issues)
                    if len(options) > 1:
                        self.sweeps["problem", POPULATION] = tuple(options)
                    points = [point for several in zip(*options, strict=True) for point in several]
                    parts[POPULATION] = [Part(population, None)]
                more = steps if section == "run" else {}
                parts[section] = [Part(point, self.built(section, model, point, more)) for point in points]
        return parts

    def kind(self, section: str, config: Located, algorithm: type[Algorithm] | None) -> type[Parameters] | None:
        """The class that a section's parameters belong to, by its name where it has one."""
        if section not in REGISTRIES:
            return PrivacySettings if section == "privacy" else RunSettings
        registry, name, value = REGISTRIES[section], DEFAULT_NAMES.get(section), config.value.get(section, {})
        # The schedule that is meant where none is named is the first that the algorithm takes.
        if section == "schedule" and algorithm and algorithm.schedules and name not in algorithm.schedules:
            name = algorithm.schedules[0]
        if isinstance(value, dict):
            name = value.get("name", name)
        if isinstance(name, str) and name in registry:
            return parameters_of(registry[name])
        message, hint = f"unknown {section} {show(name)}", suggest(str(name), registry)
        if name is None and "name" not in value:
            message, hint = f"'{section}.name' is missing", f"names: {listed(registry)}"
        self.complain((section, "name"), message, hint, config)
        return None

    def points(self, section: str, config: Located, value: dict[str, Any], model: type[Parameters]) -> list[Located]:
        """The section at every point of its lists, which are added to the sweeps; keys that are wrong are left out."""
        known = [key for key in model.model_fields if key != POPULATION]
        options: dict[str, list[tuple[Keys, Any]]] = {}
        self.unknown(config, (section,), value, known, f"key in {section}:")
        for key, item in value.items():
            if key not in known:
                continue
            swept = isinstance(item, tuple) and item and not takes_a_list(model, key)
            options[key] = [((section, key, k), v) for k, v in enumerate(item)] if swept else [((section, key), item)]
            if swept and section == "run" and key in OF_THE_EXPERIMENT:
                hint = "give one number" if key == "replicates" else f"give one: {in_words(field(model, key))}"
                self.complain((section, key), f"'run.{key}' cannot be swept", hint, config)
            # (c): refused before each of them is looked at
            elif math.prod(map(len, options.values())) > MAX_CELLS:
                message = f"'{section}.{key}' sweeps {len(item):,} values; at most {MAX_CELLS:,} cells are allowed"
                self.complain((section, key), message, FEWER, config)
                del options[key][1:]
            elif swept:
                self.sweeps[section, key] = item
        # What is said of an algorithm that nobody named belongs to the problem.
        place = "problem" if section == "algorithm" and section not in config.value else section
        points = []
        for choice in itertools.product(*options.values()):
            point = dict(zip(options, choice, strict=True))
            paths: dict[Keys, Keys] = {(): (place,)} | {(key,): path for key, (path, _) in point.items()}
            points.append(Located({key: item for key, (_, item) in point.items()}, config.marks, paths))
        return points

    def built(self, section: str, model: type[Parameters], point: Located, more: dict[str, int]) -> Any:
        """A section at one point as a value; None where it is wrong, which is reported."""
        try:
            return privacy_of(point) if section == "privacy" else model.model_validate({**more, **point.value})
        except ValidationError as error:
            self.issues += explain(error, section, point, model)
        except ConfigError as error:
            self.issues += error.issues
        return None


def named(config: Located) -> list[Located]:
    """The config once for each of the names that one of its sections lists."""
    several = [config]
    for section, registry in REGISTRIES.items():
        fields = {name: parameters_of(kind).model_fields for name, kind in registry.items()}
        several = [variant for choice in several for variant in by_name(choice, section, fields)]
    return several


def parameters_of(kind: type[object]) -> type[Parameters]:
    """A class that a config names, as the parameters that all of them are."""
    if not issubclass(kind, Parameters):
        raise TypeError(f"{kind.__qualname__} has no parameters: let it inherit from {Parameters.__qualname__}")
    return kind
