"""From the plain values of a config to an Experiment, collecting all mistakes on the way.

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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cell_settings import differences
from dpexp.config.cells import OF_THE_EXPERIMENT, SECTIONS, Cell, Experiment, RunSettings, shared_names
from dpexp.config.error_messages import explain, field, in_words, kind, listed, show, suggest, takes_a_list
from dpexp.config.populations import POPULATION, with_populations
from dpexp.config.sections import Part, cell_of, laid_over, privacy_of
from dpexp.config.yamlfile import ConfigError, Issue, Keys, Located, NotChecked
from dpexp.core.errors import UsageError
from dpexp.core.files import as_named
from dpexp.core.parameters import Parameters
from dpexp.plugins.loaded import LOADED, is_research
from dpexp.plugins.loading import use, use_installed
from dpexp.privacy.budgets import PrivacySettings
from dpexp.problems import PROBLEMS

MAX_CELLS = 10_000
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
"""of an experiment, which is also its folder's"""
REGISTRIES: dict[str, Mapping[str, type[Parameters]]]
REGISTRIES = {"problem": PROBLEMS, "algorithm": ALGORITHMS, "schedule": SCHEDULES}
DEFAULT_NAMES = {"algorithm": "ldp-sgd", "schedule": "power"}
DATA = {("problem", "data", "path"), ("population", "design", "rows")}
"""keys whose values are paths of files"""
FEWER = "sweep fewer values, or split the experiment in several"
CASES_EXAMPLE = "for instance cases: [{problem: {d: 5}}, {problem: {d: 10}, privacy: {mu: 2}}]"
UNTRUSTED = "a list loads no code and opens no data that a config names"


class Reader:
    """Turns a YAML file into an Experiment, collecting all mistakes on the way."""

    def __init__(self, root: Located, path: Path, profile: str, issues: list[Issue], trusted: bool = True) -> None:
        self.root, self.path, self.profile, self.issues, self.trusted = root, path, profile, issues, trusted

    def complain(self, keys: Keys, message: str, hint: str = "", config: Located | None = None) -> None:
        """Report a mistake in the value at a path of the file, or of a case of it."""
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
        self.unknown(self.root, (), ("experiment", "plugins", *SECTIONS, POPULATION, "cases"), "section")
        name = value.get("experiment")
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            message = f"'experiment' must be a name of letters, digits, '_' and '-', not {show(name)}"
            self.complain(("experiment",), message, "it names the folder of the results: `experiment: NAME`")
        # (a)
        plugins = self.plugins()
        self.place_data()
        # (b)
        configs = [config for case in self.cases() for config in _named(case)]
        variants = [self.variant(config) for config in configs]
        self.stop_if_wrong()
        # (c)
        count = sum(math.prod(map(len, parts.values())) for parts in variants)
        if count > MAX_CELLS:
            self.complain((), f"{count:,} cells; at most {MAX_CELLS:,} are allowed", FEWER)
            self.stop_if_wrong()
        # (d)
        cells = list[Cell]()
        for parts in variants:
            for point in itertools.product(*parts.values()):
                try:
                    cells.append(cell_of(str(name), dict(zip(parts, point, strict=True)), self.profile))
                except ConfigError as error:
                    self.issues += error.issues
        self.stop_if_wrong()
        replicates, *others = {cell.run.replicates for cell in cells}
        if others and "cases" in value:
            self.complain(("cases",), "'run.replicates' is one number for all cases", "give it in run:")
        shared, swept = shared_names(p for cell in cells for p in cell.own_parameters), differences(cells)
        # Sizes that differ are often one toy size, and then no mistake: the first of each, in the order of the file.
        numbers: dict[str, int] = {}
        for number, cell in enumerate(cells, 1):
            if (first := numbers.setdefault(cell.cell_id, number)) < number and self.profile != "smoke":
                self.complain((), f"cells {first} and {number} are the same setting", "take one out of the sweep")
        self.stop_if_wrong()
        different = tuple([replace(cells[number - 1], swept=swept, shared=shared) for number in numbers.values()])
        where = self.root.at("run")
        return Experiment(str(name), self.path, different, replicates, self.profile, where=where, plugins=plugins)

    def unknown(self, config: Located, keys: Keys, known: Sequence[str], noun: str) -> None:
        """Complain of keys of a mapping that are not known."""
        wrong = [(*keys, key) for key in config.value_at(keys) if key not in known]
        self.issues += [Issue(config.key(*k), f"unknown {noun} '{k[-1]}'", suggest(str(k[-1]), known)) for k in wrong]

    def plugins(self) -> tuple[str, ...]:
        """Load what is installed, and the files that `plugins:` names by their paths from the config file.

        Raises ConfigError where that fails: which names the sections may use is not known then.
        """
        use_installed()
        before, files = len(self.issues), self.root.value.get("plugins", ())
        files = files if isinstance(files, tuple) else (files,)
        for k, file in enumerate(files):
            if not isinstance(file, str):
                hint = "for instance plugins: [my_algorithm.py], by the path from this file"
                self.complain(("plugins", k), f"a plug-in is the path of a Python file, not {kind(file)}", hint)
                continue
            path = self.path.parent / Path(file).expanduser()
            if not self.trusted and path.name not in LOADED and not is_research(path.resolve()):
                message = f"not checked: needs --plugin {shlex.quote(file)}"
                raise NotChecked([Issue(self.root.at("plugins", k), message, UNTRUSTED)])
            try:
                use(path)
            except (UsageError, RuntimeError) as error:
                self.complain(("plugins", k), str(error), getattr(error, "hint", ""))
        if len(self.issues) > before:
            self.stop_if_wrong()
        return files

    def place_data(self) -> None:
        """Let data paths start at the folder of the file. Raises NotChecked where none may be opened."""
        for path in self.root.marks:
            # without the numbers of cases and of what sweeps
            names = tuple(key for key in path if isinstance(key, str) and key != "cases")
            if names in DATA and isinstance(value := self.root.value_at(path), str) and isinstance(path[-1], str):
                if not self.trusted:
                    message = f"not checked: reads {value}"
                    raise NotChecked([Issue(self.root.at(*path[:-2]), message, UNTRUSTED)])
                # A path given on the command line, which has no line, starts where the command is run.
                typed = not self.root.at(*path).line
                self.root.value_at(path[:-1])[path[-1]] = as_named(value, self.path.parent, typed)

    def cases(self) -> list[Located]:
        """The config, or the config with each of its cases laid over it."""
        cases, merged = self.root.value.get("cases", ({},)), list[Located]()
        if not isinstance(cases, tuple) or not 0 < len(cases) <= MAX_CELLS:
            message = f"cases must be a list of 1 to {MAX_CELLS:,} mappings, not {kind(cases)}"
            self.complain(("cases",), message, CASES_EXAMPLE)
            return []
        for k, case in enumerate(cases):
            if not isinstance(case, dict):
                message = f"a case must be a mapping of sections, not {kind(case)}"
                self.complain(("cases", k), message, CASES_EXAMPLE)
                continue
            if "cases" in self.root.value:
                self.unknown(self.root, ("cases", k), (*SECTIONS, POPULATION), "section")
            over, paths = dict[str, Any](), dict[Keys, Keys]({(): ()})
            for section, own in case.items():
                over[section] = laid_over(self.root.value.get(section), own)
                paths[(section,)] = ("cases", k, section)
                inherited = [key for key in over[section] if key not in own] if isinstance(own, dict) else []
                paths |= {(section, key): (section, key) for key in inherited}
            merged.append(Located(self.root.value | over, self.root.marks, paths))
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
                points = self.points(section, config, model)
                if section == "problem" and POPULATION in config.value:
                    problem, population = config.part("problem"), config.part(POPULATION)
                    points = with_populations(model, points, problem, population, self.issues)
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

    def points(self, section: str, config: Located, model: type[Parameters]) -> list[Located]:
        """The section at every point of its lists; unknown keys are left out."""
        known = [key for key in model.model_fields if key != POPULATION]
        if section in config.value:
            self.unknown(config, (section,), known, f"key in {section}:")
        options: dict[str, list[tuple[Keys, Any]]] = {}
        for key, item in config.value.get(section, {}).items():
            if key not in known:
                continue
            path = config.path((section, key))
            if not isinstance(item, tuple) or not item or takes_a_list(model, key):
                options[key] = [(path, item)]
                continue
            options[key] = [((*path, k), value) for k, value in enumerate(item)]
            if section == "run" and key in OF_THE_EXPERIMENT:
                hint = "give one number" if key == "replicates" else f"give one: {in_words(field(model, key))}"
                self.complain((section, key), f"'run.{key}' cannot be swept", hint, config)
            # (c): refused before each of them is looked at
            elif math.prod(map(len, options.values())) > MAX_CELLS:
                message = f"'{section}.{key}' sweeps {len(item):,} values; at most {MAX_CELLS:,} cells are allowed"
                self.complain((section, key), message, FEWER, config)
                del options[key][1:]
        # A default algorithm belongs to the problem that somebody named.
        place = config.path((section,)) if section != "algorithm" or section in config.value else ("problem",)
        points = []
        for choice in itertools.product(*options.values()):
            point = dict(zip(options, choice, strict=True))
            paths: dict[Keys, Keys] = {(): place} | {(key,): path for key, (path, _) in point.items()}
            points.append(Located({key: item for key, (_, item) in point.items()}, config.marks, paths))
        return points

    def built(self, section: str, model: type[Parameters], point: Located, more: dict[str, int]) -> Any:
        """A section at one point as a value; None where it has a mistake, which is reported."""
        try:
            return privacy_of(point) if section == "privacy" else model.model_validate({**more, **point.value})
        except ValidationError as error:
            self.issues += explain(error, section, point, model)
        except ConfigError as error:
            self.issues += error.issues
        return None


def _named(config: Located) -> list[Located]:
    """The config once for all combinations of names that its sections list, with the keys that each name has."""
    several = [config]
    for section, registry in REGISTRIES.items():
        value = config.value.get(section)
        names = value.get("name") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(names, tuple) or not names:
            continue
        known = [name for name in names if isinstance(name, str) and name in registry]
        fields = {name: set(parameters_of(registry[name]).model_fields) for name in known}
        variants = []
        for k, name in enumerate(names):
            # A key of another name is that one's; one that no name has is a mistake.
            others = set[str]().union(*fields.values()) - fields[name] if name in known else set[str]()
            own = {key: inner for key, inner in value.items() if key not in others} | {"name": name}
            variants.append((own, (*config.path((section, "name")), k)))
        several = [
            Located(c.value | {section: own}, c.marks, {**c.paths, (section, "name"): path})
            for c in several
            for own, path in variants
        ]
    return several


def parameters_of(kind: type[object]) -> type[Parameters]:
    """A class that a config names, as the parameters that all of them are."""
    if not issubclass(kind, Parameters):
        raise TypeError(f"{kind.__qualname__} has no parameters: let it inherit from {Parameters.__qualname__}")
    return kind
