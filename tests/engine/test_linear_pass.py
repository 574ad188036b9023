"""One pass over users (`linear_pass`, `kernel`, `designs`) is the literal loop of the equations, on the same random numbers."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from dpexp.algorithms.schedules import SCHEDULES
from dpexp.engine.lanes.elementwise import maximum, sqrt
from dpexp.engine.lanes.vectors import LANES
from dpexp.engine.linear import BLOCK
from dpexp.engine.linear.linear_pass import PassSetting, draw_users, run_lane_group, schedule_sizes
from dpexp.engine.linear.measuring import Centres, in_lanes, measure
from dpexp.engine.linear.rule import Rule
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems import PROBLEMS
from tests.algorithms.test_ldp_sgd import ALGORITHM, CASES, QUICK, assert_equals_the_literal_loop, snapshots


@pytest.mark.parametrize("case", sorted(QUICK))
def test_a_pass_is_the_literal_loop(case):
    assert_equals_the_literal_loop(ALGORITHM, case)


def test_a_replicate_that_is_alone_has_the_bits_that_it_has_in_company():
    problem = CASES["logistic"][0]
    alone, company = (snapshots(ALGORITHM, problem, replicates=replicates) for replicates in ([3], [0, 3, 11]))
    np.testing.assert_array_equal(alone.theta[..., 0], company.theta[..., 1])


class _Size(NamedTuple):
    square: float


class _Adaptive(NamedTuple):
    clip: float
    keep: float


def _in_units(g, memory, numbers):
    return g / sqrt(memory.square + 0.01)


def _clipped(norm, numbers):
    return numbers.clip / maximum(norm, numbers.clip)


def _adapted(theta, received, memory, numbers):
    size = sqrt(memory.square + 0.01)
    square = numbers.keep * memory.square + (1.0 - numbers.keep) * received.noisy * received.noisy * size * size
    return theta - received.eta * received.noisy * size, _Size(square)


def test_a_clip_in_units_of_public_memory_is_its_literal_loop():
    """Rows of the engine's own users are drawn again, and every step taken in numpy as the equations say."""
    problem = PROBLEMS["huber-linear"](population={"design": {"law": "t", "df": 3}, "weights": "none"})
    rule = Rule(_adapted, _clipped, _in_units, _Size(1.0), _Adaptive(0.8, 0.9))
    model, steps = problem.model(), np.array([1, 40])
    setting = PassSetting(SCHEDULES["power"](eta=0.3, alpha=0.5), ConstantBudget(mu=math.inf))
    found = run_lane_group(model, rule, [setting], 0.0, steps, 11, range(8)).theta[:, 0, 0]
    x, y = draw_users(model, BLOCK * 8, 11)
    x, y = x.reshape(BLOCK, 8, -1), y.reshape(BLOCK, 8)
    theta, square = np.tile(problem.start(), (8, 1)), np.ones((8, problem.p))
    for i in range(40):
        size = np.sqrt(square + 0.01)
        u = problem.gradient(theta, x[i], y[i]) / size
        u = u * 0.8 / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 0.8)
        square = 0.9 * square + 0.1 * (u * size) ** 2
        theta = theta - 0.3 * (i + 1) ** -0.5 * u * size
        theta[:, -1] = np.maximum(theta[:, -1], problem.scale_min)
        if i + 1 in steps:
            np.testing.assert_allclose(found[list(steps).index(i + 1)].T, theta, atol=1e-12)
    g = np.random.default_rng(1).standard_normal((50, problem.p)) * 10
    other = rule.sent(g, _Size(np.linspace(0.1, 5, problem.p)))
    assert np.linalg.norm(other, axis=1).max() <= 0.8 * (1 + 1e-12)
    assert not np.allclose(other, rule.sent(g))
    with pytest.raises(ValueError, match="shape"):  # a schedule of fewer steps, beyond which the pass would read
        schedule_sizes((type("Short", (), {"step_sizes": lambda self, *ends: np.ones(3)})(),))(1, 9)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("slope", [False, True])
def test_measures_are_those_of_numpy(scale, slope):
    rng, q = np.random.default_rng(3), 4
    p = q + scale
    theta = rng.standard_normal((19, p))  # no multiple of the lanes
    optimum, origin = rng.standard_normal(p), rng.standard_normal(q)
    linear = rng.standard_normal(q) if slope else np.zeros(0)
    lanes = in_lanes(theta)
    assert lanes.shape == (3, p, LANES)
    measured = measure(lanes, Centres(optimum, origin, linear, 1.5, 0.7))
    found = {name: a.ravel()[:19] for name, a in measured._asdict().items()}
    wanted = {
        "param_distance_sq": np.sum((theta - optimum) ** 2, axis=1),
        "coef_distance_sq": np.sum((theta - optimum)[:, :q] ** 2, axis=1),
        "location": theta[:, 0] - origin[0],
        "spread": 1.5 * np.sqrt(np.sum((theta[:, 1:q] - origin[1:]) ** 2, axis=1)),
        "scale": theta[:, q] if scale else np.full(19, 0.7),
        "linear": theta[:, :q] @ linear if slope else np.zeros(19),
    }
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-14, atol=1e-14)
