"""The function psi_beta that all bounds of `ldp-sgd` are written with."""

from __future__ import annotations

import math


def psi(beta: float, t: float) -> float:
    """psi_beta(t) = (t^beta - 1) / beta for t > 0, continuous in beta: log t at beta = 0 (`ldp-sgd`, section 4.1).

    The printed definition leaves beta = 0 out.
    """
    if t <= 0:
        raise ValueError(f"t must be positive, not {t}")
    log_t = math.log(t)
    return log_t if abs(beta) < 1e-12 else math.expm1(beta * log_t) / beta
