"""What `ldp-sgd` says of any cell that it covers: exponents, bounds, the linearised prediction and the asymptote."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpexp.algorithms.controlled_ldp_sgd import ControlledLdpSgd
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import Constant, Power
from dpexp.config.cells import Cell
from dpexp.papers.ldp_sgd.predictions import asymptote, constants, decay_of, is_flat, linear, local, predicted
from dpexp.reporting.of_results.lines import Theory
from dpexp.reporting.of_results.metrics import CONTROLLED
from dpexp.theory import THEOREMS
from dpexp.theory.ldp_sgd.table1 import corrected_exponent

BOUNDS = {
    ("param_distance_sq", "sgd"): ("ldp-sgd/theorem-3", "Theorem 3"),
    ("param_distance_sq", "asgd"): ("ldp-sgd/theorem-4/completed", "Theorem 4, completed"),
    ("loss_gap", "sgd"): ("ldp-sgd/theorem-5/last-iterate", "Theorem 5, replaced"),
    ("loss_gap", "asgd"): ("ldp-sgd/theorem-6/completed", "Theorem 6, completed"),
}


def covers(cell: Cell) -> bool:
    """Whether a cell is the paper's algorithm with a step size eta i^-alpha, on a problem whose curvature is known."""
    known = type(cell.algorithm) in (LdpSgd, ControlledLdpSgd) and type(cell.schedule) in (Power, Constant)
    return known and linear(cell.problem).knows_curvature


def exponent(cell: Cell, estimator: str, metric: str) -> float | None:
    """The asymptotic exponent of the squared distance; half of it for the distance, the same for the loss gap.

    Where the Hessian is not singular the loss gap is between two multiples of the squared distance near the optimum.
    """
    metric = metric.removesuffix(CONTROLLED)
    powers = {"param_distance_sq": 1.0, "loss_gap": 1.0, "param_distance": 0.5}
    if not covers(cell) or metric not in powers or is_flat(linear(cell.problem)):
        return None
    _, alpha = decay_of(cell.schedule)
    found = corrected_exponent(estimator, alpha)
    return None if found is None else powers[metric] * found


def curves(cell: Cell, estimator: str, metric: str, steps: np.ndarray) -> Mapping[str, np.ndarray]:
    """Bound, prediction and asymptote of a cell at these steps, as far as the paper has them."""
    metric = metric.removesuffix(CONTROLLED)
    if not covers(cell) or (metric, estimator) not in BOUNDS:
        return {}
    problem, schedule, budget = linear(cell.problem), cell.schedule, cell.privacy.mu
    _, alpha = decay_of(schedule)
    numbers = constants(problem, schedule, budget) | {"steps": steps}
    theorem, place = BOUNDS[metric, estimator]
    found = {}
    # the bounds on the distance ask for curvature
    if metric == "loss_gap" or (alpha < 1 and numbers["m"] > 0):
        found[f"bound, {place}"] = THEOREMS[theorem](numbers)
    if not is_flat(problem):
        near = local(problem, budget)
        found["prediction, linearised recursion"] = getattr(predicted(near, schedule, steps), estimator)[metric]
        if alpha < 1:
            found["asymptote, large n"] = getattr(asymptote(near, schedule, steps), estimator)[metric]
    return {name: np.asarray(values, dtype=float) for name, values in found.items()}


LDP_SGD_THEORY = Theory(exponent, curves)
