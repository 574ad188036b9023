"""`plug-in-free`: the sandwich of the plain average, with H from regressing messages on the points of their making.

m_i = H (theta_{i-1} - theta*) + noise, so that Hf = [sum (m - mbar)(theta - bar)'] [sum (theta - bar)(theta - bar)']^-1
costs nothing. Its relative standard error is sqrt(2 / T) and its relative bias 4 / T after T relaxation times, whatever
the budget (inference, section 4.2): it is a check, and not a source of H.
"""

from __future__ import annotations

import numpy as np

from dpexp.inference import critical_values
from dpexp.inference.interval import Interval, symmetric_interval
from dpexp.inference.newton import standard_errors
from dpexp.inference.paths import Snapshot, since
from dpexp.inference.small_matrices import products, pseudo_inverses
from dpexp.inference.sums import symmetric


def free_hessian(end: Snapshot, burned: Snapshot) -> np.ndarray:
    """Hf [8, p, p] from the users between two snapshots."""
    sums, count = since(end, burned), since(end, burned).v[2][:, None, None]
    point, message = sums.points.T[:, :, None] / count, sums.gradients.T[:, :, None] / count
    cross = (end.sums.cross - burned.sums.cross).transpose(2, 0, 1) / count
    square = (end.sums.points_square - burned.sums.points_square).transpose(2, 0, 1) / count
    covariance = cross - message * point.transpose(0, 2, 1)
    return products(covariance, pseudo_inverses(square - point * point.transpose(0, 2, 1)))


def plug_in_free(end: Snapshot, burned: Snapshot, level: float) -> Interval:
    """The average of theta_i after the burn-in, +- z times its standard error."""
    sums, p = since(end, burned), len(end.sums.total)
    inverse = pseudo_inverses(free_hessian(end, burned))
    noise = symmetric(sums.squares, p) / (sums.v[2] ** 2)[:, None, None]
    errors = standard_errors(products(inverse, noise, inverse.transpose(0, 2, 1)))
    bar = (end.sums.total - burned.sums.total).T / (end.users - burned.users)
    return symmetric_interval(bar, critical_values.normal(level) * errors)
