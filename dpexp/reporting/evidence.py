"""Stored results as claims read them: an experiment's runs, a run's values by estimator and metric.

Whether what is stored of a cell agrees with itself, its row, parameters and numbers, is looked at first; nothing is
computed anew.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from dpexp.config.cells import Cell, is_noisy, stored_cell
from dpexp.core.errors import DpexpError, ResultsMissing
from dpexp.core.text import fraction
from dpexp.engine.result import CellData
from dpexp.reporting.results.metrics import CONTROLLED
from dpexp.store import Folder, cell_of, load_generation
from dpexp.store.reading import command_of, not_as_configured

ROUNDING = 1e-9
"""relative to the largest gap: losses are means of up to a million terms, each right to 1e-16"""


@dataclass(frozen=True)
class Run:
    """One cell: what was run, and what came out."""

    cell: Cell
    row: dict[str, Any]
    """its row of cells.parquet"""
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

    def controlled(self, estimator: str, metric: str) -> np.ndarray:
        """`values` less what a control variate knows of them, where the run has one: of the same mean, for rates.

        The mean of what is taken off is a prediction, which these values are no test of.
        """
        has_one = metric + CONTROLLED in self.data.metrics
        return self.values(estimator, metric + CONTROLLED if has_one else metric)

    @property
    def traits(self) -> dict[str, str]:
        """Problem, what in it differs from its defaults, alpha and budget, in words."""
        own = self.cell.problem.model_dump(exclude_defaults=True)
        return {
            "problem": self.cell.problem.name,
            **{key: f"{key} = {_short(value)}" for key, value in own.items() if key != "name"},
            "alpha": f"alpha = {fraction(self.alpha)}",
            "budget": self.budget if self.budget == "non-private" else f"mu = {self.budget}",
        }

    @property
    def name(self) -> str:
        """How a line of the ledger names this run."""
        return ", ".join(self.traits.values())


def labels(runs: Sequence[Run]) -> list[str]:
    """Names of runs without what they all share."""
    traits = [run.traits for run in runs]
    shared = set.intersection(*(set(own.items()) for own in traits)) if traits else set()
    different = [[words for key, words in own.items() if (key, words) not in shared] for own in traits]
    return [", ".join(own) or run.name for own, run in zip(different, runs, strict=True)]


class Undeclared(DpexpError):
    """A check that reads results of an experiment that its claim does not name."""

    def __init__(self, experiment: str, declared: Collection[str]) -> None:
        named = ", ".join(sorted(declared)) or "none"
        super().__init__(f"a check reads '{experiment}', but its claim declares {named}", "add it to `experiments`")


class Evidence:
    """Stored results, read when asked for and never computed."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._runs: dict[str, list[Run]] = {}
        self._open: frozenset[str] | None = None

    def only(self, experiments: Sequence[str]) -> Self:
        """The same evidence, of which nothing but these experiments can be asked for."""
        some = copy(self)
        # a verdict counts as current while the results that its claim declares do; a check that read others would go on
        # counting after they changed
        some._open = frozenset(experiments)
        return some

    def runs(self, experiment: str, **wanted: Any) -> list[Run]:
        """Runs of an experiment whose alpha or budget is (among) what is wanted, by alpha and then budget.

        Raises ResultsMissing where results are absent, stale or were run without these settings.
        """
        if self._open is not None and experiment not in self._open:
            raise Undeclared(experiment, self._open)
        if experiment not in self._runs:
            self._runs[experiment] = self._load(experiment)
        found = [r for r in self._runs[experiment] if all(_matches(r, k, v) for k, v in wanted.items())]
        if not found:
            raise not_as_configured(self.results, experiment, f"no cell with {_spoken(wanted)}")
        return found

    def run(self, experiment: str, **wanted: Any) -> Run:
        """The one run with these settings. Raises ValueError, which names them, where there are several."""
        found = self.runs(experiment, **wanted)
        if len(found) > 1:
            names = "; ".join(labels(found))
            raise ValueError(f"{experiment} has {len(found)} runs with {_spoken(wanted)}: {names}")
        return found[0]

    def across(self, experiments: Sequence[str], **wanted: Any) -> list[Run]:
        """Runs of several experiments, in their order."""
        return [run for experiment in experiments for run in self.runs(experiment, **wanted)]

    def _load(self, experiment: str) -> list[Run]:
        generation = load_generation(self.results, experiment)
        runs = []
        for row in generation.cells.table().to_pandas(use_threads=False).to_dict("records"):
            cell_id = str(row["cell_id"])
            cell = stored_cell(experiment, generation.manifest["cells"][cell_id])
            run = Run(cell, {str(k): v for k, v in row.items()}, cell_of(generation, cell_id))
            if fault := contradiction(run.cell, run.row, run.data):
                raise ResultsMissing(
                    f"{experiment}: the stored cell {cell_id} contradicts itself: {fault}",
                    f"run: {command_of(Folder(self.results, experiment))} --force",
                )
            runs.append(run)
        # what has no mu comes first
        return sorted(runs, key=lambda r: (r.alpha, np.nan_to_num(r.row["gdp_mu"], nan=0.0), r.budget))


def _matches(run: Run, key: str, wanted: Any) -> bool:
    options: Sequence[Any] = wanted if isinstance(wanted, list | tuple) else [wanted]
    have = run.alpha if key == "alpha" else run.row[key]
    return any(_same(have, option) for option in options)


def _same(have: Any, wanted: Any) -> bool:
    """Equal, numbers up to their last digits; inf is inf, and a missing value is no number."""
    if isinstance(have, int | float) and isinstance(wanted, float):
        return math.isclose(have, wanted, rel_tol=1e-9)
    return bool(have == wanted)


def _short(value: Any) -> str:
    """A parameter in words: a nested one by its values."""
    if isinstance(value, dict):
        return " ".join(_short(inner) for inner in value.values())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spoken(wanted: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in wanted.items()) or "any settings"


def contradiction(cell: Cell, row: Mapping[str, Any], data: CellData) -> str:
    """What of a stored cell contradicts the rest, in words; empty where nothing does."""
    replicates = data.values.shape[-1]
    if int(row["replicates"]) != replicates:
        return f"its row counts {int(row['replicates'])} replicates, and {replicates} are stored"
    if int(data.steps[-1]) != cell.run.n:
        return f"its last step is {int(data.steps[-1]):,}, and it was run for {cell.run.n:,}"
    for name, value in cell.columns().items():
        if name not in row or not _stored_as(row[name], value):
            return f"its row has {name} = {row.get(name, 'nothing')}, and its parameters {value}"
    if "loss_gap" in data.metrics:
        gaps = data.values[:, :, data.metrics.index("loss_gap")]
        # a replicate that diverged is no contradiction
        finite = gaps[np.isfinite(gaps)]
        if finite.size and finite.min() < -ROUNDING * max(1.0, float(finite.max())):
            return f"a loss is {-float(finite.min()):.3g} below the least one"
    return repeated(data) if is_noisy(cell) else ""


def repeated(data: CellData) -> str:
    """Which replicates have the same numbers bit for bit, in words; empty where none have."""
    seen: dict[bytes, int] = {}
    for r in range(data.values.shape[-1]):
        # replicates with noise of their own agree in no number, so that bytes are enough
        first = seen.setdefault(np.ascontiguousarray(data.values[..., r]).tobytes(), r)
        if first != r:
            return f"replicates {first} and {r} are the same, bit for bit"
    return ""


def _stored_as(stored: Any, own: Any) -> bool:
    """A parameter and its column. What a cell does not have is empty there."""
    if _empty(own):
        return _empty(stored)
    if isinstance(own, float):
        return isinstance(stored, int | float | np.number) and math.isclose(float(stored), own, rel_tol=1e-12)
    # a column of whole numbers and gaps comes back as one of floats, which is equal
    return bool(stored == own)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))
