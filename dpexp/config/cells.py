"""What a config resolves to: an Experiment of frozen cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, WithJsonSchema, model_serializer

from dpexp.core.errors import ResultsMissing
from dpexp.core.files import digest, paths_from
from dpexp.core.parameters import Checkpoints, Count, Parameters, Replicates, Seed, Words
from dpexp.privacy.budgets import PrivacySettings
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.algorithms.algorithm import Algorithm
    from dpexp.algorithms.schedules import Schedule
    from dpexp.config.yamlfile import Position
    from dpexp.problems.problem import Problem

ID_LENGTH = 12
"""hexadecimal digits of a cell's id"""
SECTIONS = ("problem", "algorithm", "schedule", "privacy", "run")
RESERVED_COLUMNS = (
    "cell_id", "problem", "algorithm", "schedule", "mu", "budget", "eps", "delta", "status", "reason", "replicates",
    "n_diverged", "wall_s", "replicate", "diverged", "param_distance",
    "estimator", "step", "metric", "mean", "sd", "se", "median", "q05", "q25", "q75", "q95", "ci_lo", "ci_hi",
    "median_lo", "median_hi",
    "noise_multiplier", "noise_sigma", "guarantee", "gdp_mu", "gdp_mu_exact", "gdp_valid", "mu_mean_inverse_square",
    "projections", "released", "deployment",
)  # fmt: skip
"""columns that are no parameters of a section: of cells.parquet and trajectories, from the third line on of
summary.parquet, and from the fifth on those of mechanisms and of runs. `n` and `accountant` are parameters too"""
OF_THE_EXPERIMENT = ("replicates", "release")
"""keys of the section run that change no number of a replicate: how many there are, and which of them are released"""
POPULATION = "population"
NAMED = ("problem", "algorithm", "schedule")
"""sections whose name is a column of its own"""
Parameter = tuple[str, str]
"""a section and a key in it; of a population a nested key, such as population.errors.df"""
IMPLIED: Mapping[str, Any] = {"weights": "mallows", "bend": 0, "response.link": "logit"}
"""defaults of every population"""


def shared_names(parameters: Iterable[Parameter]) -> frozenset[str]:
    """Names that two sections have, or a column that is no parameter: it would be open which parameter is meant."""
    count = Counter([*RESERVED_COLUMNS, *(key for _, key in dict.fromkeys(parameters))])
    return frozenset(name for name, times in count.items() if times > 1)


def column_name(parameter: Parameter, shared: Container[str]) -> str:
    """The name of a parameter in columns, lists, comparisons, labels and JSON: its own, or `section.name` where that is
    one of the `shared` ones; of a section's name that section."""
    section, key = parameter
    if key == "name" and section in NAMED:
        return section
    return key if section == "privacy" or key not in shared else f"{section}.{key}"


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Parameters by their place, such as problem.data.name; lists as text, infinity as a number."""
    settings: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            settings |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            settings[prefix + name] = str(list(value))
        else:
            settings[prefix + name] = math.inf if value == "inf" else value
    return settings


class RunSettings(Parameters):
    """How much is simulated: users (one step each), replicates, seed, and at how many steps the state is recorded."""

    n: Count
    """steps; each is one user where every user is asked once"""
    replicates: Replicates = 200
    """independent repetitions, from which intervals are computed"""
    seed: Seed = 0
    """of all random numbers: the same seed gives the same bits"""
    checkpoints: Checkpoints = 200
    """steps at which the state is recorded, evenly on a log scale"""
    diverged_above: Annotated[float, Field(ge=1e-6, le=1e100)] = 1e6
    """a replicate counts as diverged where its distance to the optimum exceeds this or is not finite"""
    release: Literal["first", "all"] = "first"
    """which replicates on your own records are released: the first, or all, whose losses then add up"""
    coefficients: Annotated[
        tuple[int | Literal["all", "scale"], ...],
        BeforeValidator(lambda value: {"all": ("all",), "none": ()}[value] if value in ("all", "none") else value),
        WithJsonSchema({"anyOf": [{"type": "array"}, {"enum": ["all", "none"]}]}),
    ] = ()
    """coefficients recorded after the last step: all, or a list of their numbers (0 is the intercept) and scale"""
    metrics: Words = ()
    """metrics of plug-ins, recorded after the last step: a name, or a list of names"""

    @model_serializer(mode="wrap")
    def _as_stored(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # cells that record none keep their ids
        return {key: value for key, value in dump(self).items() if value != ()}


@dataclass(frozen=True)
class Cell:
    """One fully resolved setting, without the number of replicates."""

    experiment: str
    problem: Problem
    algorithm: Algorithm
    schedule: Schedule
    privacy: PrivacySettings
    run: RunSettings
    swept: Sequence[Parameter] = ()  # what varies in the experiment, whether or not this cell has it
    shared: frozenset[str] = frozenset()  # names that two sections have anywhere in the experiment

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the cell's numbers, as JSON values, by section."""
        parts = {section: getattr(self, section).model_dump() for section in NAMED}
        run = self.run.model_dump(exclude=set(OF_THE_EXPERIMENT))
        return dict(_jsonable({**parts, "budget": self.privacy.mu.model_dump(), "run": run}))

    @cached_property
    def coordinates(self) -> dict[str, int]:
        """Metrics that are single parameters after the last step, by name, with their places in theta."""
        problem, entries = self.problem, self.run.coefficients
        if not entries or not isinstance(problem, LinearPredictorProblem):
            return {}
        names = [f"coefficient_{j}" for j in range(problem.d + 1)] + ["scale"] * problem.has_scale
        recorded = {entry if entry == "scale" else f"coefficient_{entry}" for entry in entries}
        return {name: j for j, name in enumerate(names) if name in recorded or "all" in entries}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Everything that is recorded: the algorithm's metrics, single parameters, and metrics of plug-ins."""
        return (*self.algorithm.metrics, *self.coordinates, *self.run.metrics)

    @cached_property
    def cell_id(self) -> str:
        """A hash of `parameters`: equal numbers, equal id, whatever the experiment is called."""
        return digest(self.parameters, ID_LENGTH)

    @cached_property
    def pass_key(self) -> str:
        """Cells with equal keys are computed in one pass over the random numbers."""
        return digest([_jsonable(self.algorithm.common(self.problem)), self.parameters["run"]])

    @cached_property
    def values(self) -> dict[Parameter, Any]:
        """Every parameter as a scalar; a budget by its label, a target by eps and delta, a population key by key."""
        values: dict[Parameter, Any] = {(section, "name"): getattr(self, section).name for section in NAMED}
        for section in (*NAMED, "run"):
            dump = getattr(self, section).model_dump()
            left_out = OF_THE_EXPERIMENT if section == "run" else ("name", "population")
            values |= {(section, key): _scalar(value) for key, value in dump.items() if key not in left_out}
        nested = flat(self.problem.model_dump().get("population", {}), "population.")
        # a weight is called by its name, as elsewhere
        values |= {("problem", name.removesuffix(".name")): value for name, value in nested.items()}
        eps, delta = self.privacy.eps, self.privacy.delta
        target: dict[str, Any] = {"mu": self.privacy.mu.label} if eps is None else {"eps": eps, "delta": delta}
        return values | {("privacy", key): value for key, value in target.items()}

    @cached_property
    def _shared(self) -> frozenset[str]:
        return self.shared | shared_names(self.own_parameters)

    @property
    def own_parameters(self) -> list[Parameter]:
        """Every parameter that is a column, but for the names of sections and those of the budget."""
        return [(section, key) for section, key in self.values if section != "privacy" and key != "name"]

    def name_of(self, parameter: Parameter) -> str:
        """The parameter's column, the same in every cell of the experiment."""
        return column_name(parameter, self._shared)

    def columns(self) -> dict[str, Any]:
        """The scalar parameters as columns of cells.parquet; `mu` is NaN where budgets differ between users."""
        budget, target = self.privacy.mu, {"eps": self.privacy.eps, "delta": self.privacy.delta}
        columns = {self.name_of(parameter): v for parameter, v in self.values.items() if parameter[0] != "privacy"}
        columns |= {"mu": math.nan if budget.constant is None else budget.constant, "budget": budget.label}
        return columns if self.privacy.eps is None else columns | target

    def setting(self) -> dict[str, Any]:
        """What is swept, by the names of its columns; None for what this cell does not have; a budget by its label."""
        swept = [p for p in self.swept if p != ("privacy", "mu") or self.privacy.eps is None]
        return {
            self.name_of(p): self.values.get(p, IMPLIED.get(self.name_of(p).removeprefix("population."))) for p in swept
        }


@dataclass(frozen=True)
class Experiment:
    """A resolved config."""

    name: str
    path: Path
    cells: tuple[Cell, ...]
    replicates: int
    profile: str
    overrides: tuple[str, ...] = ()  # what the command line changed in the config file, as `section.key=value`
    text: str = ""  # the config file, as it was read; empty for an experiment that was not read from a file
    read_at: int = 0  # when reading the config, and the data that it names, began: nanoseconds since 1970
    where: Position | None = None  # of the section `run` in the file, by which sizes are set
    plugins: tuple[str, ...] = ()  # files that the config loads, by their paths from it

    @property
    def deltas(self) -> tuple[float, ...]:
        """Deltas at which epsilon is reported: those of every cell, in the order of the config."""
        return tuple(dict.fromkeys(delta for cell in self.cells for delta in cell.privacy.deltas))

    def notices(self, own: bool = False) -> list[str]:
        """What is said of the data, their encoding and what is not private, each sentence once; or only of own data."""
        several = [cell.problem.notices() for cell in self.cells if cell.problem.files() or not own]
        return list(dict.fromkeys(notice for notices in several for notice in notices))

    def require_records(self) -> None:
        """Raises DataError where no record of a user's table can be read."""
        for cell in self.cells:
            cell.problem.require_records()

    def remarks(self) -> list[str]:
        """What is odd about the user's own tables, each sentence once. They are read for it."""
        return list(dict.fromkeys(remark for cell in self.cells for remark in cell.problem.remarks()))


def _scalar(value: Any) -> Any:
    """A parameter as the value of a column: a nested one as its name or its values, a list as text."""
    if isinstance(value, dict):
        return str(value["name"]) if value.get("name") else ", ".join(f"{k}: {v}" for k, v in value.items() if v)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _jsonable(value: Any) -> Any:
    """JSON values with one spelling a number: 2 and 2.0 alike, infinity as "inf"."""
    if isinstance(value, dict):
        return {k: _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    if isinstance(value, float):
        return "inf" if math.isinf(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _numbers(value: Any) -> Any:
    """What `_jsonable` has written, with infinity as a number and tuples for lists."""
    if isinstance(value, dict):
        return {k: _numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return tuple(map(_numbers, value))
    return math.inf if value == "inf" else value


def stored_cell(experiment: str, parameters: dict[str, Any]) -> Cell:
    """The cell of stored `parameters`. Raises ResultsMissing without their plug-in, ValueError if refused."""
    from dpexp.algorithms import ALGORITHMS
    from dpexp.algorithms.schedules import SCHEDULES
    from dpexp.privacy.budgets import BUDGETS, PureBudget, Target
    from dpexp.problems import PROBLEMS

    def made(section: str, name: str, registry: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        if name in registry:
            return registry[name](**values)
        hint = "load the plug-in that defines it: --plugin FILE.py"
        raise ResultsMissing(f"{experiment}: the {section} '{name}' of these results is not there", hint)

    values = _numbers(parameters)
    budget, laws = values["budget"], [*BUDGETS.values(), PureBudget if values["budget"].get("delta") == 0 else Target]
    by_keys = {" and ".join(sorted(law.model_fields)): law for law in laws}
    # what the results of somebody else name is not opened
    with paths_from(None):
        problem = made("problem", values["problem"]["name"], PROBLEMS, values["problem"])
        algorithm = made("algorithm", values["algorithm"]["name"], ALGORITHMS, values["algorithm"])
        schedule = made("schedule", values["schedule"]["name"], SCHEDULES, values["schedule"])
        law = made("law of budgets", " and ".join(sorted(budget)), by_keys, budget)
        return Cell(experiment, problem, algorithm, schedule, PrivacySettings(mu=law), RunSettings(**values["run"]))
