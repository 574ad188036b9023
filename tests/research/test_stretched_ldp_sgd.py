"""`stretched-ldp-sgd`: against a literal loop, `ldp-sgd` itself, and a program apart; and what its messages cost."""

import math

import numpy as np
import pytest

from dpexp.conformance.problems import furthest
from dpexp.problems.linear_losses import HuberLinear
from dpexp.theory.ldp_sgd.huber_messages import furthest_messages
from tests.algorithms.test_ldp_sgd import CASES, SEED, SETTINGS, STEPS, N, budget_of, states_of
from tests.conftest import share
from tests.oracles import ldp_sgd, one_pass
from tests.oracles.streams import normals
from tests.research import module

StretchedLdpSgd = module("research/stretched/stretched_ldp_sgd.py").StretchedLdpSgd
C = 1.345


def largest_distance(a):
    """Of two gradients with the scale's entry times a, at one theta: max over p of (c + p) sqrt(2 + a^2 (c - p)^2 / 4)."""
    p = np.linspace(0.0, C, 2001)
    return float(np.max((C + p) * np.sqrt(2 + (a * (C - p)) ** 2 / 4)))


@pytest.mark.parametrize("case", ["huber joint scale", "huber, other numbers"])
def test_the_pass_is_the_literal_loop(case):
    """On the engine's own random numbers, budgets of all kinds and projections included: noise by coordinate, Delta / mu and
    Delta / (a mu), is added to the gradient of the package's other oracle."""
    problem, formulas = CASES[case]
    algorithm, a = StretchedLdpSgd(stretch=2.7), np.append(np.ones(problem.d + 1), 2.7)
    found = algorithm.simulate(problem, SETTINGS, STEPS, SEED, [0, 3])
    gradient, response = formulas(problem)
    for s, (schedule, budget) in enumerate(SETTINGS):
        for r, replicate in enumerate((0, 3)):
            states = states_of(replicate)
            path = one_pass.one_pass(
                lambda *at: list(a * gradient(*at)), math.inf, lambda i, eta, theta, sent: theta - eta * (sent / a),
                ldp_sgd.users(states, problem.d, problem.sigma_z, problem.beta, response, True),
                normals(states["noise"]), budget_of(budget, states), problem.noise_sensitivity(), schedule.eta,
                getattr(schedule, "alpha", 0.0), list(problem.start()), problem.scale_min, N,
            )  # fmt: skip
            for e, steps in enumerate((path.theta, path.average)):
                away = np.sum((np.array(steps)[STEPS - 1] - problem.optimum()) ** 2, axis=1)
                np.testing.assert_allclose(found.values[s, e, :, 0, r], away, rtol=1e-10)
            np.testing.assert_array_equal(found.values[s, 0, :, 3, r], np.array(path.projections)[STEPS - 1])
    assert found.values[:, 0, :, 3].any()


@pytest.mark.parametrize(
    ("a", "expected"), share([(3.51, 3.8099075), (3.6, 3.8712708), (4, 4.1590550), (6, 5.7713519)], 2)
)
def test_the_largest_distance_of_messages(a, expected):
    """Above 3.501 it is more than 2 sqrt 2 c. A grid agrees, and a search over pairs of records comes near to it, not above."""
    assert furthest_messages(C, a) == pytest.approx(expected, abs=1e-7)
    assert furthest_messages(C, a) == pytest.approx(largest_distance(a), rel=1e-6)
    messages = StretchedLdpSgd(stretch=a).messages(HuberLinear(d=2))
    most = furthest(messages, np.random.default_rng(1), lambda g: g, math.inf)
    assert 0.99 * expected < most <= expected * (1 + 1e-9)
