"""Rules with memory, norms and numbers: clipped and heavy-ball LDP-SGD against literal loops, and their privacy."""

import inspect
import math
from typing import Literal, NamedTuple

import numpy as np
import pytest
from scipy import stats

import dpexp.engine.linear.one_pass as linear_pass
from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd, rescale
from dpexp.algorithms.clipped_ldp_sgd import Numbers as Clip
from dpexp.algorithms.heavy_ball_ldp_sgd import HeavyBallLdpSgd
from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.algorithms.schedules import Constant
from dpexp.core.errors import UsageError
from dpexp.engine.lanes.elementwise import Value, exp, sqrt
from dpexp.engine.linear.kernel import BLOCK, compiled_segment
from dpexp.engine.linear.rule import Received, Rule, received_at
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_predictor import LinearPredictorProblem
from tests.algorithms.test_ldp_sgd import CASES, SEED, SETTINGS, STEPS, N, budget_of, snapshots, states_of
from tests.conftest import AT_LENGTH
from tests.oracles import ldp_sgd, one_pass
from tests.oracles.streams import normals

CLIPPED, HEAVY = ClippedLdpSgd(clip=0.7), HeavyBallLdpSgd(momentum=0.8)
QUICK = "huber joint scale"
KINDS = CASES if AT_LENGTH else (QUICK, "huber known scale", "huber, many covariates", "logistic")
"""with a scale and without, unrolled and not, two kinds of responses: `ldp-sgd` is tried on all cases, and each kernel of a rule
is made from the same templates; `make soak` tries all"""
each_case = pytest.mark.parametrize(
    "case", [case if case == QUICK else pytest.param(case, marks=pytest.mark.slow) for case in KINDS]
)
each_algorithm = pytest.mark.parametrize("algorithm", [CLIPPED, HEAVY], ids=lambda a: a.name)


class Moments(NamedTuple):
    first: Value
    second: Value


class Decays(NamedTuple):
    first: float
    second: float
    floor: float
    log_first: float
    log_second: float


def adam_update(theta: Value, received: Received, memory: Moments, numbers: Decays) -> tuple[Value, Moments]:
    """Adam, with its corrections 1 - beta^i."""
    m = numbers.first * memory.first + (1.0 - numbers.first) * received.noisy
    v = numbers.second * memory.second + (1.0 - numbers.second) * received.noisy * received.noisy
    missing_m = 1.0 - exp(received.i * numbers.log_first)
    missing_v = 1.0 - exp(received.i * numbers.log_second)
    return theta - received.eta * (m / missing_m) / (sqrt(v / missing_v) + numbers.floor), Moments(m, v)


class Adam(OnePassAlgorithm):
    """A rule with two vectors, five numbers and the step's number, as someone else may write one."""

    name: Literal["adam"] = "adam"

    def rule(self) -> Rule:
        numbers = Decays(0.9, 0.99, 1e-3, math.log(0.9), math.log(0.99))
        return Rule(adam_update, memory=Moments(0.0, 0.0), numbers=numbers)


def values(algorithm, problem, settings=SETTINGS, steps=STEPS, replicates=range(8)):
    return algorithm.simulate(problem, settings, steps, SEED, list(replicates)).values


def literal(problem, formulas, schedule, budget, replicate, step, clip, delta):
    gradient, response = formulas(problem)
    states, normal = states_of(replicate), problem.response_noise == "normal"
    data = ldp_sgd.users(states, problem.d, problem.sigma_z, problem.beta, response, normal)
    return one_pass.one_pass(
        gradient, clip, step, data, normals(states["noise"]), budget_of(budget, states), delta, schedule.eta,
        getattr(schedule, "alpha", 0.0), list(problem.start()), problem.scale_min if problem.has_scale else None, N,
    )  # fmt: skip


LITERAL = {
    "clipped-ldp-sgd": (0.7, lambda p: one_pass.plain),
    "heavy-ball-ldp-sgd": (math.inf, lambda p: one_pass.heavy_ball(0.8, p)),
    "adam": (math.inf, lambda p: one_pass.adam(0.9, 0.99, 1e-3, p)),
}
"""the clip and, for p parameters, the step of each literal loop"""


def assert_equals_the_literal_loop(algorithm, case):
    """Iterate, average and projection count at every checkpoint, for three replicates of every setting, to 1e-12."""
    problem, formulas = CASES[case]
    (clip, step), got = LITERAL[algorithm.name], snapshots(algorithm, problem)
    delta = 1.4 if algorithm is CLIPPED else problem.noise_sensitivity()
    for s, (schedule, budget) in enumerate(SETTINGS):
        for lane, replicate in enumerate((0, 3, 11)):
            path = literal(problem, formulas, schedule, budget, replicate, step(problem.p), clip, delta)
            at = STEPS - 1
            np.testing.assert_allclose(got.theta[:, 0, s, :, lane], np.array(path.theta)[at], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(got.theta[:, 1, s, :, lane], np.array(path.average)[at], rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(got.projections[:, s, lane], np.array(path.projections)[at])


@each_case
@each_algorithm
def test_the_pass_equals_the_literal_loop(algorithm, case):
    assert_equals_the_literal_loop(algorithm, case)


@pytest.mark.slow
def test_a_rule_with_two_vectors_and_the_number_of_the_step_equals_the_literal_loop():
    assert_equals_the_literal_loop(Adam(), QUICK)


@pytest.mark.parametrize("algorithm", [CLIPPED, HEAVY, Adam()], ids=lambda a: a.name)
def test_the_source_of_a_rule_also_acts_on_plain_numbers(algorithm):
    """Coordinate after coordinate in Python, the rule's own functions walk the path of the literal loop."""
    problem, formulas = CASES["huber known scale"]
    rule = algorithm.rule()
    memory = [rule.memory] * problem.p

    def step(i, eta, theta, noisy):
        theta = theta.copy()
        for j in range(problem.p):
            received = received_at(float(theta[j]), float(i), eta, float(noisy[j]))
            theta[j], memory[j] = rule.update(float(theta[j]), received, memory[j], rule.numbers)
        return theta

    schedule, budget = SETTINGS[1]
    arguments = problem, formulas, schedule, budget, 3
    clip, step_of = LITERAL[algorithm.name]
    expected = literal(*arguments, step_of(problem.p), clip, 1.3)
    np.testing.assert_allclose(literal(*arguments, step, clip, 1.3).theta, expected.theta, rtol=1e-12, atol=1e-12)
    for norm in (0.0, 0.3, 0.7, 5.0):
        assert rescale(norm, Clip(0.7)) == pytest.approx(1.0 if norm <= 0.7 else 0.7 / norm, rel=1e-15)


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


@each_algorithm
def test_numbers_depend_on_nothing_but_setting_seed_and_replicate(algorithm, monkeypatch):
    """What is remembered stays with its setting and its lane: sub-grids, order, chunks and segments do not show."""
    problem = CASES[QUICK][0]
    whole = values(algorithm, problem, replicates=range(11))
    np.testing.assert_array_equal(values(algorithm, problem, SETTINGS[::-1], replicates=range(11))[::-1], whole)
    for s, setting in enumerate(SETTINGS):
        np.testing.assert_array_equal(
            values(algorithm, problem, [setting], replicates=[9, 2])[0], whole[s][..., [9, 2]]
        )
    few = STEPS[[0, 7, -1]]
    np.testing.assert_array_equal(values(algorithm, problem, steps=few), whole[:, :, [0, 7, len(STEPS) - 1], :, :8])
    monkeypatch.setattr(linear_pass, "SEGMENT", BLOCK)
    np.testing.assert_array_equal(values(algorithm, problem), whole[..., :8])


@pytest.mark.slow
@each_algorithm
def test_unrolled_and_general_kernels_give_the_same_bits(algorithm, monkeypatch):
    problem = CASES[QUICK][0]
    unrolled = values(algorithm, problem)
    monkeypatch.setattr(linear_pass, "UNROLLED", 0)
    np.testing.assert_array_equal(values(algorithm, problem), unrolled)


def test_other_numbers_compile_nothing():
    """Momenta, clips and even an integer in place of a float share one kernel with one signature."""
    problem = CASES[QUICK][0]
    for algorithms in (
        [HeavyBallLdpSgd(momentum=m) for m in (0.0, 0.3, 0.8)] + [HeavyBallLdpSgd.model_construct(momentum=0)],
        [ClippedLdpSgd(clip=c) for c in (0.1, 0.7)] + [ClippedLdpSgd.model_construct(clip=1)],
    ):
        for algorithm in algorithms:
            snapshots(algorithm, problem, steps=np.array([1, 2]))
        kernels = {compiled_segment(problem.model().shape, a.rule().source, problem.d) for a in algorithms}
        assert len(kernels) == 1
        assert len(kernels.pop().signatures) == 1


class ByItsStep(LdpSgd):
    """LDP-SGD as an update may also say it."""

    def rule(self) -> Rule:
        return super().rule()._replace(update=lambda theta, received, memory, numbers: (theta - received.step, memory))


@pytest.mark.slow
def test_a_step_that_is_taken_off_is_the_one_that_was_stepped():
    """But for the last digits: compiled code rounds the one three times and the other twice."""
    problem = CASES[QUICK][0]
    one, other = (snapshots(kind(), problem).theta for kind in (ByItsStep, LdpSgd))
    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    assert (one != other).any()
    received = received_at(1.5, 3.0, 0.1, -2.0)
    assert (received.step, received.stepped) == (-0.2, 1.7)


class Forgetful(HeavyBallLdpSgd):
    """A rule whose update forgets to return what it keeps."""

    def rule(self) -> Rule:
        return super().rule()._replace(update=lambda theta, received, memory, numbers: received.stepped)


class Mixed(HeavyBallLdpSgd):
    """A rule whose update keeps another number of vectors than the rule remembers."""

    def rule(self) -> Rule:
        return super().rule()._replace(update=lambda theta, received, memory, numbers: (theta, Moments(theta, theta)))


@pytest.mark.parametrize("kind", [Forgetful, Mixed])
def test_an_update_that_keeps_something_else_is_named_with_its_place(kind):
    with pytest.raises(UsageError, match=r"test_one_pass\.py:\d+: <lambda> must return .* a Memory of 1"):
        values(kind(), CASES[QUICK][0])


# --- privacy ---------------------------------------------------------------------------------------------------------

LINEAR = {name: kind for name, kind in PROBLEMS.items() if issubclass(kind, LinearPredictorProblem)}


def pairs(problem, size, rng):
    """Gradients of two users of the whole data space at common parameters; half of the pairs share their row x."""
    z = rng.standard_normal((2, size, problem.d)) * np.exp(rng.uniform(-3, 3, (2, size, 1)))
    z[:, : size // 2] /= np.linalg.norm(z[:, : size // 2], axis=-1, keepdims=True)  # where w(x) x is longest
    z[1, ::2] = z[0, ::2]
    x = np.concatenate([np.ones((2, size, 1)), z], axis=-1)
    theta = problem.optimum() + np.exp(rng.uniform(-2, 4, (size, 1))) * rng.standard_normal((size, problem.p))
    if problem.has_scale:
        theta[:, -1] = np.maximum(np.abs(theta[:, -1]), problem.scale_min)
    t = np.sum(x * theta[:, : problem.d + 1], axis=-1)
    far = t + rng.standard_normal((2, size)) * np.exp(rng.uniform(-3, 5, (2, size)))
    labels = (0.0, 1.0) if problem.name == "mallows-logistic" else (-1.0, 1.0)
    y = far if problem.response_noise == "normal" or "insensitive" in problem.name else rng.choice(labels, (2, size))
    return problem.gradient(theta, x[0], y[0]), problem.gradient(theta, x[1], y[1])


def clipped(g, clip):
    """The rule's own function, on whole gradients."""
    return g * rescale(np.linalg.norm(g, axis=-1), Clip(clip))[:, None]


@pytest.mark.parametrize("clip", [0.05, 0.4, 1.2, 1.9, 50.0])
@pytest.mark.parametrize("name", LINEAR)
def test_the_stated_sensitivity_bounds_every_pair_and_some_pair_comes_close(name, clip):
    problem = LINEAR[name](d=3)
    g, h = pairs(problem, 40_000, np.random.default_rng(3))
    noise, exact = ClippedLdpSgd(clip=clip).sensitivities(problem)
    distance = np.linalg.norm(clipped(g, clip) - clipped(h, clip), axis=-1)
    assert exact <= noise
    assert np.linalg.norm(clipped(g, clip), axis=-1).max() <= clip * (1 + 1e-12)
    assert distance.max() <= exact * (1 + 1e-12)
    assert np.all(distance <= np.linalg.norm(g - h, axis=-1) * (1 + 1e-12))  # clipping moves no two gradients apart
    if clip < 0.5:  # two thirds of the stated sensitivity, or a hundredth less than it, would be found too small
        assert exact == 2 * clip
        assert distance.max() > 0.99 * exact


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


def noise_p_value(algorithm, case, factor, monkeypatch):
    """p value that what `simulate` adds in step 1 is -eta N(0, (Delta / mu)^2 I): the noise-free step is taken off.

    Delta is what the algorithm declares, and its noise is `factor` times as large.
    """
    problem, eta, mu = CASES[case][0], 0.01, 2.0
    settings = [(Constant(eta=eta), ConstantBudget(mu=m)) for m in (mu, math.inf)]
    steps, run, seen = np.array([1]), linear_pass.run_lane_group, []
    declared = algorithm.sensitivities(problem)

    def scaled(model, rule, wrapped, delta, *rest):
        seen.append(run(model, rule, wrapped, factor * delta, *rest))
        return seen[-1]

    with monkeypatch.context() as patch:
        patch.setattr(linear_pass, "run_lane_group", scaled)
        algorithm.simulate(problem, settings, steps, 1, list(range(400)))
    z = np.concatenate([(s.theta[0, 0, 0] - s.theta[0, 0, 1]) / eta for s in seen], axis=-1) * mu / declared.noise
    power = z.size * np.mean(z**2)
    return 2 * min(stats.chi2.cdf(power, z.size), stats.chi2.sf(power, z.size))


@pytest.mark.parametrize(
    ("algorithm", "case"),
    [(LdpSgd(), QUICK), (LdpSgd(), "logistic"), (ClippedLdpSgd(clip=1.0), QUICK), (HEAVY, QUICK)],
)
def test_noise_has_the_declared_scale_and_a_wrong_one_is_found(algorithm, case, monkeypatch):
    declared = 2.0 if algorithm.name == "clipped-ldp-sgd" else CASES[case][0].noise_sensitivity()
    assert algorithm.sensitivities(CASES[case][0]).noise == declared
    assert noise_p_value(algorithm, case, 1.0, monkeypatch) > 1e-3
    for wrong in (2 / 3, 0.9, 1.1, 3 / 2):
        assert noise_p_value(algorithm, case, wrong, monkeypatch) < 1e-3


# --- the worked examples ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clipped-ldp-sgd", "heavy-ball-ldp-sgd"])
def test_a_worked_example_is_one_short_file(name):
    kind = ALGORITHMS[name]
    lines = inspect.getsource(inspect.getmodule(kind)).splitlines()
    assert len(lines) <= 60
    assert not {"simulate", "mechanism", "seconds", "memory", "complaints"} & set(vars(kind))


@pytest.mark.parametrize("momentum", [-0.1, 1.0, math.nan])
def test_a_momentum_outside_0_to_1_is_refused(momentum):
    with pytest.raises(ValueError, match="momentum"):
        HeavyBallLdpSgd(momentum=momentum)
