"""Risks far from the optimum, where the risk bends within a small part of what the linear predictor takes on."""

import math

import numpy as np
import pytest

from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.insensitive_linear import InsensitiveLinear
from dpexp.problems.logistic import MallowsLogistic
from dpexp.problems.mallows import mean_weight, rule
from dpexp.problems.pinball_linear import PinballLinear

PROBLEMS = {
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
    theta[: problem.d + 1] = problem.risk_origin()
    theta[0] += location
    theta[1] += spread / problem.sigma_z
    if problem.has_scale:
        theta[-1] = scale
    return theta


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_risk_is_the_mean_over_many_more_places(name):
    problem, most = PROBLEMS[name]
    z, weight = places(problem)
    slope = problem.risk_slope()
    linear = np.zeros(problem.d + 1) if slope is None else slope
    for lengths in (0.3, 4.9, 5.1, 9.9, 19.0, 21.0, 39.0, 41.0, 79.0):
        spread = lengths * problem.risk_length
        for location, scale in ((0.0, 1.0), (0.7 * spread, 0.2), (-3.0, 2.0 + spread)):
            theta = state(problem, location, spread, scale)
            scale = scale if problem.has_scale else problem.fixed_scale
            risks = type(problem).conditional_risk(location + spread * z, scale, problem.constants)
            wanted = math.fsum(weight * risks) + float(np.sum(linear * theta[: problem.d + 1]))
            size = math.fsum(weight * np.abs(risks)) + float(np.sum(np.abs(linear * theta[: problem.d + 1])))
            assert abs(float(problem.risk(theta)) - wanted) < most * size, (lengths, location, scale)


@pytest.mark.slow
def test_panels_that_are_not_cut_would_be_seen():
    problem = HuberLinear(d=5)
    whole, (z, weight) = rule(5, 1.0), places(problem)
    f = problem.conditional_risk(60.0 * whole.nodes, 0.2, problem.constants)
    wanted = math.fsum(weight * problem.conditional_risk(60.0 * z, 0.2, problem.constants))
    assert abs(math.fsum(whole.weights * f) - wanted) > 1e-9 * wanted


def test_panels_cut_into_parts_are_the_same_measure():
    whole, cut = rule(5, 1.0), rule(5, 1.0, parts=3)
    assert len(cut.nodes) == 3 * len(whole.nodes)
    assert list(cut.nodes) == sorted(cut.nodes)
    for power in (0, 2, 4):
        moments = [math.fsum(r.weights * r.nodes**power) for r in (whole, cut)]
        assert moments[0] == pytest.approx(moments[1], rel=1e-14)
