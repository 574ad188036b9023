"""The lines of a figure or table of any result, one estimator of one cell each, and curves of theory for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpexp.config.cell_settings import Settings
from dpexp.reporting.results.choose import ESTIMATOR
from dpexp.reporting.results.gather import Gathered, Run
from dpexp.reporting.results.metrics import COEFFICIENTS, TERM
from dpexp.store.reading import cell_of

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.config.cells import Cell
    from dpexp.engine.result import CellData

CLOSURE = "prediction, closure of moments"
"""begins the name of a prediction that holds from the start on"""
NUMBERS = ["step", "mean", "se", "ci_lo", "ci_hi", "q25", "q75", "n", "n_diverged"]
Curves = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Line:
    """One estimator of one cell."""

    run: Run
    estimator: str
    settings: Settings
    """those of its cell, and `estimator`"""
    rows: pd.DataFrame
    """NUMBERS by step"""
    metric: str

    @property
    def diverged(self) -> int:
        """How many replicates have diverged by the last step."""
        return int(self.rows["n_diverged"].iloc[-1])

    @property
    def replicates(self) -> int:
        return int(self.rows["n"].iloc[-1])

    @property
    def last(self) -> tuple[float, float, float, float]:
        """Mean, standard error and both ends at the last step."""
        mean, se, low, high = map(float, self.rows[["mean", "se", "ci_lo", "ci_hi"]].iloc[-1])
        return mean, se, low, high

    def replicate_values(self) -> np.ndarray:
        """By checkpoint and replicate, [K, R]; of the distance the square is stored. Raises OnlySummaries."""
        data = _data(self.run)
        column = "param_distance_sq" if self.metric == "param_distance" else self.metric
        values = data.values[data.estimators.index(self.estimator), :, data.metrics.index(column)]
        return values if column == self.metric else np.sqrt(values)


@lru_cache(maxsize=1)
def _data(run: Run) -> CellData:
    """The stored numbers of a cell; a file is read once for the estimators that follow each other."""
    return cell_of(run.generation, str(run.row["cell_id"]))


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
    summary = gathered.summary[gathered.summary["metric"] == metric].sort_values(["run", "step"], kind="stable")
    lines = []
    key: tuple[int, str]
    for key, rows in summary.groupby(["run", "estimator"], sort=False):  # type: ignore[assignment]
        place, name = key
        settings = {**gathered.runs[place].settings, ESTIMATOR: name}
        lines.append(Line(gathered.runs[place], name, settings, rows[NUMBERS].reset_index(drop=True), metric))
    return lines


def exponent_of(theories: Sequence[Theory], cell: Cell, estimator: str, metric: str) -> float | None:
    """The exponent of the first theory that has one."""
    exponents = (theory.exponent(cell, estimator, metric) for theory in theories)
    return next((value for value in exponents if value is not None), None)


def curves_of(theories: Sequence[Theory], line: Line, steps: np.ndarray, drawn: bool = False) -> dict[str, np.ndarray]:
    """The curves of all theories, none for a cell that cannot be made again; `drawn`: as figures have them."""
    if (cell := line.run.cell) is None:
        return {}
    functions = [(theory.drawn if drawn else None) or theory.curves for theory in theories]
    return {name: values for f in functions for name, values in f(cell, line.estimator, line.metric, steps).items()}
