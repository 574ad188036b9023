"""Estimates of bytes and seconds, by which runs are refused and shared out, are those of what is run."""

import tracemalloc

import numpy as np
import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.finite_sum_run import gradient_seconds
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems import PROBLEMS


def huber(d):
    return PROBLEMS["huber-linear"](d=d)


def rippled(d):
    return PROBLEMS["rippled-mean"](N=50, d=d)


RUNS = {
    "ldp-sgd": ({}, huber, 20_000, 300),
    "tree-momentum": ({"epochs": 20}, rippled, 1000, 50),
    "tree-momentum, square-root": ({"epochs": 20, "design": "square-root"}, rippled, 1000, 50),
    "reduced-momentum": ({"epochs": 20}, rippled, 1000, 50),
}


@pytest.mark.parametrize("name", RUNS)
def test_bytes_are_no_fewer_than_a_run_holds_and_at_most_four_times_as_many(name):
    words, problem_of, n, checkpoints = RUNS[name]
    algorithm, problem, settings = ALGORITHMS[name.partition(",")[0]](**words), problem_of(5), []
    for k in range(4):
        settings.append((SCHEDULES["constant"](eta=0.01), ConstantBudget(mu=1.0 + k)))
    steps = np.unique(np.linspace(1, n, checkpoints).astype(int))
    algorithm.simulate(problem, settings, steps, 1, range(8))  # what is compiled and kept is there now
    tracemalloc.start()
    try:
        algorithm.simulate(problem, settings, steps, 2, range(8))
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held <= algorithm.memory(problem, n, len(steps), 4) <= 4 * held


@pytest.mark.parametrize("name", RUNS)
def test_seconds_grow_with_steps_and_parameters(name):
    words, problem_of, n, _ = RUNS[name]
    algorithm = ALGORITHMS[name.partition(",")[0]](**words)
    one, longer, wider = (algorithm.seconds(problem_of(d), m) for d, m in ((5, n), (5, 8 * n), (40, n)))
    assert 2 * one < longer < 9 * one
    assert 1.1 * one < wider < 9 * one


def test_noise_of_the_square_root_costs_a_time_for_every_step_and_parameter():
    tree, root = (ALGORITHMS["tree-momentum"](epochs=20, design=design) for design in ("tree", "square-root"))

    def more(d, n):
        return root.seconds(rippled(d), n) - tree.seconds(rippled(d), n)

    assert more(10, 3000) == pytest.approx(6 * more(5, 1000))


def test_steps_that_are_not_the_stated_epochs_are_told():
    tree, setting = ALGORITHMS["tree-momentum"](epochs=20), (SCHEDULES["constant"](eta=0.01), ConstantBudget(mu=1))
    found = [tree.complaints(rippled(3), *setting, n) for n in (1000, 999)]
    assert [len(faults) for faults in found] == [0, 1]


def test_seconds_of_a_full_gradient_grow_with_its_records():
    few, many = (gradient_seconds(PROBLEMS["rippled-mean"](N=n, d=5)) for n in (10**4, 10**5))
    assert 9 * few < many < 10 * few
