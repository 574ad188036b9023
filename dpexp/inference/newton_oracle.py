"""`newton-oracle`: the Newton-corrected average with the true H, for simulations: it shows what measuring H costs."""

from __future__ import annotations

import numpy as np

from dpexp.engine.lanes.vectors import LANES
from dpexp.inference import critical_values
from dpexp.inference.interval import Interval, symmetric_interval
from dpexp.inference.newton import corrected, standard_errors
from dpexp.inference.paths import Snapshot, since


def newton_oracle(end: Snapshot, burned: Snapshot, hessian: np.ndarray, level: float) -> Interval:
    """theta~ and its interval from the messages between two snapshots, with H [p, p] at the target."""
    found = corrected(since(end, burned), np.broadcast_to(hessian, (LANES, *hessian.shape)), np.zeros(LANES))
    return symmetric_interval(found.theta, critical_values.normal(level) * standard_errors(found.covariance))
