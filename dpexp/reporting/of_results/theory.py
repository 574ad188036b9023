"""What a paper says of a cell, so that it can be drawn over any result: an optional member of `Paper`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from dpexp.config.cells import Cell


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
