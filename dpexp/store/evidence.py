"""Stored results as claims read them: an experiment's runs, and a run's values by estimator and metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from dpexp.config.cell_settings import varying
from dpexp.config.cells import Cell, stored_cell
from dpexp.core.errors import UsageError
from dpexp.core.text import fraction
from dpexp.engine.result import CellData
from dpexp.store.reading import cell_of, cells_of, load_generation, not_as_configured


@dataclass(frozen=True)
class Run:
    """One cell with its row of cells.parquet and its numbers by replicate."""

    cell: Cell
    row: dict[str, Any]
    data: CellData

    @property
    def alpha(self) -> float:
        """Exponent of the step size; 0 where the schedule has none."""
        return float(self.row.get("alpha") or 0.0)

    @property
    def budget(self) -> str:
        """Label of the budgets, such as 0.5 or non-private."""
        return str(self.row["budget"])

    @property
    def steps(self) -> np.ndarray:
        return self.data.steps

    def values(self, estimator: str, metric: str) -> np.ndarray:
        """[K, R]; `param_distance` is the root of `param_distance_sq`."""
        if metric == "param_distance":
            return np.sqrt(self.values(estimator, "param_distance_sq"))
        return self.data.values[self.data.estimators.index(estimator), :, self.data.metrics.index(metric)]

    @property
    def traits(self) -> dict[str, str]:
        """Problem, its parameters that are no defaults, alpha and budget, in words."""
        own = self.cell.problem.model_dump(exclude_defaults=True)
        return {
            "problem": self.cell.problem.name,
            **{key: f"{key} = {_short(value)}" for key, value in own.items() if key != "name"},
            "alpha": f"alpha = {fraction(self.alpha)}",
            "budget": self.budget if self.budget == "non-private" else f"mu = {self.budget}",
        }

    @property
    def name(self) -> str:
        """The run in a line of the ledger."""
        return ", ".join(self.traits.values())

    def has(self, key: str, options: Any) -> bool:
        """Whether a setting has this value, or one of a tuple of values; numbers agree up to their last digits."""
        own = self.alpha if key == "alpha" else self.row[key]
        values = options if isinstance(options, tuple) else (options,)
        numbers = [value for value in values if isinstance(value, float) and isinstance(own, int | float)]
        return own in values or any(math.isclose(own, value, rel_tol=1e-9) for value in numbers)


def labels(runs: Sequence[Run]) -> list[str]:
    """Names of runs without what they all share."""
    traits = [run.traits for run in runs]
    differing = varying(traits)
    words = [", ".join(own[name] for name in own if name in differing) for own in traits]
    return [own or run.name for own, run in zip(words, runs, strict=True)]


class Evidence:
    """Stored results, read on demand and never computed."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._runs: dict[str, list[Run]] = {}
        self._declared: Sequence[str] | None = None

    def only(self, experiments: Sequence[str]) -> Self:
        """The same evidence, restricted to these experiments: a verdict is stored with the results of no others."""
        part = copy(self)
        part._declared = experiments
        return part

    def runs(self, experiment: str, **conditions: Any) -> list[Run]:
        """Runs of an experiment with these settings, by alpha and then budget.

        Raises ResultsMissing where results are absent, stale or were run without these settings, UsageError for an
        experiment that a claim does not declare.
        """
        if self._declared is not None and experiment not in self._declared:
            message = f"a check reads '{experiment}', which its claim does not declare"
            raise UsageError(message, "add it to `experiments`")
        if experiment not in self._runs:
            self._runs[experiment] = self._load(experiment)
        runs = [run for run in self._runs[experiment] if all(run.has(*item) for item in conditions.items())]
        if not runs:
            words = ", ".join(f"{key} = {value}" for key, value in conditions.items()) or "any settings"
            raise not_as_configured(self.results, experiment, f"no cell with {words}")
        return runs

    def run(self, experiment: str, **conditions: Any) -> Run:
        """The only run with these settings. Raises ValueError, which names them, where there are several."""
        runs = self.runs(experiment, **conditions)
        if len(runs) > 1:
            raise ValueError(f"{experiment} has {len(runs)} runs with {conditions}: {'; '.join(labels(runs))}")
        return runs[0]

    def _load(self, experiment: str) -> list[Run]:
        generation, runs = load_generation(self.results, experiment), []
        for row in cells_of(generation).to_dict("records"):
            cell_id = str(row["cell_id"])
            cell = stored_cell(experiment, generation.manifest["cells"][cell_id])
            runs.append(Run(cell, {str(k): v for k, v in row.items()}, cell_of(generation, cell_id)))
        # runs without mu come first
        return sorted(runs, key=lambda r: (r.alpha, np.nan_to_num(r.row["gdp_mu"], nan=0.0), r.budget))


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(map(_short, value.values()))
    return f"{value:g}" if isinstance(value, float) else str(value)
