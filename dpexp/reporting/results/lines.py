"""What a figure or table of any result shows: the measured lines, and what a paper predicts of their cells.

A line is one estimator of one cell, with its values and its fitted slope. What a paper says of a cell, so that it can
be drawn over any result, is an optional member of `Paper`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.config.cell_settings import Settings
from dpexp.reporting.results.choose import ESTIMATOR
from dpexp.reporting.results.gather import Gathered, Run
from dpexp.reporting.results.metrics import COEFFICIENTS, TERM, metric_of
from dpexp.reporting.slopes import Rate, SlopeError, is_asymptotic, rate
from dpexp.store.reading import OnlySummaries, cell_of

if TYPE_CHECKING:
    from dpexp.config.cells import Cell
    from dpexp.engine.result import CellData


CLOSURE = "prediction, closure of moments"
"""begins the name of a prediction that is drawn solid: others are dashed"""


class Rows(NamedTuple):
    """Columns of the summary by step, [K] each."""

    step: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    ci_lo: np.ndarray
    ci_hi: np.ndarray
    n: np.ndarray
    n_diverged: np.ndarray

    def at(self, which: np.ndarray | slice) -> Rows:
        """Some of the rows."""
        return Rows(*(column[which] for column in self))


@dataclass(frozen=True)
class Line:
    """One estimator of one cell."""

    run: Run
    estimator: str
    settings: Settings
    """those of its cell, and `estimator`"""
    rows: Rows
    metric: str

    @property
    def diverged(self) -> int:
        """How many replicates have diverged by the last step."""
        return int(self.rows.n_diverged[-1])

    @property
    def replicates(self) -> int:
        return int(self.rows.n[-1])


def column_of(name: str) -> str:
    """What a setting's column is called beside the numbers of a line, of which `n` is the number of replicates."""
    return "run.n" if name == "n" else name


def lines_of(gathered: Gathered, metric: str) -> list[Line]:
    """The lines of one metric, by cell in the order of the config, and then by estimator; of `coefficients` by term."""
    if metric == COEFFICIENTS:
        found = [lines_of(gathered, name) for name in gathered.coordinates]
        return [replace(line, settings={**line.settings, TERM: line.metric}) for lines in found for line in lines]
    summary, names = gathered.summary, gathered.estimators
    chosen = summary[summary.metric == metric]
    number, steps = chosen["run"].to_numpy(), chosen["step"].to_numpy()
    which = chosen["estimator"].map({name: k for k, name in enumerate(names)}).to_numpy()
    order = np.lexsort((steps, which, number))
    number, which = number[order], which[order]
    rows = Rows(*(chosen[name].to_numpy()[order] for name in Rows._fields))
    # where a line begins
    begin = [*np.flatnonzero((np.diff(number, prepend=-1) != 0) | (np.diff(which, prepend=-1) != 0)), len(number)]
    told = []
    for first, end in pairwise(begin):
        run, estimator = gathered.runs[number[first]], names[which[first]]
        told.append(Line(run, estimator, {**run.settings, ESTIMATOR: estimator}, rows.at(slice(first, end)), metric))
    return told


def replicates_of(data: CellData, estimator: str, metric: str) -> np.ndarray:
    """Values of one estimator and metric by checkpoint and replicate, [K, R]; of the distance the square is stored."""
    stored = "param_distance_sq" if metric == "param_distance" else metric
    values = data.values[data.estimators.index(estimator), :, data.metrics.index(stored)]
    return values if stored == metric else np.sqrt(values)


def quartiles(line: Line) -> tuple[float, float]:
    """Of the final values of the replicates. Raises ResultsMissing where the trajectories are not stored."""
    values = replicates_of(cell_of(line.run.generation, str(line.run.row["cell_id"])), line.estimator, line.metric)[-1]
    low, high = np.quantile(values, [0.25, 0.75])
    return float(low), float(high)


def fitted(lines: Sequence[Line], metric: str, theories: Sequence[Theory] = ()) -> list[Rate | str]:
    """The slope of every line over its last decade, and whether theory confirms it; or why there is none.

    The errors come from the replicates, so the trajectories are needed, and not only their summaries. Raises
    ResultsMissing where they are there and are not those of the summaries: a run may be writing beside.
    """
    if not metric_of(metric).error:
        return ["no slope: the metric is no error"] * len(lines)
    found: list[Rate | str] = []
    # a file is read once for the estimators of its cell, which follow each other
    for run, some in groupby(lines, lambda line: line.run):
        data: CellData | None = None
        for line in some:
            if line.diverged:
                found.append("no slope: replicates diverged")
                continue
            try:
                data = data or cell_of(run.generation, str(run.row["cell_id"]))
                slope = rate(data.steps, replicates_of(data, line.estimator, metric))
                predict = partial(predicted, theories, line, metric)
                asymptotic = is_asymptotic(slope, line.rows.step, line.rows.mean, predict)
                found.append(replace(slope, asymptotic=asymptotic))
            except OnlySummaries:
                found.append("no slope: the trajectories are not there")
            except SlopeError as error:
                found.append(f"no slope: {error}")
    return found


def predicted(theories: Sequence[Theory], line: Line, metric: str, steps: np.ndarray) -> np.ndarray | None:
    """What theory predicts of the mean of a line at some steps; None where it says nothing."""
    if (cell := line.run.known) is None:
        return None
    curves = curves_of(theories, cell, line.estimator, metric, steps)
    return next((values for name, values in curves.items() if name.startswith("prediction")), None)


@dataclass(frozen=True)
class Theory:
    """Predictions of one paper for cells of any experiment. Both functions answer for cells that they do not know."""

    exponent: Callable[[Cell, str, str], float | None]
    """(cell, estimator, metric) -> the power of the step with which the mean falls; None where it says nothing"""
    curves: Callable[[Cell, str, str, np.ndarray], Mapping[str, np.ndarray]]
    """(cell, estimator, metric, steps [K]) -> curves [K] by what they are, such as `bound, Theorem 3`; nan where a
    curve says nothing, and no curve where the paper says nothing of the cell"""
    drawn: Callable[[Cell, str, str, np.ndarray], Mapping[str, np.ndarray]] | None = None
    """the same for a figure, where a prediction may take seconds; `curves` where left out"""


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


def drawn_of(
    theories: Sequence[Theory], cell: Cell, estimator: str, metric: str, steps: np.ndarray
) -> dict[str, np.ndarray]:
    """The curves of all theories as figures draw them."""
    return {
        name: values
        for theory in theories
        for name, values in (theory.drawn or theory.curves)(cell, estimator, metric, steps).items()
    }
