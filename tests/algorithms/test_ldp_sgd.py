"""LDP-SGD: the kernel against the literal transcription, and the reproducibility and privacy it must have."""

import itertools
import math

import numpy as np
import pytest

import dpexp.engine.linear.linear_pass as linear_pass
from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import Constant, Power
from dpexp.core.seeds import stream_states
from dpexp.engine.linear.kernel import BLOCK
from dpexp.privacy.budgets import Choice, ChoiceBudget, ConstantBudget, ListBudget, UniformBudget
from dpexp.problems import PROBLEMS
from tests.oracles import ldp_sgd as oracle
from tests.oracles import one_pass
from tests.oracles.streams import normals, uniforms

ALGORITHM = ALGORITHMS["ldp-sgd"]()
SEED = 5
N = 3 * BLOCK + 17
STEPS = np.unique(np.append(np.geomspace(1, N, 25).astype(np.int64), N))


def huber(problem):
    sigma = None if problem.has_scale else problem.sigma
    c, kappa = problem.constants[:2]
    return lambda theta, x, y: oracle.huber_gradient(theta, x, y, c, kappa, sigma), lambda t, e: t + problem.sigma * e


def logistic(problem):
    return oracle.logistic_gradient, lambda t, e: float(e <= 1 / (1 + math.exp(-t)))


def pinball(problem):
    def gradient(theta, x, y):
        return oracle.pinball_gradient(theta, x, y, problem.tau)

    return gradient, lambda t, e: t + problem.sigma * e


def insensitive(problem):
    def response(t, e):
        u = 2 * e - 1
        return t + problem.support * math.copysign(1 - (1 - abs(u)) ** 0.25, u)

    return lambda theta, x, y: oracle.insensitive_gradient(theta, x, y, problem.width), response


CASES = {
    "huber joint scale": (PROBLEMS["huber-linear"](d=5), huber),
    "huber known scale": (PROBLEMS["huber-linear"](d=5, scale="known", sigma=1.5), huber),
    "huber, other numbers": (PROBLEMS["huber-linear"](d=2, sigma_z=0.7, c=0.9, beta=-0.5, start_sigma=0.4), huber),
    "huber, one covariate": (PROBLEMS["huber-linear"](d=1), huber),
    "huber, many covariates": (PROBLEMS["huber-linear"](d=linear_pass.UNROLLED + 1), huber),
    "logistic": (PROBLEMS["mallows-logistic"](d=5), logistic),
    "pinball": (PROBLEMS["pinball-linear"](d=5, tau=0.8), pinball),
    "insensitive": (PROBLEMS["insensitive-linear"](d=5, width=0.6), insensitive),
}
QUICK = {"huber joint scale", "logistic"}
each_case = pytest.mark.parametrize(
    "case", [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
SETTINGS = [
    (Power(eta=0.2, alpha=0.5), ConstantBudget(mu=1.0)),
    (Power(eta=0.3, alpha=1 / 3), UniformBudget(uniform=(1.0, 2.0))),
    (Power(eta=0.2, alpha=1.0), ListBudget(list=(0.5, 1.0, 3.0))),
    (Constant(eta=0.05), ChoiceBudget(choice=Choice(values=(0.5, 2.0), probabilities=(0.25, 0.75)))),
    (Power(eta=0.2, alpha=0.5), ConstantBudget(mu=math.inf)),
]


def states_of(replicate):
    return {
        role: list(stream_states(SEED, [replicate], role)[:, 0]) for role in ("data", "response", "noise", "budget")
    }


def budget_of(budget, states):
    """mu_i for i = 1, 2, ..., each from one uniform number of the stream "budget"."""
    u = list(itertools.islice(uniforms(states["budget"]), N))
    if isinstance(budget, ConstantBudget):
        return lambda i: budget.mu
    if isinstance(budget, UniformBudget):
        low, high = budget.uniform
        return lambda i: low + (high - low) * u[i - 1]
    if isinstance(budget, ListBudget):
        return lambda i: budget.list[(i - 1) % len(budget.list)]
    values, (first, _) = budget.choice.values, budget.choice.probabilities
    return lambda i: values[0] if u[i - 1] <= first else values[1]


def literal(problem, formulas, schedule, budget, replicate, step, clip, delta):
    """The path of one replicate and setting by the literal loop, on the engine's own random numbers."""
    gradient, response = formulas(problem)
    states, normal = states_of(replicate), problem.response_noise == "normal"
    data = oracle.users(states, problem.d, problem.sigma_z, problem.beta, response, normal)
    return one_pass.one_pass(
        gradient, clip, step, data, normals(states["noise"]), budget_of(budget, states), delta, schedule.eta,
        getattr(schedule, "alpha", 0.0), list(problem.start()), problem.scale_min if problem.has_scale else None, N,
    )  # fmt: skip


def snapshots(algorithm, problem, settings=SETTINGS, steps=STEPS, seed=SEED, replicates=(0, 3, 11)):
    """States of a lane group, as the engine returns them."""
    delta, wrapped = algorithm.sensitivities(problem).noise, [linear_pass.PassSetting(*s) for s in settings]
    return linear_pass.run_lane_group(problem.model(), algorithm.rule(), wrapped, delta, steps, seed, replicates)


def assert_equals_the_literal_loop(algorithm, case, clip=math.inf, step=lambda p: one_pass.plain, delta=None):
    """Iterate, average and projection count at every checkpoint, for three replicates of every setting, to 1e-12.

    `step` is that of p parameters, and `delta` the sensitivity, which is the problem's own where none is given.
    """
    problem, formulas = CASES[case]
    got, delta, at = snapshots(algorithm, problem), delta or problem.noise_sensitivity(), STEPS - 1
    for s, (schedule, budget) in enumerate(SETTINGS):
        for lane, replicate in enumerate((0, 3, 11)):
            path = literal(problem, formulas, schedule, budget, replicate, step(problem.p), clip, delta)
            np.testing.assert_allclose(got.theta[:, 0, s, :, lane], np.array(path.theta)[at], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(got.theta[:, 1, s, :, lane], np.array(path.average)[at], rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(got.projections[:, s, lane], np.array(path.projections)[at])


@each_case
def test_kernel_equals_the_literal_transcription(case):
    assert_equals_the_literal_loop(ALGORITHM, case)


def run(problem=None, settings=SETTINGS, steps=STEPS, seed=SEED, replicates=range(8)):
    return ALGORITHM.simulate(problem or CASES["huber joint scale"][0], settings, steps, seed, list(replicates)).values


def test_metrics_are_those_of_the_iterates():
    problem = CASES["huber joint scale"][0]
    kept = snapshots(ALGORITHM, problem, replicates=range(8))
    theta = kept.theta.transpose(2, 1, 0, 4, 3)
    values = run(problem)
    np.testing.assert_allclose(values[:, :, :, 0], np.sum((theta - problem.optimum()) ** 2, axis=-1), rtol=1e-13)
    np.testing.assert_allclose(
        values[:, :, :, 1], np.sum((theta - problem.optimum())[..., :-1] ** 2, axis=-1), rtol=1e-13
    )
    np.testing.assert_array_equal(values[:, :, :, 2], problem.risk_gap(np.ascontiguousarray(theta)))
    np.testing.assert_array_equal(values[:, 0, :, 3], kept.projections.transpose(1, 0, 2))


@pytest.mark.parametrize("case", sorted(QUICK))
def test_numbers_depend_on_nothing_but_setting_seed_and_replicate(case):
    """Sub-grids, other replicates beside it, their order, chunks and other checkpoints: the same bits."""
    problem = CASES[case][0]
    whole = run(problem, replicates=range(11))
    np.testing.assert_array_equal(run(problem, settings=SETTINGS[::-1], replicates=range(11))[::-1], whole)
    for s, setting in enumerate(SETTINGS):
        np.testing.assert_array_equal(run(problem, settings=[setting], replicates=[9, 2])[0], whole[s][..., [9, 2]])
    few = STEPS[[0, 7, -1]]
    np.testing.assert_array_equal(run(problem, steps=few, replicates=range(11)), whole[:, :, [0, 7, len(STEPS) - 1]])
    shorter = STEPS[STEPS <= 2 * BLOCK - 5]
    np.testing.assert_array_equal(run(problem, steps=shorter, replicates=range(11)), whole[:, :, : len(shorter)])
    assert not np.array_equal(run(problem, seed=SEED + 1, replicates=range(11)), whole)


def test_a_diverging_setting_keeps_its_rows_and_leaves_the_others_alone():
    overflowing = Constant.model_construct(name="constant", eta=1e308)  # more than a config may ask for
    wild = [(overflowing, ConstantBudget(mu=0.01)), *SETTINGS]
    with np.errstate(over="ignore", invalid="ignore"):
        values = run(settings=wild)
    assert not np.all(np.isfinite(values[0, :, :, 0]))
    np.testing.assert_array_equal(values[1:], run())
