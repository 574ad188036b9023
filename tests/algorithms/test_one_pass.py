"""Rules with memory, norms and numbers: clipped and heavy-ball LDP-SGD against literal loops, and their privacy."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.heavy_ball_ldp_sgd import HeavyBallLdpSgd
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.engine.lanes.elementwise import maximum, sqrt
from dpexp.engine.linear.kernel import BLOCK
from dpexp.engine.linear.linear_pass import PassSetting, draw_users, run_lane_group
from dpexp.engine.linear.rule import Rule
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems import PROBLEMS
from tests.algorithms.test_ldp_sgd import (
    CASES,
    SEED,
    SETTINGS,
    STEPS,
    assert_equals_the_literal_loop,
)
from tests.conftest import AT_LENGTH
from tests.oracles import one_pass

CLIPPED, HEAVY = ClippedLdpSgd(clip=0.7), HeavyBallLdpSgd(momentum=0.8)
QUICK = "huber joint scale"
KINDS = CASES if AT_LENGTH else (QUICK, "logistic")
"""with a scale and without, two kinds of responses: `ldp-sgd` is tried on all cases, and each kernel of a rule
is made from the same templates; `make soak` tries all"""
each_case = pytest.mark.parametrize(
    "case", [case if case == QUICK else pytest.param(case, marks=pytest.mark.slow) for case in KINDS]
)
each_algorithm = pytest.mark.parametrize("algorithm", [CLIPPED, HEAVY], ids=lambda a: a.name)


def values(algorithm, problem, settings=SETTINGS, steps=STEPS, replicates=range(8)):
    return algorithm.simulate(problem, settings, steps, SEED, list(replicates)).values


LITERAL = {
    "clipped-ldp-sgd": (0.7, lambda p: one_pass.plain, 1.4),
    "heavy-ball-ldp-sgd": (math.inf, lambda p: one_pass.heavy_ball(0.8, p), None),
}
"""the clip, for p parameters the step of each literal loop, and its sensitivity where it is not the problem's"""


@each_case
@each_algorithm
def test_the_pass_equals_the_literal_loop(algorithm, case):
    assert_equals_the_literal_loop(algorithm, case, *LITERAL[algorithm.name])


@each_case
@pytest.mark.parametrize(
    ("same", "other"),
    [(ClippedLdpSgd(clip=1e6), CLIPPED), (HeavyBallLdpSgd(momentum=0.0), HEAVY)],
    ids=["clip", "ball"],
)
def test_a_clip_that_no_gradient_reaches_and_no_momentum_are_ldp_sgd_to_the_last_bit(case, same, other):
    problem = CASES[case][0]
    plain = values(LdpSgd(), problem)
    np.testing.assert_array_equal(values(same, problem), plain)
    assert not np.array_equal(values(other, problem), plain)


# --- privacy ---------------------------------------------------------------------------------------------------------


def test_the_statement_says_which_sensitivity_sets_the_noise():
    problem, budget, setting = PROBLEMS["huber-linear"](), ConstantBudget(mu=2.0), SETTINGS[0][0]
    paper, exact = problem.noise_sensitivity(), problem.exact_sensitivity()
    assert exact < paper < 4.0
    for clip, expected in [(0.5, (1.0, 1.0)), (1.93, (3.86, exact)), (2.0, (paper, exact))]:
        mechanism = ClippedLdpSgd(clip=clip).mechanism(problem, setting, budget, 100)
        assert (mechanism.noise_sensitivity, mechanism.exact_sensitivity) == pytest.approx(expected, rel=1e-15)
        assert mechanism.holds
        assert mechanism.exact_mu == pytest.approx(2.0 * expected[1] / expected[0], rel=1e-15)
    too_little = ClippedLdpSgd(clip=0.5).mechanism(PROBLEMS["huber-linear"](sensitivity=0.8), setting, budget, 100)
    assert not too_little.holds
    assert too_little.sound_mu == pytest.approx(2.0 * 1.0 / 0.8)
    plain = LdpSgd().mechanism(problem, setting, budget, 100)
    assert HEAVY.mechanism(problem, setting, budget, 100) == plain
    assert (plain.noise_sensitivity, plain.exact_sensitivity) == (paper, exact)


# --- the worked examples ---------------------------------------------------------------------------------------------


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
    problem = PROBLEMS["huber-linear"](scale="known", population={"design": {"law": "t", "df": 3}, "weights": "none"})
    rule = Rule(_adapted, _clipped, _in_units, _Size(1.0), _Adaptive(0.8, 0.9))
    model, steps = problem.model(), np.array([1, 40])
    schedule = SCHEDULES["power"](eta=0.3, alpha=0.5)
    setting = PassSetting(schedule, ConstantBudget(mu=math.inf))
    found = run_lane_group(model, rule, [setting], 0.0, steps, 11, range(8)).theta[:, 0, 0]
    x, y = draw_users(model, BLOCK * 8, 11)
    x, y = x.reshape(BLOCK, 8, -1), y.reshape(BLOCK, 8)
    theta, square = np.zeros((8, problem.p)), np.ones((8, problem.p))
    for i in range(40):
        size = np.sqrt(square + 0.01)
        u = problem.gradient(theta, x[i], y[i]) / size
        u = u * 0.8 / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 0.8)
        square = 0.9 * square + 0.1 * (u * size) ** 2
        theta = theta - 0.3 * (i + 1) ** -0.5 * u * size
        if i + 1 in steps:
            np.testing.assert_allclose(found[list(steps).index(i + 1)].T, theta, atol=1e-12)
    g = np.random.default_rng(1).standard_normal((50, problem.p)) * 10
    other = rule.sent(g, _Size(np.linspace(0.1, 5, problem.p)))
    assert np.linalg.norm(other, axis=1).max() <= 0.8 * (1 + 1e-12)
    assert not np.allclose(other, rule.sent(g))
