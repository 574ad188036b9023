"""Finite sums: gradients are derivatives, G and L hold and are attained where they claim to be exact."""

import math

import numpy as np
import pytest

from dpexp.problems import PROBLEMS, canaries
from dpexp.problems.finite_sum import FiniteSum

SUMS = {name: kind for name, kind in PROBLEMS.items() if issubclass(kind, FiniteSum)}
FIRST = [name if name in ("rippled-mean", "sigmoid") else pytest.param(name, marks=pytest.mark.slow) for name in SUMS]
"""the others are compiled in the slow tests only"""


def loss_and_gradient(problem, w, x, y):
    out = np.empty(len(w))
    return problem.record_loss.gradient(w, x, y, problem.constants, out), out


def ridge(problem, w):
    """The part of a gradient that no record can change."""
    if problem.name != "logistic-ridge":
        return 0.0
    return 2 * problem.lam * w / (1 + w**2) ** 2


@pytest.mark.parametrize("name", FIRST)
def test_constants_bound_gradients_and_their_changes(name):
    problem, rng = SUMS[name](N=1, d=3), np.random.default_rng(2)
    G, L = problem.lipschitz, problem.smoothness
    x0, largest, steepest = rng.standard_normal((4000, 3)), 0.0, 0.0
    for k, x in enumerate(x0):
        x = x / np.linalg.norm(x) * (1.0 if k % 2 else rng.random())
        y = float(rng.choice([-1, 1]) if k % 3 else 4 * rng.standard_normal())
        if not getattr(problem, "regression", True):
            y = math.copysign(1.0, y)
        w = rng.standard_normal(3) * 3 * rng.random()
        g = loss_and_gradient(problem, w, x, y)[1] - ridge(problem, w)
        v = w + rng.standard_normal(3) * 10 ** rng.uniform(-4, 0)
        change = np.subtract(*(loss_and_gradient(problem, at, x, y)[1] for at in (v, w)))
        largest = max(largest, float(np.linalg.norm(g)))
        steepest = max(steepest, float(np.linalg.norm(change) / np.linalg.norm(v - w)))
    assert largest <= G * (1 + 1e-12)
    assert steepest <= L * (1 + 1e-6)
    assert largest >= 0.8 * G  # the bounds are no wild guesses
    assert steepest >= (0.5 if name == "rippled-mean" else 0.6) * L


@pytest.mark.parametrize("name", ["sigmoid", "welsch-regression"])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_stated_sensitivity_is_the_largest_difference_of_a_loss(name, y):
    problem = SUMS[name](N=1, d=1)
    u, h = np.linspace(-12, 12, 4801), 1e-5
    values = [[loss_and_gradient(problem, np.array([v + s]), np.ones(1), y) for v in u] for s in (-h, 0.0, h)]
    numeric = np.array([(above[0] - below[0]) / (2 * h) for below, _, above in zip(*values, strict=True)])
    np.testing.assert_allclose([slope[0] for _, slope in values[1]], numeric, atol=1e-9)
    assert problem.lipschitz == pytest.approx(np.max(np.abs(numeric)) * problem.radius, rel=1e-5)


def test_a_linear_canary_has_the_slope_that_it_says():
    for slope, w in [(0.5, [-2.0, 1.0]), (-3.0, [0.25, 2.0]), (2.0, [1.5, -1.0]), (2.0, [0.0, 1.0])]:
        problem = canaries.LinearCanaries(N=3, d=2, slope=slope, stated_smoothness=1.0)
        value, gradient = problem.objective(np.array(w))
        assert gradient == pytest.approx([slope / 3, 0.0], rel=1e-12)
        assert value == pytest.approx(gradient @ w, rel=1e-12)


def test_records_that_are_made_have_logistic_labels_and_a_tenth_of_outliers():
    labelled, real = (SUMS[name](N=20_000, d=3).records for name in ("sigmoid", "welsch-regression"))
    along = labelled.x.sum(axis=1)
    assert abs(np.mean((labelled.y - np.tanh(1.5 * along)) * along)) < 4 / math.sqrt(20_000)
    assert np.mean(real.y - real.x.sum(axis=1) > 2.5) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("data", ["digits", "adult"])
def test_records_of_a_data_set_keep_the_constants(data):
    problem = SUMS["sigmoid"](data=data, N=300, positive=1)
    assert problem.records.x.shape == (300, problem.dimension)
    assert set(problem.records.y) == {-1.0, 1.0}
    assert np.linalg.norm(problem.records.x, axis=1).max() <= problem.radius
    with pytest.raises(ValueError, match="own d"):
        SUMS["sigmoid"](data=data, d=3)
