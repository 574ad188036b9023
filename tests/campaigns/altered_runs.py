"""Stored results that were altered in memory: runs whose values pass through a change, and evidence made of them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from dpexp.config.cells import stored_cell
from dpexp.core.errors import ResultsMissing
from dpexp.reporting.evidence import Evidence, Run
from dpexp.store import cell_of, load_cells, load_generation, load_summary
from dpexp.store.stats import summarise, too_far, with_distance
from dpexp.theory.theorem import Theorem

Change = Callable[[Run, str, str, np.ndarray], np.ndarray]
"""(run, estimator, metric, values [K, R]) -> values"""
Alteration = Callable[[list[Run]], list[Run]]
"""all runs of an experiment -> what they are turned into; runs that it does not concern are the same objects"""


@dataclass(frozen=True)
class Altered(Run):
    """A run whose values pass through a change when they are asked for: a check asks for few of them."""

    change: Change = lambda run, estimator, metric, values: values

    def values(self, estimator: str, metric: str) -> np.ndarray:
        if metric == "param_distance":
            return np.sqrt(self.values(estimator, "param_distance_sq"))
        return self.change(self, estimator, metric, super().values(estimator, metric))


def whole(run: Run) -> Run:
    """The run with all its values changed, as one that was stored so."""
    if not isinstance(run, Altered):
        return run
    metrics = [[run.values(e, m) for m in run.data.metrics] for e in run.data.estimators]
    values = np.stack([np.stack(own, axis=1) for own in metrics])
    return Run(run.cell, run.row, run.data._replace(values=values))


def through(change: Change, keep: Callable[[Run], bool] = lambda run: True) -> Alteration:
    """Every run that is kept, through a change of its values."""
    return lambda runs: [Altered(r.cell, r.row, r.data, change) if keep(r) else r for r in runs]


def order(run: Run) -> tuple[float, float, str]:
    """As evidence sorts its runs, also where there is no alpha."""
    alpha, mu = run.row.get("alpha"), run.row.get("gdp_mu")
    return float(alpha or 0.0), float(np.nan_to_num(mu if mu is not None else 0.0, nan=0.0)), str(run.row["budget"])


class Stored:
    """Results as they are stored, read once."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._runs: dict[str, list[Run]] = {}

    def runs(self, experiment: str) -> list[Run]:
        if experiment not in self._runs:
            generation, runs = load_generation(self.results, experiment), []
            for row in load_cells(self.results, experiment).to_dict("records"):
                cell_id = str(row["cell_id"])
                cell = stored_cell(experiment, generation.manifest["cells"][cell_id])
                runs.append(Run(cell, {str(k): v for k, v in row.items()}, cell_of(generation, cell_id)))
            self._runs[experiment] = sorted(runs, key=order)
        return self._runs[experiment]

    def has(self, experiment: str) -> bool:
        try:
            return bool(self.runs(experiment))
        except ResultsMissing:
            return False


class AlteredEvidence(Evidence):
    """Evidence that passes through an alteration."""

    def __init__(self, stored: Stored, alteration: Alteration = lambda runs: runs) -> None:
        super().__init__(stored.results)
        self._stored, self._alteration = stored, alteration
        self._frames: dict[str, pd.DataFrame] = {}

    def require(self, experiment: str) -> None:
        """Everything was there when it was read."""

    def _load(self, experiment: str) -> list[Run]:
        return sorted(self._alteration(self._stored.runs(experiment)), key=order)

    def changed(self, experiments: Sequence[str]) -> list[tuple[Run, Run | None]]:
        """The runs of these experiments that are other ones than the stored, with what they were."""
        pairs = []
        for experiment in experiments:
            known = self._stored.runs(experiment)
            pairs += itertools.zip_longest(known, self._alteration(known))
        return [(before, after) for before, after in pairs if before is not after]

    def relabels(self, experiments: Sequence[str]) -> bool:
        """Whether any run says other things of its cell or its settings, whatever its numbers."""
        pairs = self.changed(experiments)
        return any(a is None or b is None or a.cell is not b.cell or a.row is not b.row for a, b in pairs)

    def summary(self, experiment: str) -> pd.DataFrame:
        """What `load_summary` gives of these runs."""
        if experiment not in self._frames:
            if experiment not in self._runs:
                self._runs[experiment] = self._load(experiment)
            self._frames[experiment] = summary_of(self._runs[experiment])
        return self._frames[experiment]


def summary_of(runs: Sequence[Run]) -> pd.DataFrame:
    """Summaries of runs joined with the columns of their cells, all cells of one shape at a time."""
    frames = []
    alike: dict[Any, list[Run]] = {}
    for run in map(whole, runs):
        alike.setdefault((run.data.estimators, run.data.metrics, run.data.values.shape), []).append(run)
    for (estimators, _, _), group in alike.items():
        named = [with_distance(run.data) for run in group]
        metrics = [name for name, _ in named[0]]
        values = np.stack([np.stack([column for _, column in own], axis=1) for own in named])  # [cells, e, m, K, R]
        lost = np.stack([too_far(run.data, run.cell.run.diverged_above) for run in group])[:, :, None]
        summary = summarise(values, np.broadcast_to(lost, values.shape))
        cells, e, m, k, _ = values.shape
        columns = {
            "cell_id": np.repeat([run.row["cell_id"] for run in group], e * m * k),
            "estimator": np.tile(np.repeat(estimators, m * k), cells),
            "step": np.concatenate([np.tile(run.steps, e * m) for run in group]),
            "metric": np.tile(np.repeat(metrics, k), cells * e),
        }
        frames.append(pd.DataFrame({**columns, **{name: column.ravel() for name, column in summary.items()}}))
    table = pd.concat(frames, ignore_index=True)
    rows = pd.DataFrame([run.row for run in runs])
    shared = set(table.columns) - {"cell_id"}
    return table.merge(rows.drop(columns=[c for c in rows.columns if c in shared]), on="cell_id")


@contextmanager
def read_from(evidence: AlteredEvidence) -> Iterator[None]:
    """Checks that read summaries get those of this evidence."""
    with ExitStack() as patches:
        for name, module in list(sys.modules.items()):
            if name.startswith("dpexp.papers") and getattr(module, "load_summary", None) is load_summary:
                altered = lambda results, experiment, needs=(), renamed=False: evidence.summary(experiment)  # noqa: E731
                patches.enter_context(patch.object(module, "load_summary", altered))
        yield


@contextmanager
def remembered_theorems() -> Iterator[None]:
    """A theorem at numbers that it was asked about before is not computed again: evidence changes, bounds do not."""
    plain, known = Theorem.__call__, {}

    def call(self: Theorem, constants: Any) -> Any:
        numbers = {name: v.tobytes() if isinstance(v, np.ndarray) else repr(v) for name, v in constants.items()}
        place = self.place, self.form, self.function, *sorted(numbers.items())
        if place not in known:
            known[place] = plain(self, constants)
        return known[place]

    with patch.object(Theorem, "__call__", call):
        yield


def relabelled(run: Run, **row: Any) -> Run:
    """The run with other entries in its row of cells."""
    return replace(run, row={**run.row, **row})
