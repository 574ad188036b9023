"""What a config resolves to: an Experiment of frozen cells."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import numpy as np
from pydantic import Field

from dpexp.parameters import Checkpoints, Count, Parameters, Replicates, Seed
from dpexp.privacy.settings import PrivacySettings

if TYPE_CHECKING:
    from dpexp.config.yamlfile import Position

SECTIONS = ("problem", "algorithm", "schedule", "privacy", "run")


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
        """12 hex digits of a hash of `parameters`: equal numbers, equal id, whatever the experiment is called."""
        return _digest(self.parameters)

    @cached_property
    def pass_key(self) -> str:
        """Cells with equal keys are computed in one pass over the random numbers."""
        return _digest({k: v for k, v in self.parameters.items() if k not in ("schedule", "budget")})

    def columns(self) -> dict[str, Any]:
        """The scalar parameters as columns of cells.parquet; `mu` is NaN where budgets differ between users."""
        columns: dict[str, Any] = {s: getattr(self, s).name for s in ("problem", "algorithm", "schedule")}
        for section in (self.problem, self.algorithm, self.schedule, self.run):
            for name, value in section.model_dump(exclude={"name", "replicates"}).items():
                kinds = get_args(type(section).model_fields[name].annotation)
                mixed = len(kinds) > 1 and str in map(type, _literals(kinds))
                columns[name] = (
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
    where: Position | None = None
    """of the section `run` in the file, by which sizes are set"""

    @property
    def deltas(self) -> tuple[float, ...]:
        """Deltas at which epsilon is reported."""
        return self.cells[0].privacy.deltas


def checkpoint_steps(n: int, checkpoints: int) -> np.ndarray:
    """Increasing steps from 1 to n, both included, evenly spaced on a log scale; int64 [min(n, checkpoints)] or fewer.

    The first steps of such a grid fall on the same whole numbers, so it is refined until enough of them differ.
    """
    if checkpoints == 1:
        return np.array([n])
    if checkpoints >= n:
        return np.arange(1, n + 1)
    points, last = checkpoints, 0
    while (found := _distinct(n, points)) <= checkpoints:
        last = points
        if found == checkpoints:
            break
        points += checkpoints - found
    return np.unique(np.geomspace(1, n, last).round().astype(np.int64))


_AROUND = 32
"""points on each side of the place where the grid's gaps pass 1 that are looked at one by one"""


def _distinct(n: int, points: int) -> int:
    """How many whole numbers the rounded grid of so many points from 1 to n meets, 2 <= points; O(1) time.

    Gaps grow with the ratio r of neighbours: they are below 1 up to x = 1 / (r - 1), so that no whole number is left
    out there, and above 1 beyond, so that all points round to different ones. Only the points around x are rounded.
    """
    rate = math.log(n) / (points - 1)
    middle = -math.log(math.expm1(rate)) / rate
    low = min(max(0, math.floor(middle) - _AROUND), points - 1)
    high = min(max(0, math.ceil(middle) + _AROUND), points - 1)
    near = 10.0 ** (np.arange(low, high + 1) * (np.log10(n) / (points - 1)))  # as np.geomspace has them
    if high == points - 1:
        near[-1] = n
    met = np.unique(near.round())
    return int(met[0]) + len(met) - 1 + points - 1 - high


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


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
