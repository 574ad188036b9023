"""Controlled LDP-SGD: the linear recursion against literal ones, unbiasedness, and second moments that are wrong."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import sem

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import Constant, Power
from dpexp.privacy.budgets import ConstantBudget, UniformBudget
from tests.algorithms.test_ldp_sgd import CASES, SEED, STEPS, N, budget_of, states_of
from tests.conftest import at_length
from tests.oracles import bounds, ldp_sgd
from tests.oracles.streams import normals
from tests.research import module

controlled = module("research/controlled/controlled_ldp_sgd.py")
ControlledLdpSgd = controlled.ControlledLdpSgd
QUICK = ("huber joint scale", "logistic")
KINDS = (*QUICK, "huber known scale", "huber, other numbers", "huber, one covariate", "insensitive")
each_case = pytest.mark.parametrize(
    "case", [case if case in QUICK else pytest.param(case, marks=at_length) for case in KINDS]
)
SETTINGS = [
    (Power(eta=0.2, alpha=0.5), ConstantBudget(mu=1.0)),
    (Power(eta=0.3, alpha=1 / 3), UniformBudget(uniform=(1.0, 2.0))),
    (Constant(eta=0.05), ConstantBudget(mu=2.0)),
    (Power(eta=0.2, alpha=0.5), ConstantBudget(mu=math.inf)),
]
ERROR = 4.5
"""standard errors beyond which a mean is no longer what it should be: seven in a million, for a normal mean"""


def controls(problem, settings, steps=STEPS, seed=SEED, replicates=range(8)):
    return ControlledLdpSgd().controls(problem, settings, np.asarray(steps), seed, list(replicates))


@each_case
def test_the_recursion_is_the_literal_one_on_the_same_users(case):
    """|e|^2 and e' H e / 2 of the full matrices, user by user from the streams, less full second moments; to 1e-9."""
    problem, formulas = CASES[case]
    gradient, response = formulas(problem)
    hessian, optimum = problem.curvature().hessian, list(problem.optimum())
    replicates = [0, 3]
    got = controls(problem, SETTINGS, replicates=replicates)
    root = np.linalg.cholesky(hessian).T
    for (s, (schedule, budget)), (lane, replicate) in itertools.product(enumerate(SETTINGS), enumerate(replicates)):
        states = states_of(replicate)
        normal = problem.response_noise == "normal"
        data = ldp_sgd.users(states, problem.d, problem.sigma_z, problem.beta, response, normal)
        directions, mu = normals(states["noise"]), budget_of(budget, states)
        error, total, wanted = problem.start() - problem.optimum(), 0.0, []
        for i in range(1, N + 1):
            g = np.array(gradient(optimum, *next(data)))
            noise = problem.noise_sensitivity() / mu(i) * np.array([next(directions) for _ in optimum])
            error = error - schedule.eta * i ** -getattr(schedule, "alpha", 0.0) * (hessian @ error + g + noise)
            total = total + error
            if i in STEPS:
                wanted.append([[np.sum((m @ e) ** 2) * f for m, f in ((np.eye(problem.p), 1), (root, 0.5))]
                               for e in (error, total / i)])  # fmt: skip
        size = np.array(wanted).transpose(1, 0, 2)  # estimators, K, metrics
        for k, n in enumerate(STEPS.tolist()):
            alpha, noise = getattr(schedule, "alpha", 0.0), problem.noise_sensitivity() ** 2
            covariance = problem.curvature().score_covariance + noise * budget.mean_inverse_square * np.eye(problem.p)
            start = problem.start() - problem.optimum()
            plain = bounds.second_moments(n, schedule.eta, alpha, hessian, covariance, start)
            turned = root @ hessian @ np.linalg.inv(root)  # the recursion of root e, whose square is e' H e
            lost = bounds.second_moments(n, schedule.eta, alpha, turned, root @ covariance @ root.T, root @ start)
            away = size[:, k] - np.stack([plain, np.array(lost) / 2], axis=1)
            np.testing.assert_allclose(got[s, :, k, :, lane], away, rtol=1e-8, atol=1e-9 * np.abs(size[:, k]).max())


def test_what_stands_beside_is_ldp_sgd_to_the_last_bit_and_numbers_depend_on_nothing_else():
    problem = CASES["huber joint scale"][0]
    whole = ControlledLdpSgd().simulate(problem, SETTINGS, STEPS, SEED, list(range(11))).values
    plain = LdpSgd().simulate(problem, SETTINGS, STEPS, SEED, list(range(11))).values
    assert np.array_equal(whole[:, :, :, :4], plain)
    for s, setting in enumerate(SETTINGS):
        few = ControlledLdpSgd().simulate(problem, [setting], STEPS[[2, 9]], SEED, [9, 2]).values
        assert np.array_equal(few[0], whole[s][:, [2, 9]][..., [9, 2]])
    mechanism = ControlledLdpSgd().mechanism(problem, *SETTINGS[0], 777)
    assert mechanism == LdpSgd().mechanism(problem, *SETTINGS[0], 777)


@pytest.mark.parametrize("case", [*QUICK, "huber known scale"])
def test_controlled_and_plain_agree_within_their_errors_with_five_seeds(case):
    """At the very start, on the way and at the end; and with the known scale, where most is linear, much is saved."""
    problem, steps = CASES[case][0], np.array([3, 100, 3000])
    settings = [(Power(eta=1.0, alpha=0.5), ConstantBudget(mu=mu)) for mu in (2.0, math.inf)]
    algorithm = ControlledLdpSgd()
    plain, ours = (
        [algorithm.metrics.index(name) for name in names]
        for names in (("param_distance_sq", "loss_gap"), ("param_distance_sq_controlled", "loss_gap_controlled"))
    )
    spread = []
    for seed in range(5):
        values = algorithm.simulate(problem, settings, steps, seed, list(range(64))).values
        one, other = values[:, :, :, plain], values[:, :, :, ours]
        assert np.all(np.abs((one - other).mean(axis=-1)) < ERROR * sem(one - other, axis=-1))
        spread.append(one.var(axis=-1) / other.var(axis=-1))
    if case == "huber known scale":
        assert np.all(np.median(spread, axis=0)[:, 0, -1] > [[2, 2], [8, 8]])  # of the last iterate, by budget
