"""What `ldp-sgd` says of any cell that it covers: exponents, bounds, the linearised prediction and the asymptote."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import Constant, Power
from dpexp.config import Cell
from dpexp.papers.ldp_sgd.figures.theory import BOUNDS, theory_of_cell
from dpexp.papers.ldp_sgd.predictions import decay_of, is_flat, linear
from dpexp.reporting.of_results.theory import Theory
from dpexp.theory.ldp_sgd.table1 import corrected_exponent


def covers(cell: Cell) -> bool:
    """Whether a cell is the paper's algorithm with a step size eta i^-alpha, on a problem whose curvature is known."""
    known = type(cell.algorithm) is LdpSgd and type(cell.schedule) in (Power, Constant)
    return known and linear(cell.problem).knows_curvature


def exponent(cell: Cell, estimator: str, metric: str) -> float | None:
    """The asymptotic exponent of the squared distance; half of it for the distance, the same for the loss gap.

    Where the Hessian is not singular the loss gap is between two multiples of the squared distance near the optimum.
    """
    powers = {"param_distance_sq": 1.0, "loss_gap": 1.0, "param_distance": 0.5}
    if not covers(cell) or metric not in powers or is_flat(linear(cell.problem)):
        return None
    _, alpha = decay_of(cell.schedule)
    found = corrected_exponent(estimator, alpha)
    return None if found is None else powers[metric] * found


def curves(cell: Cell, estimator: str, metric: str, steps: np.ndarray) -> Mapping[str, np.ndarray]:
    """Bound, prediction and asymptote at these steps, as the figures of the paper have them."""
    if not covers(cell) or (metric, estimator) not in BOUNDS:
        return {}
    found = theory_of_cell(cell, metric, estimator, steps)
    names = {
        "bound": f"bound, {BOUNDS[metric, estimator][1]}",
        "prediction": "prediction, linearised recursion",
        "asymptote": "asymptote, large n",
    }
    return {names[key]: np.asarray(values, dtype=float) for key, values in found.items() if values is not None}


LDP_SGD_THEORY = Theory(exponent, curves)
