"""The lines of a figure or table of any result, one estimator of one cell each, and curves of theory for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.config.cell_settings import Settings
from dpexp.reporting.results.choose import ESTIMATOR
from dpexp.reporting.results.gather import Gathered, Run
from dpexp.reporting.results.metrics import COEFFICIENTS, TERM
from dpexp.store.reading import cell_of

if TYPE_CHECKING:
    from dpexp.config.cells import Cell
    from dpexp.engine.result import CellData

CLOSURE = "prediction, closure of moments"
"""begins the name of a prediction that holds from the start on"""
Curves = Mapping[str, np.ndarray]


class Rows(NamedTuple):
    """Columns of the summary by step, [K] each."""

    step: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    ci_lo: np.ndarray
    ci_hi: np.ndarray
    q25: np.ndarray
    q75: np.ndarray
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
    """A setting's column next to the numbers of a line, where `n` is the number of replicates."""
    return "run.n" if name == "n" else name


def lines_of(gathered: Gathered, metric: str) -> list[Line]:
    """The lines of one metric, by cell in the order of the config, and then by estimator; of `coefficients` by term."""
    if metric == COEFFICIENTS:
        by_term = [lines_of(gathered, name) for name in gathered.coordinates]
        return [replace(line, settings={**line.settings, TERM: line.metric}) for lines in by_term for line in lines]
    summary = gathered.summary[gathered.summary.metric == metric].sort_values("step", kind="stable")
    columns = [summary[name].to_numpy() for name in Rows._fields]
    places = summary.groupby(["run", "estimator"], sort=False).indices
    return [
        Line(run, name, {**run.settings, ESTIMATOR: name}, Rows(*(column[own] for column in columns)), metric)
        for number, run in enumerate(gathered.runs)
        for name in gathered.estimators
        if (own := places.get((number, name))) is not None
    ]


def data_of(run: Run) -> CellData:
    """The stored numbers of a cell. Raises OnlySummaries."""
    return cell_of(run.generation, str(run.row["cell_id"]))


def replicates_of(data: CellData, estimator: str, metric: str) -> np.ndarray:
    """Values of one estimator and metric by checkpoint and replicate, [K, R]; of the distance the square is stored."""
    column = "param_distance_sq" if metric == "param_distance" else metric
    values = data.values[data.estimators.index(estimator), :, data.metrics.index(column)]
    return values if column == metric else np.sqrt(values)


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
