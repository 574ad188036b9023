"""`one-step`: a fixed pilot and one Newton step from it (inference, section 4.4).

The pilot is the tail mean of plain SGD over the first quarter of the users. All others send their messages at that one
point. The estimate is exactly Gaussian given the pilot, but the pilot's error enters squared.
"""

from __future__ import annotations

import numpy as np

from dpexp.inference import critical_values
from dpexp.inference.lockstep import Conversation, Stage
from dpexp.inference.methods import Interval, symmetric_interval
from dpexp.inference.newton import newton_corrected, standard_errors
from dpexp.inference.staged_newton import Design, Server

PILOT = 0.25
"""share of the users"""
TIME = 4.0
"""T, relaxation times that the pilot lasts"""


def one_step(server: Server, design: Design, level: float) -> Conversation[Interval]:
    """From the server's start; every `design.every`-th user sends a Hessian."""
    pilot = round(PILOT * design.n)
    eta = TIME / (2 * design.curvature * np.sqrt(pilot)) / np.sqrt(np.arange(1, pilot + 1))
    tail = yield Stage(eta, 0, pilot // 2 + 1)
    server.theta[:] = tail.points / tail.v[0]
    sums = yield Stage(np.zeros(design.n - pilot), design.every)
    found = newton_corrected(sums, server.model)
    return symmetric_interval(found.theta, critical_values.normal(level) * standard_errors(found.covariance))
