"""What a figure or table of any result shows: the measured lines, and what a paper predicts of their cells.

A line is one estimator of one cell, with its values and its fitted slope. What a paper says of a cell, so that it can
be drawn over any result, is an optional member of `Paper`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpexp.config.settings import Settings
from dpexp.core.errors import ResultsMissing
from dpexp.reporting.of_results.choose import ESTIMATOR
from dpexp.reporting.of_results.gather import Gathered, Run
from dpexp.reporting.of_results.metrics import metric_of
from dpexp.reporting.slopes import Rate, SlopeError, rate
from dpexp.store.reading import OnlySummaries, cell_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from dpexp.config.cells import Cell


@dataclass(frozen=True)
class Line:
    """One estimator of one cell."""

    run: Run
    estimator: str
    settings: Settings
    """those of its cell, and `estimator`"""
    rows: pd.DataFrame
    """rows of the summary by step: step, mean, se, ci_lo, ci_hi, n, n_diverged"""

    @property
    def diverged(self) -> int:
        """How many replicates have diverged by the last step."""
        return int(self.rows.n_diverged.iloc[-1])

    @property
    def replicates(self) -> int:
        return int(self.rows.n.iloc[-1])


def column_of(name: str) -> str:
    """What a setting's column is called beside the numbers of a line, of which `n` is the number of replicates."""
    return "run.n" if name == "n" else name


def lines_of(gathered: Gathered, metric: str) -> list[Line]:
    """The lines of one metric, by cell in the order of the config, and then by estimator."""
    rows = gathered.summary[gathered.summary.metric == metric].sort_values("step", kind="stable")
    found = []
    order = {name: k for k, name in enumerate(gathered.estimators)}
    for (number, estimator), group in rows.groupby(["run", "estimator"], sort=False):
        run = gathered.runs[int(str(number))]
        line = Line(run, str(estimator), {**run.settings, ESTIMATOR: estimator}, group.reset_index(drop=True))
        found.append((int(str(number)), order[str(estimator)], line))
    return [line for *_, line in sorted(found, key=lambda one: one[:2])]


def fitted(line: Line, metric: str) -> Rate | str:
    """The slope of a line over its last decade, and whether it has settled; or why there is none.

    The errors come from the replicates, so the trajectories are needed, and not only their summaries.
    """
    if not metric_of(metric).error:
        return "no slope: the metric is no error"
    if line.diverged:
        return "no slope: replicates diverged"
    try:
        data = cell_of(line.run.generation, str(line.run.row["cell_id"]))
    except OnlySummaries:
        return "no slope: the trajectories are not there"
    except ResultsMissing as error:
        return f"no slope: {error.message}"
    # of the distance the square alone is stored by replicate
    stored = "param_distance_sq" if metric == "param_distance" else metric
    values = data.values[data.estimators.index(line.estimator), :, data.metrics.index(stored)]
    try:
        return rate(data.steps, np.sqrt(values) if stored != metric else values)
    except SlopeError as error:
        return f"no slope: {error}"


@dataclass(frozen=True)
class Theory:
    """Predictions of one paper for cells of any experiment. Both functions answer for cells that they do not know."""

    exponent: Callable[[Cell, str, str], float | None]
    """(cell, estimator, metric) -> the power of the step with which the mean falls; None where it says nothing"""
    curves: Callable[[Cell, str, str, np.ndarray], Mapping[str, np.ndarray]]
    """(cell, estimator, metric, steps [K]) -> curves [K] by what they are, such as `bound, Theorem 3`; nan where a
    curve says nothing, and no curve where the paper says nothing of the cell"""


def exponent_of(theories: Sequence[Theory], cell: Cell, estimator: str, metric: str) -> float | None:
    """The exponent of the first theory that has one."""
    found = (theory.exponent(cell, estimator, metric) for theory in theories)
    return next((value for value in found if value is not None), None)


def curves_of(
    theories: Sequence[Theory], cell: Cell, estimator: str, metric: str, steps: np.ndarray
) -> dict[str, np.ndarray]:
    """The curves of all theories."""
    return {
        name: values for theory in theories for name, values in theory.curves(cell, estimator, metric, steps).items()
    }
