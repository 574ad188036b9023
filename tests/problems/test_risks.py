"""Population risks against scipy's quadrature and many more nodes, near the optimum and far from it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from dpexp.problems.huber_linear import HuberLinear, conditional_risk
from dpexp.problems.linear_losses import InsensitiveLinear, MallowsLogistic, PinballLinear
from dpexp.problems.mallows import mean_weight, rule
from dpexp.problems.population_means import mean_label_row
from tests.conftest import share

LAWS = [(1, 1.0), (2, 0.3), (5, 1.0), (20, 1.0), (5, 3.0), (5, 0.2), (20, 0.1)]


@pytest.mark.slow
@pytest.mark.parametrize(("d", "sigma_z"), LAWS)
@pytest.mark.parametrize("scale", share([0.1, 9.0, 2.0], 2))
def test_risk_on_both_sides_of_every_reach_and_far_away(d: int, sigma_z: float, scale: float) -> None:
    problem = HuberLinear(d=d, sigma_z=sigma_z)
    long = rule(d, sigma_z, 12, parts=32)
    spreads = [0.0, *(6.0 * cut * side for cut in (1, 2, 4) for side in (0.03, 0.999, 1.001)), 12.0, 150.0]
    rows = [(a, b) for b in spreads for a in (-30.0, -1.3, 0.0, 2.0)]
    theta = np.ones((len(rows), problem.p))
    for row, (a, b) in zip(theta, rows, strict=True):
        row[0], row[1], row[-1] = 1 + a, 1 + b / sigma_z, scale
    found = problem.risk(theta)
    for (a, b), value in zip(rows, found, strict=True):
        f = conditional_risk(a + b * long.nodes, scale, problem.constants)
        # rounding is that of the squares, of which the risk is a difference
        squares = (np.abs(a + b * long.nodes) + problem.c * scale) ** 2 + problem.sigma**2
        size = math.fsum(long.weights * squares) / (2 * scale)
        assert abs(value - math.fsum(long.weights * f)) < 1e-14 * size  # 7e-15 is normal_cdf of lanes, at spread 0
    with np.errstate(invalid="ignore"):
        assert np.isnan(problem.risk_gap(np.full(problem.p, np.nan)))


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


def test_a_gap_depends_on_its_own_parameters_alone() -> None:
    problem = HuberLinear(d=5)
    rng = np.random.default_rng(3)
    theta = problem.optimum() + 10 ** rng.uniform(-4, 1, (50, 1)) * rng.standard_normal((50, problem.p))
    theta[:, -1] = np.maximum(np.abs(theta[:, -1]), 0.1)
    together = problem.risk_gap(theta)
    assert problem.risk_gap(problem.optimum()) == 0
    assert [float(problem.risk_gap(row)) for row in theta] == together.tolist()


FAR = {
    "huber": (HuberLinear(d=5), 1e-13),
    "huber, small covariates": (HuberLinear(d=3, sigma_z=0.4, sigma=0.7), 1e-13),
    "logistic": (MallowsLogistic(d=5), 1e-13),
    "pinball": (PinballLinear(d=20, tau=0.3), 1e-13),
    "insensitive": (InsensitiveLinear(d=5), 1e-8),
}
"""and the largest relative error of a risk"""
PIECES = np.linspace(-9.0, 9.0, 1801)
"""the weight bends at multiples of .4 or so, and the density is below 1e-17 beyond"""


def places(problem):
    """Nodes and weights of the mean over one covariate: 20 points on every hundredth."""
    x, w = np.polynomial.legendre.leggauss(20)
    kinks = [sign / problem.sigma_z for sign in (-1, 1)]
    edges = np.sort(np.append(PIECES, kinks))
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    z = (middle[:, None] + half[:, None] * x).ravel()
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (half[:, None] * w).ravel()
    return z, density * mean_weight(problem.d - 1, 1, z * z, problem.sigma_z)


def state(problem, location, spread, scale):
    """Parameters whose linear predictor has this mean and standard deviation, from where it is counted."""
    theta = np.zeros(problem.p)
    theta[: problem.d + 1] = np.zeros(problem.d + 1) if problem.labels else problem.true_coefficients
    theta[0] += location
    theta[1] += spread / problem.sigma_z
    if problem.has_scale:
        theta[-1] = scale
    return theta


@pytest.mark.slow
@pytest.mark.parametrize("name", FAR)
def test_the_risk_is_the_mean_over_many_more_places(name):
    problem, most = FAR[name]
    z, weight = places(problem)
    linear = -mean_label_row(problem) if problem.labels else np.zeros(problem.d + 1)
    for lengths in (0.3, 2.9, 3.1, 5.1, 11.9, 12.1, 79.0):
        spread = lengths * (1.0 if problem.labels else problem.error_law.size)
        for location, scale in ((0.0, 1.0), (0.7 * spread, 0.2), (-3.0, 2.0 + spread)):
            theta = state(problem, location, spread, scale)
            scale = scale if problem.has_scale else problem.fixed_scale
            risks = type(problem).conditional_risk(location + spread * z, scale, problem.constants)
            wanted = math.fsum(weight * risks) + float(np.sum(linear * theta[: problem.d + 1]))
            size = math.fsum(weight * np.abs(risks)) + float(np.sum(np.abs(linear * theta[: problem.d + 1])))
            assert abs(float(problem.risk(theta)) - wanted) < most * size, (lengths, location, scale)
