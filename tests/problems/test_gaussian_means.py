"""Means of scores over users and a normal theta (`gaussian_means`) by draws, and at the optimum by exact quadrature."""

import math

import numpy as np
import pytest

from dpexp.problems import PROBLEMS
from dpexp.problems.gaussian_means import gaussian_means
from tests.conftest import AT_LENGTH, at_length

USERS = 200_000 if AT_LENGTH else 100_000
SKEWED, UNEVEN = {"law": "skewed", "scale": 2.0}, {"law": "normal", "sd": 2.0, "heteroscedastic": (0.5, 0.5)}


@pytest.mark.parametrize(("scale", "errors"), [
    ("joint", SKEWED), ("known", SKEWED), ("known", UNEVEN), pytest.param("joint", UNEVEN, marks=at_length),
])  # fmt: skip
def test_means_are_those_of_draws(scale, errors):
    """Of users and of theta; by Stein's lemma C H is the covariance of theta and the gradient."""
    problem = PROBLEMS["huber-linear"](population={"coefficients": (1, 1, -2, 0.5), "errors": errors}, scale=scale)
    rng = np.random.default_rng(4)
    root = rng.standard_normal((problem.p, problem.p))
    m, c = problem.optimum() * 0.8 + np.eye(problem.p)[0], root @ root.T / 40
    theta, users = rng.multivariate_normal(m, c, size=USERS), problem.sample(rng, USERS)
    gradients, means = problem.gradient(theta, *users), gaussian_means(problem)(m, c)
    away = gradients - gradients.mean(axis=0)
    for value, draws in (
        (means.gradient, gradients),
        (means.scores, gradients[:, :, None] * gradients[:, None, :]),
        (c @ means.hessian, (theta - m)[:, :, None] * away[:, None, :]),
    ):
        mean, error = draws.mean(axis=0), draws.std(axis=0) / math.sqrt(len(draws))
        # means over rows are those of 1,024 points
        assert np.all(np.abs(value - mean) < 4 * error + 0.01 * np.abs(mean).max())


@pytest.mark.parametrize(("scale", "errors"), [
    ("joint", {"law": "laplace"}), ("joint", SKEWED), ("known", SKEWED), ("known", UNEVEN),
])  # fmt: skip
def test_at_the_optimum_they_are_the_second_order_of_the_risk(scale, errors):
    """Public points and tables against quadrature over the population."""
    problem = PROBLEMS["huber-linear"](population={"coefficients": (1, 1, -2, 0.5), "errors": errors}, scale=scale)
    at, best = gaussian_means(problem)(problem.optimum(), np.zeros((problem.p,) * 2)), problem.curvature()
    assert at.gradient == pytest.approx(0, abs=1e-12)
    assert at.hessian == pytest.approx(best.hessian, abs=0.01 * best.M)
    assert at.scores == pytest.approx(best.score_covariance, abs=0.01 * np.abs(best.score_covariance).max())
