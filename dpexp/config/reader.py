"""From the values of a config to an Experiment, collecting all mistakes on the way.

(a) Plug-ins are loaded first: which names the sections may use is not known before.
(b) Every section of every variant is built at each point of its own lists, so that all mistakes are reported at once.
(c) The lists are multiplied out after the number of cells is known; then the sections meet, and what depends on a whole
setting is checked: whether its parts go together, whether its records can be read, and how many steps it has.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.config.cell_settings import differences
from dpexp.config.cells import POPULATION, RESERVED_COLUMNS, SECTIONS, Cell, Experiment, RunSettings, flat, shared_names
from dpexp.config.error_messages import listed, suggest, validated
from dpexp.config.sections import REGISTRIES, ConfigFile, parameters_of, points, problems_of, require_few, variants_of
from dpexp.config.yamlfile import ConfigError, Issue, Section, collected, require_none, show
from dpexp.core.errors import UsageError
from dpexp.core.files import as_named
from dpexp.core.parameters import Parameters
from dpexp.engine.result import METRICS
from dpexp.plugins.loading import use, use_installed
from dpexp.privacy.budgets import PrivacySettings
from dpexp.problems.linear_predictor import LinearPredictorProblem

MAX_STEPS = 10**12  # as `run.n` may be
Part = tuple[Section, Parameters]  # a config with a section at one point of its lists, and the section's value


class Reader:
    """Turns a config into an Experiment, collecting all mistakes on the way."""

    def __init__(self, root: Section, path: Path, profile: str) -> None:
        self.root, self.path, self.profile, self.issues = root, path, profile, list[Issue]()

    def experiment(self) -> Experiment:
        """The whole file. Raises ConfigError with all mistakes."""
        root, name = self.root, str(self.root.get("experiment"))
        with collected(self.issues):
            validated(ConfigFile, root)
        # (a)
        plugins = self.plugins()
        # (b)
        variants = [self.variant(config) for config in variants_of(root)]
        require_none(self.issues)
        # (c)
        require_few(sum(math.prod(map(len, parts.values())) for parts in variants), root.start)
        cells, settings = list[Cell](), list[Mapping[str, Part]]()
        for parts in variants:
            for point in itertools.product(*parts.values()):
                settings.append(dict(zip(parts, point, strict=True)))
                with collected(self.issues):
                    cells.append(cell_of(name, settings[-1], self.profile))
        require_none(self.issues)
        replicates, *others = {cell.run.replicates for cell in cells}
        if others:
            message, hint = "'run.replicates' is one number for all cases", "give it in run:"
            self.issues.append(Issue(root.at("cases"), message, hint))
        # Sizes that differ are often one toy size, and then no mistake: the first of each, in the order of the file.
        numbers: dict[str, int] = {}
        for number, cell in enumerate(cells, 1):
            if (first := numbers.setdefault(cell.cell_id, number)) < number and self.profile != "smoke":
                both = [(c, settings[first - 1][part][0]) for part, (c, _) in settings[number - 1].items()]
                paths = ((c, other, name.split(".")) for c, other in both for name in flat(c.without(["cases"])))
                place = next((at for c, other, k in paths if (at := c.at(*k)) != other.at(*k)), root.at("cases"))
                if place not in [issue.where for issue in self.issues]:
                    message = f"cells {first} and {number} are the same setting"
                    self.issues.append(Issue(place, message, "take one out of the sweep"))
        require_none(self.issues)
        shared, swept = shared_names(p for cell in cells for p in cell.own_parameters), differences(cells)
        different = tuple([replace(cells[number - 1], swept=swept, shared=shared) for number in numbers.values()])
        return Experiment(name, self.path, different, replicates, self.profile, where=root.at("run"), plugins=plugins)

    def plugins(self) -> tuple[str, ...]:
        """Load installed plug-ins and the files that `plugins:` names, which are returned. Raises ConfigError."""
        use_installed()
        files, wrong = self.root.get("plugins", ()), list[Issue]()
        files = tuple([file for file in (files if isinstance(files, tuple) else (files,)) if isinstance(file, str)])
        for k, file in enumerate(files):
            try:
                use(self.path.parent / Path(file).expanduser())
            except (UsageError, RuntimeError) as error:
                wrong.append(Issue(self.root.at("plugins", k), str(error), getattr(error, "hint", "")))
        if wrong:
            raise ConfigError([*self.issues, *wrong])
        return files

    def variant(self, config: Section) -> dict[str, list[Part]]:
        """The sections that are given and those that are left out, all built at every point of their lists."""
        algorithm: Any = self.kind("algorithm", config, "ldp-sgd")
        # The schedule that is meant where none is named is the first that the algorithm takes.
        takes = algorithm.schedules if algorithm else ()
        kinds = {
            "problem": self.kind("problem", config, None), "algorithm": algorithm, "privacy": PrivacySettings,
            "schedule": self.kind("schedule", config, takes[0] if takes and "power" not in takes else "power"),
            "run": RunSettings,
        }  # fmt: skip
        # An algorithm that leaves this question to its base never knows its steps; others are asked for each cell.
        steps = {} if algorithm is None or algorithm.steps is Algorithm.steps else {"n": 1}
        # A default algorithm belongs to the problem that somebody named.
        marks = {key: config.mark("problem" if key == "algorithm" else key) for key in SECTIONS if key not in config}
        config = config.over({key: (Section({}, config.start), mark) for key, mark in marks.items()})
        parts: dict[str, list[Part]] = {}
        # In one order for all files, those that only a case has last.
        for section in sorted(SECTIONS, key=lambda section: section not in self.root):
            if not isinstance(values := config[section], Section) or not (model := kinds[section]):
                continue
            if POPULATION in values:
                message, where = f"unknown key in {section}: '{POPULATION}'", config.mark(section, POPULATION).key
                self.issues.append(Issue(where, message, "it is a section of its own"))
                config = config.over({section: (values.without([POPULATION]), config.mark(section))})
            parts[section] = []
            with collected(self.issues):
                several = [self.with_data(point) for point in points(config, section, model)]
                for point in several:
                    with collected(self.issues):
                        own = parameters_of(section, model, point, steps if section == "run" else {})
                        parts[section].append((point, own))
        return parts

    def kind(self, section: str, config: Section, default: str | None) -> type[Parameters] | None:
        """The class that a section's parameters belong to, by its name."""
        registry, values = REGISTRIES[section], config.get(section)
        name = values.get("name", default) if isinstance(values, dict) else default
        if isinstance(name, str) and name in registry:
            return registry[name]
        message, hint = f"unknown {section} {show(name)}", suggest(str(name), registry)
        if name is None and not (isinstance(values, dict) and "name" in values):
            message, hint = f"'{section}.name' is missing", f"names: {listed(registry)}"
        self.issues.append(Issue(config.at(section, "name"), message, hint))
        return None

    def with_data(self, config: Section) -> Section:
        """A config in which the paths of data start at the folder of the file."""
        for keys in (("problem", "data", "path"), (POPULATION, "design", "rows")):
            if isinstance(path := config.value(*keys), str):
                # A path given on the command line, which has no line, starts where the command is run.
                path = as_named(path, self.path.parent, typed=not config.at(*keys).line)
                config = config.put(keys, path)
        return config


def cell_of(experiment: str, point: Mapping[str, Part], profile: str) -> Cell:
    """The cell of one point. Raises ConfigError with what does not go together."""

    def wrong(message: str, hint: str, section: str, *keys: int | str) -> Issue:
        return Issue(point[section][0].at(section, *keys), message, hint)

    problem, algorithm, schedule, privacy, run = (cast(Any, point[section][1]) for section in SECTIONS)
    own, linear, issues = f"algorithm '{algorithm.name}'", isinstance(problem, LinearPredictorProblem), list[Issue]()
    # In this order: an algorithm's own complaints take for granted that the parts go together.
    if not isinstance(problem, algorithm.runs_on):
        hint = f"it runs on: {', '.join(problems_of(algorithm))}"
        issues.append(wrong(f"{own} does not run on problem '{problem.name}'", hint, "problem"))
    if linear and problem.population is not None and not algorithm.populations:
        hint = f"these do: {', '.join(name for name, kind in ALGORITHMS.items() if kind.populations)}"
        issues.append(wrong(f"{own} does not take a population", hint, "algorithm"))
    elif schedule.name not in algorithm.schedules:
        hint = f"it takes: {', '.join(algorithm.schedules)}"
        issues.append(wrong(f"{own} does not take schedule '{schedule.name}'", hint, "schedule"))
    require_none(issues)
    try:
        problem.memory()  # reads what has to be read
    except UsageError as error:
        raise ConfigError([wrong(error.message, error.hint, "problem", "data")]) from None
    if "n" not in point["run"][0]["run"]:
        n = algorithm.steps(problem, schedule, privacy.mu)
        if n is None:
            raise ConfigError([wrong("'run.n' is missing", "the number of steps: n: 10000", "run")])
        if n > MAX_STEPS:
            message = f"that makes {n:.3g} steps; at most {MAX_STEPS:.0e}"
            raise ConfigError([wrong(message, "fewer epochs", "algorithm")])
        run = run.model_copy(update={"n": n})
    if privacy.mu.pure_eps is not None and not algorithm.pure_budgets:
        message = f"{own} takes no eps with delta = 0, which is of users who send one message each"
        raise ConfigError([wrong(message, "ldp-sgd, or a delta above 0", "privacy", "delta")])
    for complaint in algorithm.complaints(problem, schedule, privacy.mu, run.n):
        message, _, hint = complaint.partition("\n")
        issue, written = wrong(message, hint, "algorithm"), point["problem"][0]
        if (key := re.search(r"'population\.(\w+)'", message)) and POPULATION in written:
            issue = issue._replace(where=written.at(POPULATION, key[1]))
        issues.append(issue)
    if linear and isinstance(algorithm, OnePassAlgorithm):
        known = {"all", *range(problem.d + 1), *["scale"] * problem.has_scale}
        hint = f"0 is the intercept, 1 to {problem.d} the slopes" + ", scale the scale" * problem.has_scale
        unknown = [(place, entry) for place, entry in enumerate(run.coefficients) if entry not in known]
        message = "'run.coefficients': there is no coefficient"
        issues += [wrong(f"{message} {entry}", hint, "run", "coefficients", place) for place, entry in unknown]
    elif run.coefficients:
        message = f"{own} on problem '{problem.name}' has no coefficients to record"
        issues.append(wrong(message, "leave out `coefficients`", "run", "coefficients"))
    for place, name in enumerate(run.metrics):
        message, hint = f"unknown metric '{name}'", suggest(name, METRICS)
        sources = (run.metrics[:place], *(kind.metrics for kind in ALGORITHMS.values()), RESERVED_COLUMNS)
        settings = (type(part).model_fields for _, part in point.values())
        if taken := re.match("coefficient_|scale$", name) or any(name in own for own in (*sources, *settings)):
            message = f"'{name}' is also the name of another metric, a setting or a column"
            hint = "leave it out, or rename the metric of the plug-in"
        if taken or name not in METRICS:
            issues.append(wrong(message, hint, "run", "metrics", place))
    require_none(issues)
    # After all checks at full size, which is what the config says.
    if profile == "smoke":
        toy = dict(zip(("n", "replicates", "checkpoints"), (*algorithm.smoke_size, 20), strict=True))
        run = run.model_copy(update={key: min(getattr(run, key), size) for key, size in toy.items()})
    return Cell(experiment, problem, algorithm, schedule, privacy, run)
