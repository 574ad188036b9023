"""`one-step`: a fixed pilot and one Newton step from it (inference, section 4.4).

The pilot is the tail mean of plain SGD over the first quarter of the users. All others send their messages at that one
point. The estimate is exactly Gaussian given the pilot, but the pilot's error enters squared.
"""

from __future__ import annotations

import numpy as np

from dpexp.inference import critical_values
from dpexp.inference.interval import Interval, symmetric_interval
from dpexp.inference.newton import newton_corrected, standard_errors
from dpexp.inference.staged_newton import Design, Server
from dpexp.inference.users import Source

PILOT = 0.25
"""share of the users"""
TIME = 4.0
"""T, relaxation times that the pilot lasts"""


def one_step(server: Server, design: Design, source: Source, level: float) -> Interval:
    """From the server's start; every `design.every`-th user sends a Hessian."""
    pilot = round(PILOT * design.n)
    eta = TIME / (2 * design.curvature * np.sqrt(pilot)) / np.sqrt(np.arange(1, pilot + 1))
    tail = server.ask(source, eta, 0, pilot // 2 + 1)
    server.theta[:] = tail.points / tail.v[0]
    found = newton_corrected(server.ask(source, np.zeros(design.n - pilot), design.every), server.model)
    return symmetric_interval(found.theta, critical_values.normal(level) * standard_errors(found.covariance))
