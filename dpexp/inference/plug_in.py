"""`plug-in`: the sandwich of the plain average, with H from Hessian messages; biased as the average is."""

from __future__ import annotations

import numpy as np

from dpexp.inference import critical_values
from dpexp.inference.interval import Interval, symmetric_interval
from dpexp.inference.models import Model
from dpexp.inference.newton import mean_hessian, regularise, standard_errors
from dpexp.inference.paths import Snapshot, since
from dpexp.inference.small_matrices import inverses, products
from dpexp.inference.sums import symmetric


def plug_in(model: Model, end: Snapshot, burned: Snapshot, level: float) -> Interval:
    """From a path on which every k-th user sent a Hessian."""
    sums = since(end, burned)
    mean, error = mean_hessian(sums, model.p)
    scaling = np.outer(model.hessian_scaling, model.hessian_scaling)
    inverse = inverses(regularise(mean, error) / scaling)
    noise = symmetric(sums.squares, model.p) / (sums.v[2] ** 2)[:, None, None]
    bar = (end.sums.total - burned.sums.total).T / (end.users - burned.users)
    return symmetric_interval(bar, critical_values.normal(level) * standard_errors(products(inverse, noise, inverse)))
