"""What a config resolves to: an Experiment of frozen cells."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import Field

from dpexp.core.digests import digest
from dpexp.core.parameters import Checkpoints, Count, Parameters, Replicates, Seed
from dpexp.privacy.settings import PrivacySettings

if TYPE_CHECKING:
    from dpexp.config.yamlfile import Position

ID_LENGTH = 12
"""hexadecimal digits of a cell's id"""
SECTIONS = ("problem", "algorithm", "schedule", "privacy", "run")
OTHER_COLUMNS = (
    "cell_id", "problem", "algorithm", "schedule", "mu", "budget", "eps", "delta", "status", "reason", "replicates",
    "n_diverged", "wall_s",
)  # fmt: skip
"""columns of cells.parquet that are no parameters of a section"""


class RunSettings(Parameters):
    """How much is simulated: users (one step each), replicates, seed, and at how many steps the state is recorded."""

    n: Count
    replicates: Replicates = 200
    seed: Seed = 0
    checkpoints: Checkpoints = 200
    diverged_above: Annotated[float, Field(ge=1e-6, le=1e100)] = 1e6
    """a replicate counts as diverged where its distance to the optimum exceeds this or is not finite"""


@dataclass(frozen=True)
class Cell:
    """One fully resolved setting, without the number of replicates."""

    experiment: str
    problem: Any
    algorithm: Any
    schedule: Any
    privacy: PrivacySettings
    run: RunSettings
    swept: dict[str, Any]

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the cell's numbers, as JSON values, by section."""
        run = self.run.model_dump()
        del run["replicates"]
        sections = {
            "problem": self.problem.model_dump(),
            "algorithm": self.algorithm.model_dump(),
            "schedule": self.schedule.model_dump(),
            "budget": self.privacy.mu.model_dump(),
            "run": run,
        }
        return _jsonable(sections)

    @cached_property
    def cell_id(self) -> str:
        """A hash of `parameters`: equal numbers, equal id, whatever the experiment is called."""
        return digest(self.parameters, ID_LENGTH)

    @cached_property
    def pass_key(self) -> str:
        """Cells with equal keys are computed in one pass over the random numbers."""
        return digest({k: v for k, v in self.parameters.items() if k not in ("schedule", "budget")})

    def columns(self) -> dict[str, Any]:
        """The scalar parameters as columns of cells.parquet; `mu` is NaN where budgets differ between users.

        A parameter has its own name, and its section's before it where another column is called so too.
        """
        columns: dict[str, Any] = {s: getattr(self, s).name for s in ("problem", "algorithm", "schedule")}
        parts: dict[str, Parameters] = {s: getattr(self, s) for s in (*columns, "run")}
        fields = {s: [name for name in type(part).model_fields if name != "name"] for s, part in parts.items()}
        fields["run"].remove("replicates")
        count = Counter([*OTHER_COLUMNS, *(name for names in fields.values() for name in names)])
        for section, part in parts.items():
            values = part.model_dump()
            for name in fields[section]:
                kinds = get_args(type(part).model_fields[name].annotation)
                mixed = len(kinds) > 1 and str in map(type, _literals(kinds))
                value = values[name]
                columns[name if count[name] == 1 else f"{section}.{name}"] = (
                    _flat(value) if isinstance(value, dict | list | tuple) else str(value) if mixed else value
                )
        constant = self.privacy.mu.constant
        columns |= {"mu": math.nan if constant is None else constant, "budget": self.privacy.mu.label}
        if self.privacy.eps is not None:
            columns |= {"eps": self.privacy.eps, "delta": self.privacy.delta}
        return columns


@dataclass(frozen=True)
class Experiment:
    """A resolved config."""

    name: str
    path: Path
    cells: tuple[Cell, ...]
    replicates: int
    profile: str
    sweeps: dict[tuple[str, str], tuple[Any, ...]]
    """swept (section, key) -> values, where the cells are exactly their product; empty with `cases`"""
    overrides: tuple[str, ...] = ()
    """what the command line changed in the config file, as `section.key=value`"""
    sha256: str = ""
    """of the config file, as it was read; empty for an experiment that was not read from a file"""
    read_at: int = 0
    """when reading the config, and the data that it names, began: nanoseconds since 1970"""
    where: Position | None = None
    """of the section `run` in the file, by which sizes are set"""
    plugins: tuple[str, ...] = ()
    """files that the config loads, by their paths from it"""

    @property
    def deltas(self) -> tuple[float, ...]:
        """Deltas at which epsilon is reported: those of every cell, in the order of the config."""
        return tuple(dict.fromkeys(delta for cell in self.cells for delta in cell.privacy.deltas))


def smoke(settings: RunSettings, size: tuple[int, int] = (2000, 8)) -> RunSettings:
    """The toy size of `--profile smoke`: at most so many steps and replicates, and 20 checkpoints."""
    most_steps, replicates = size
    return settings.model_copy(
        update={
            "n": min(settings.n, most_steps),
            "replicates": min(settings.replicates, replicates),
            "checkpoints": min(settings.checkpoints, 20),
        }
    )


def _flat(value: Any) -> str:
    """A nested parameter as one column: its name, or its values."""
    if isinstance(value, dict):
        return str(value["name"]) if value.get("name") else ", ".join(f"{k}: {v}" for k, v in value.items() if v)
    return ", ".join(map(str, value))


def _literals(kinds: tuple[Any, ...]) -> list[Any]:
    return [literal for kind in kinds for literal in (get_args(kind) or (kind,))]


def _jsonable(value: Any) -> Any:
    """JSON values with one spelling a number: 2 and 2.0 alike, infinity as "inf"."""
    if isinstance(value, dict):
        return {k: _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    if isinstance(value, float):
        return "inf" if math.isinf(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value
