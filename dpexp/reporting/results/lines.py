"""The lines that a figure or table of any result shows, one estimator of one cell each, and what theory says of them.

Medians and quantiles are order statistics of the stored trajectories; a replicate that has diverged counts as infinite,
so that no statistic is taken over survivors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.config.cell_settings import Settings
from dpexp.core.errors import ResultsMissing, UsageError
from dpexp.core.text import guess
from dpexp.reporting.results.choose import ESTIMATOR
from dpexp.reporting.results.gather import Gathered, Run
from dpexp.reporting.results.metrics import COEFFICIENTS, TERM, metric_of
from dpexp.reporting.slopes import Rate, SlopeError, is_asymptotic, rate
from dpexp.store.reading import OnlySummaries, cell_of, command_of
from dpexp.store.stats import CI_LEVEL, CI_NAME

if TYPE_CHECKING:
    from dpexp.config.cells import Cell
    from dpexp.engine.result import CellData

STATISTICS = {
    "mean": CI_NAME,
    "median": "95% interval of the median (order statistics)",
    "quantiles": "5% and 95% quantiles of the replicates",
}
"""of the replicates, and the words for its band"""
CLOSURE = "prediction, closure of moments"
"""begins the name of a prediction that is drawn solid: others are dashed"""
Curves = Mapping[str, np.ndarray]


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

    @property
    def last(self) -> tuple[float, float, float, float]:
        """Mean, standard error and both ends at the last step."""
        mean, se, low, high = (float(column[-1]) for column in self.rows[1:5])
        return mean, se, low, high


@dataclass(frozen=True)
class Theory:
    """Predictions of one paper for cells of any experiment; its functions answer for unknown cells too."""

    exponent: Callable[[Cell, str, str], float | None]
    """(cell, estimator, metric) -> the power of the step with which the mean falls, or None"""
    curves: Callable[[Cell, str, str, np.ndarray], Curves]
    """(cell, estimator, metric, steps [K]) -> curves [K] by their names, such as `bound, Theorem 3`; nan where a curve
    says nothing"""
    drawn: Callable[[Cell, str, str, np.ndarray], Curves] | None = None
    """the same for a figure, where a prediction may take seconds; `curves` where left out"""


def column_of(name: str) -> str:
    """A setting's column beside the numbers of a line, of which `n` is the number of replicates."""
    return "run.n" if name == "n" else name


def lines_of(gathered: Gathered, metric: str) -> list[Line]:
    """The lines of one metric, by cell in the order of the config, and then by estimator; of `coefficients` by term."""
    if metric == COEFFICIENTS:
        by_term = [lines_of(gathered, name) for name in gathered.coordinates]
        return [replace(line, settings={**line.settings, TERM: line.metric}) for lines in by_term for line in lines]
    names = gathered.estimators
    summary = gathered.summary[gathered.summary.metric == metric]
    summary = summary.assign(place=summary.estimator.map({name: k for k, name in enumerate(names)}))
    summary = summary.sort_values(["run", "place", "step"], kind="stable")
    number, place = summary.run.to_numpy(), summary.place.to_numpy()
    columns = Rows(*(summary[name].to_numpy() for name in Rows._fields))
    # where a line begins
    begin = [*np.flatnonzero((np.diff(number, prepend=-1) != 0) | (np.diff(place, prepend=-1) != 0)), len(number)]
    lines = []
    for first, end in pairwise(begin):
        run, estimator = gathered.runs[number[first]], names[place[first]]
        settings = {**run.settings, ESTIMATOR: estimator}
        lines.append(Line(run, estimator, settings, columns.at(slice(first, end)), metric))
    return lines


def data_of(run: Run) -> CellData:
    """The stored numbers of a cell. Raises OnlySummaries."""
    return cell_of(run.generation, str(run.row["cell_id"]))


def replicates_of(data: CellData, estimator: str, metric: str) -> np.ndarray:
    """Values of one estimator and metric by checkpoint and replicate, [K, R]; of the distance the square is stored."""
    column = "param_distance_sq" if metric == "param_distance" else metric
    values = data.values[data.estimators.index(estimator), :, data.metrics.index(column)]
    return values if column == metric else np.sqrt(values)


def of_replicates(gathered: Gathered, metrics: Sequence[str], statistic: str) -> Gathered:
    """The same results with `mean`, `ci_lo` and `ci_hi` of these metrics replaced by the statistic.

    Raises UsageError for an unknown one, ResultsMissing where the trajectories are not stored.
    """
    if statistic not in STATISTICS:
        raise UsageError(f"--statistic {statistic}: it is one of {', '.join(STATISTICS)}", guess(statistic, STATISTICS))
    if statistic == "mean":
        return gathered
    summary = gathered.summary[gathered.summary.metric.isin(list(metrics))].copy()
    for key, rows in summary.groupby(["run", "metric", "estimator"], sort=False):
        run, (metric, estimator) = gathered.runs[int(rows.run.iloc[0])], map(str, key[1:])
        try:
            data = data_of(run)
        except OnlySummaries:
            hint = f"run: {command_of(run.generation.folder)}"
            raise ResultsMissing(f"{run.source.path}: --statistic {statistic} needs the trajectories", hint) from None
        values = replicates_of(data, estimator, metric)
        columns = ordered(values[np.searchsorted(data.steps, rows.step.to_numpy())], statistic)
        summary.loc[rows.index, ["mean", "ci_lo", "ci_hi"]] = np.stack(columns, axis=1)
    return replace(gathered, summary=summary, statistic=statistic)


def ordered(values: np.ndarray, statistic: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The median of values [K, R] over replicates and both ends of its band, [K] each.

    The ends of the interval of a median are the order statistics that binomial probabilities of a half give (David and
    Nagaraja, Order Statistics, section 7.1); with fewer than six replicates it is unbounded.
    """
    from scipy.stats import binom

    count = values.shape[1]
    rank = np.sort(np.where(np.isnan(values), np.inf, values), axis=1)
    middle = (rank[:, (count - 1) // 2] + rank[:, count // 2]) / 2
    if statistic == "quantiles":
        low, high = (int(np.ceil(level * count)) - 1 for level in (0.05, 0.95))
        return middle, rank[:, low], rank[:, high]
    below = int(binom.ppf((1 - CI_LEVEL) / 2, count, 0.5))
    if below == 0:
        return middle, np.full(len(values), -np.inf), np.full(len(values), np.inf)
    return middle, rank[:, below - 1], rank[:, count - below]


def quartiles(line: Line) -> tuple[float, float]:
    """Of the final values of the replicates. Raises ResultsMissing where the trajectories are not stored."""
    values = replicates_of(data_of(line.run), line.estimator, line.metric)[-1]
    low, high = np.quantile(values, [0.25, 0.75])
    return float(low), float(high)


def fitted(lines: Sequence[Line], metric: str, theories: Sequence[Theory] = ()) -> list[Rate | str]:
    """The slope of every line over its last decade, and whether theory confirms it; or why there is none.

    Errors come from the replicates. Raises ResultsMissing where the trajectories are not those of the summaries.
    """
    if not metric_of(metric).error:
        return ["no slope: the metric is no error"] * len(lines)
    slopes: list[Rate | str] = []
    # a file is read once for the estimators of its cell, which follow each other
    for run, own in groupby(lines, lambda line: line.run):
        data: CellData | None = None
        for line in own:
            if line.diverged:
                slopes.append("no slope: replicates diverged")
                continue

            def predict(steps: np.ndarray, line: Line = line) -> np.ndarray | None:
                curves = curves_of(theories, line.run.known, line.estimator, metric, steps)
                return next((values for name, values in curves.items() if name.startswith("prediction")), None)

            try:
                data = data or data_of(run)
                slope = rate(data.steps, replicates_of(data, line.estimator, metric))
                asymptotic = is_asymptotic(slope, line.rows.step, line.rows.mean, predict)
                slopes.append(replace(slope, asymptotic=asymptotic))
            except OnlySummaries:
                slopes.append("no slope: the trajectories are not there")
            except SlopeError as error:
                slopes.append(f"no slope: {error}")
    return slopes


def exponent_of(theories: Sequence[Theory], cell: Cell, estimator: str, metric: str) -> float | None:
    """The exponent of the first theory that has one."""
    exponents = (theory.exponent(cell, estimator, metric) for theory in theories)
    return next((value for value in exponents if value is not None), None)


def curves_of(
    theories: Sequence[Theory], cell: Cell | None, estimator: str, metric: str, steps: np.ndarray, drawn: bool = False
) -> dict[str, np.ndarray]:
    """The curves of all theories, none for a cell that cannot be made again; `drawn`: as figures have them."""
    functions = [(theory.drawn if drawn else None) or theory.curves for theory in theories if cell is not None]
    return {name: values for f in functions for name, values in f(cell, estimator, metric, steps).items()}  # type: ignore[arg-type]
