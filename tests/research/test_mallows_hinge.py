"""The hinge loss: its rule of two dimensions, other parameters, and no curvature where labels are coins."""

import math

import numpy as np
import pytest

from dpexp.engine.lanes.elementwise import logistic
from dpexp.problems.mallows import rule
from tests.research import module

MallowsHinge = module("research/hinge/mallows_hinge.py").MallowsHinge


@pytest.mark.parametrize("d", [3, 5, 20])
def test_the_hinge_rule_has_converged(d):
    """Against the risk along the line of beta*, where one dimension and a rule split at the kinks are enough."""
    problem = MallowsHinge(d=d)
    for b0, slope in ((0.3, 0.5), (1.5, 1.2), (-0.4, 0.2)):
        theta = np.append(b0, np.full(d, slope))
        b = slope * math.sqrt(d)
        s, w = rule(d, 1.0, 40, splits=((1 - b0) / b, (-1 - b0) / b))
        p = logistic(1 + math.sqrt(d) * s)
        t = b0 + b * s
        exact = np.sum(w * (p * np.maximum(0, 1 - t) + (1 - p) * np.maximum(0, 1 + t)))
        # at 0 every loss is 1
        assert problem.risk_gap(theta) - problem.risk_gap(0 * theta) == pytest.approx(exact - w.sum(), abs=2e-7)


def test_without_a_slope_the_risk_is_flat_and_scores_are_those_of_users():
    problem, rng = MallowsHinge(d=3, beta=0.0), np.random.default_rng(4)
    near = 0.1 * rng.standard_normal((20, 4)) / 6
    np.testing.assert_allclose(problem.risk_gap(near), 0, atol=1e-6)
    curvature = problem.curvature()
    assert not curvature.hessian.any()
    x = np.column_stack([np.ones(200_000), rng.standard_normal((200_000, 3))])
    scores = problem.weight(x)[:, None] * x * rng.choice([-1.0, 1.0], 200_000)[:, None]
    np.testing.assert_allclose(curvature.score_covariance, scores.T @ scores / 200_000, atol=0.005)
