"""Population risks against scipy's quadrature and many more nodes, near the optimum and far from it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from dpexp.problems.huber_linear import HuberLinear, conditional_risk
from dpexp.problems.mallows import mean_weight


@pytest.mark.parametrize(("d", "spread"), [(5, 0.05), (5, 0.7), (5, 2.0), (20, 1.4), (5, 3.1), (20, 4.5), (5, 6.2)])
def test_risk_by_adaptive_quadrature(d: int, spread: float) -> None:
    """No node in common: scipy chooses its own, and integrates the weight anew at each."""
    problem = HuberLinear(d=d)

    def integrand(z: float) -> float:
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        weight = float(mean_weight(d - 1, 1, np.array([z * z]))[0])
        return density * weight * float(conditional_risk(0.4 + spread * z, 1.5, problem.constants))

    pieces = [-9.0, -1.0, 1.0, 9.0]
    wanted = sum(
        integrate.quad(integrand, low, high, epsabs=1e-13, epsrel=1e-13, limit=200)[0] for low, high in pairwise(pieces)
    )
    theta = np.ones((1, problem.p))
    theta[0, 0], theta[0, 1], theta[0, -1] = 1.4, 1 + spread, 1.5
    assert problem.risk(theta)[0] == pytest.approx(wanted, abs=2e-13)
