"""Rules with memory, norms and numbers: clipped and heavy-ball LDP-SGD against literal loops, and their privacy."""

import math

import numpy as np
import pytest

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.heavy_ball_ldp_sgd import HeavyBallLdpSgd
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems import PROBLEMS
from tests.algorithms.test_ldp_sgd import CASES, SEED, SETTINGS, STEPS, assert_equals_the_literal_loop
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


class OfKnownDiameter(LdpSgd):
    def radius(self, problem):
        return math.inf


def test_messages_of_a_known_diameter_fit_into_the_ball_of_a_simplex_of_that_edge():
    problem = PROBLEMS["mallows-logistic"](d=2)
    stated = OfKnownDiameter().mechanism(problem, SETTINGS[0][0], ConstantBudget(mu=2.0), 100)
    corners = stated.exact_sensitivity / math.sqrt(2) * np.eye(problem.p + 1)
    assert stated.radius == pytest.approx(np.linalg.norm(corners[0] - corners.mean(axis=0)))


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
