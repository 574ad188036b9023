"""Momentum on finite sums: equal to the literal pseudo-code, calibrated to the budget, Lemma 5 on every run."""

import itertools
import math

import numpy as np
import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm, RunPlan, drawn_order
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.core.seeds import stream_state
from dpexp.engine.finite_sum.following import company_of, follow_all, looks
from dpexp.engine.finite_sum.looking import Data
from dpexp.privacy.budgets import Target
from dpexp.privacy.mechanisms.momentum import recursion_coefficients, recursion_sensitivities, recursion_stds
from dpexp.privacy.momentum.tree_streams import occurrence_sensitivities, stream_mu, stream_sensitivities, unit_split
from dpexp.problems import PROBLEMS
from tests.oracles import momentum as literal
from tests.oracles.streams import normals
from tools.momentum_iterates import cover

ONE = Target(eps=1.0, delta=1e-5)
PRESCRIBED, PATH = SCHEDULES["prescribed"](), SCHEDULES["path-length"](length=2.0)
N, D, SEED = 9, 3, 5
SUMS = {name: kind for name, kind in ALGORITHMS.items() if issubclass(kind, FiniteSumAlgorithm)}


def problem_of(n=N, d=D):
    return PROBLEMS["rippled-mean"](N=n, d=d)


def data_of(problem):
    return Data(problem.record_loss, *problem.records, problem.constants)


def gradient_of(problem):
    def gradient(w, i):
        out, data = np.empty(len(w)), problem.records
        problem.record_loss.gradient(np.asarray(w), data.x[i], data.y[i], problem.constants, out)
        return out

    return gradient


def drawn_normals(seed, replicate, source=0):
    """The normals of a run, D at a time, from the transcription of the generator."""
    lanes = [normals(list(stream_state(seed, replicate, "noise", 8 * (source + 1) + lane))) for lane in range(8)]
    numbers = (next(lane) for lane in itertools.cycle(lanes))
    while True:
        yield np.array([next(numbers) for _ in range(D)])


def traced(run, steps):
    """Iterates and estimates of a run, step by step."""
    company = company_of([run])
    path, estimates = [company.w[:, 0].copy()], []
    for t in range(1, steps + 1):
        company.advance(t, t)
        path.append(company.w[:, 0].copy())
        estimates.append(company.estimate[:, 0].copy())
    return np.array(path), np.array(estimates)


@pytest.mark.parametrize("steps", [1, 7, 2 * N, 4 * N + 5])
@pytest.mark.parametrize("order", ["fixed", "reshuffled"])
@pytest.mark.parametrize("noise", [True, False])
def test_algorithm_1_is_the_literal_pseudo_code(steps, order, noise):
    problem, algorithm = problem_of(), SUMS["tree-momentum"](order=order, noise=noise)
    plan = algorithm.plan(problem, PATH, ONE, steps)
    run = algorithm.stepper(problem, plan, ONE, SEED, 2, data_of(problem))
    drawn = drawn_order(SEED, 2, N, steps, order)
    std = algorithm.node_std(problem, plan, ONE, drawn)
    assert (std > 0) == noise
    drawn_numbers, zeta = drawn_normals(SEED, 2), {}
    for t in range(1, steps + 1):  # the one left node that ends at t; the others are never used
        zeta.update(dict.fromkeys(literal.ending(t), np.full(D, np.nan)))
        zeta[t - (t & -t) + 1, t] = std * next(drawn_numbers)
    path, estimates = literal.algorithm1(
        gradient_of(problem), problem.start(), drawn.between(1, steps), zeta, cover, plan.alpha, plan.eta
    )
    ours = traced(run, steps)
    np.testing.assert_allclose(ours[1], estimates, atol=1e-12 * max(1, std))
    np.testing.assert_allclose(ours[0], path, atol=1e-12)


@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize(("n", "steps"), [(N, 5 * N + 4), (8, 40), (1, 6), (N, 5)])
def test_algorithm_2_is_the_literal_pseudo_code(noise, n, steps):
    problem, algorithm = problem_of(n), SUMS["reduced-momentum"](noise=noise, gamma=0.3, alpha=0.1)
    plan = algorithm.plan(problem, PATH, ONE, steps)
    drawn = drawn_order(SEED, 0, n, steps, "fixed")
    stds = np.multiply(*algorithm.unit_stds(problem, plan, ONE)) / plan.alpha
    sources = [drawn_normals(SEED, 0, source) for source in range(3)]
    zeta = {"G": {}, "D": {}, "r": {}}
    for t in range(1, steps + 1):
        for y, z in literal.ending(t, n):
            zeta["G"][y, z] = (stds[0] if z <= 2 * n else stds[1]) * next(sources[0])
            zeta["D"][y, z] = stds[2] * next(sources[1])
        zeta["r"][t - (t & -t) + 1, t] = stds[3] * next(sources[2])
    path, estimates = literal.algorithm2(
        gradient_of(problem), problem.start(), drawn.between(1, steps), n, zeta, cover, plan.alpha, plan.gamma, plan.eta
    )
    ours = traced(algorithm.stepper(problem, plan, ONE, SEED, 0, data_of(problem)), steps)
    np.testing.assert_allclose(ours[1], estimates, atol=1e-12 * max(1.0, float(stds.max())))
    np.testing.assert_allclose(ours[0], path, atol=1e-11)


@pytest.mark.parametrize("steps", [150, 230])
def test_metrics_are_those_of_the_path_whether_looks_are_neighbours_or_far_apart(steps):
    problem, algorithm = problem_of(12), SUMS["tree-momentum"]()
    data, plan = data_of(problem), algorithm.plan(problem, PATH, ONE, steps)
    at, seen = np.array([1, 7, 8, steps // 2, steps]), looks(steps, 12)
    run = algorithm.stepper(problem, plan, ONE, 1, 0, data)
    out = follow_all([run], data, at, np.array([plan.eta]), problem.smoothness)[0][0]
    path, estimates = traced(algorithm.stepper(problem, plan, ONE, 1, 0, data), steps)
    values, slopes = zip(*(problem.objective(w) for w in path), strict=True)
    norms = np.linalg.norm(slopes, axis=1)
    errors = np.linalg.norm(estimates - np.array(slopes)[:-1], axis=1)
    slack = -np.diff(values) / plan.eta + problem.smoothness * plan.eta / 2 + 2 * errors - norms[:-1]
    for k, row in zip(at, out, strict=True):
        past = seen[seen <= k] - 1 if (seen <= k).any() else [0]
        want = (path[k] @ path[k], values[k], norms[k], norms[past].mean(), errors[past].mean())
        np.testing.assert_allclose(row[:5], want, rtol=1e-12)
        assert row[5] == pytest.approx(min(slack[0], slack[past].min()), rel=1e-9)


def test_prescribed_schedules_are_those_of_the_theorems_and_infeasible_ones_are_told():
    problem, tree = problem_of(1000, 10), SUMS["tree-momentum"]()
    steps = tree.steps(problem, PRESCRIBED, ONE)
    plan = tree.plan(problem, PRESCRIBED, ONE, steps)
    assert steps == pytest.approx(7265, abs=1)
    assert plan.alpha * 1000 == pytest.approx(1, rel=1e-12)
    assert plan.eta == pytest.approx(1 / math.sqrt(1000 * steps))
    assert tree.complaints(problem, PRESCRIBED, ONE, steps) == []
    assert tree.complaints(problem, PRESCRIBED, ONE, 10)
    assert tree.plan(problem, PATH, ONE, 400).eta == pytest.approx(PATH.length / 400)


@pytest.mark.parametrize("steps", [6, 25, 40])
def test_independent_noise_counts_every_use_of_a_record(steps):
    order = drawn_order(1, 0, 8, steps, "fixed")
    uses = np.bincount(order.between(1, steps))
    algorithm = SUMS["tree-momentum"](design="independent", order="fixed")
    assert algorithm.sensitivity(8, RunPlan(steps, 0.3, 0.1, 1.0), order) == uses.max() == -(-steps // 8)


@pytest.mark.parametrize("name", SUMS)
def test_a_small_run_is_estimated_to_take_less_than_a_second(name):
    assert 0 < SUMS[name]().seconds(problem_of(), 100) < 1


def test_reshuffled_runs_spend_the_budget_at_the_sensitivity_of_their_own_order():
    problem, algorithm = problem_of(50), SUMS["tree-momentum"]()
    plan, stds = algorithm.plan(problem, PATH, ONE, 400), set()
    for replicate in range(4):
        order = drawn_order(1, replicate, 50, 400, "reshuffled")
        stds.add(algorithm.node_std(problem, plan, ONE, order))
    assert len(stds) > 1
    assert max(stds) / min(stds) < 1.2
    plan = SUMS["reduced-momentum"]().plan(problem, PATH, ONE, 400)
    ratio = 2.0 * plan.eta * 50 / 1.5
    setting = (plan.alpha, plan.gamma, ratio)
    one = 1.5 * np.array(unit_split(50, 400, *setting))
    held = stream_sensitivities(50, 400, plan.alpha)
    units = occurrence_sensitivities(50, plan.eta, 1.5, 2.0)
    assert stream_mu(held, units, one) == pytest.approx(1.0, rel=1e-12)
    short = np.array(unit_split(50, 100, *setting))
    assert short[2] == 0  # two epochs never read the changes, which need not be released
    assert np.isfinite(short).all()


def test_the_recursion_spends_its_budget_and_splits_it_best():
    n, G, L, steps, eta, gamma = 100, 1.5, 2.0, 40, 0.05, 0.1

    def mean_variance(first, later):
        a, b = recursion_coefficients(steps, gamma)
        return a * first**2 + b * later**2

    first, later = recursion_stds(n, G, L, steps, eta, gamma)
    sizes = recursion_sensitivities(n, G, L, eta, gamma)
    spent = sizes[0] ** 2 / first**2 + (steps - 1) * sizes[1] ** 2 / later**2
    assert spent == pytest.approx(1.0, rel=1e-12)
    fade, v = (1 - gamma) ** 2, [first**2]
    for _ in range(steps - 1):
        v.append(fade * v[-1] + later**2)
    assert mean_variance(first, later) == pytest.approx(np.mean(v), rel=1e-12)
    for factor in (0.8, 1.25):
        other = sizes[1] * math.sqrt((steps - 1) / (1 - sizes[0] ** 2 / (first * factor) ** 2))
        assert mean_variance(first * factor, other) > mean_variance(first, later)
    assert recursion_coefficients(10, 1.0) == pytest.approx((0.1, 0.9))


def test_a_replaced_record_moves_a_full_batch_by_no_more_than_the_sensitivity():
    """By force: gradients of F on neighbours, at the same iterates one step apart."""
    n, eta, gamma, rng = 6, 0.05, 0.2, np.random.default_rng(0)
    problem = problem_of(n)
    gradient, size = gradient_of(problem), recursion_sensitivities(n, 1.5, 2.0, eta, gamma)[1]
    moved = []
    for _ in range(500):
        w = rng.standard_normal(D)
        step = rng.standard_normal(D)
        v = w + eta * step / np.linalg.norm(step)
        a, b = (
            (1 - gamma) * (gradient(v, i) - gradient(w, i)) + gamma * gradient(v, i) for i in rng.integers(n, size=2)
        )
        moved.append(np.linalg.norm(a - b) / n)
    assert 0.2 * size < max(moved) <= size
