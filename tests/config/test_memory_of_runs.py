"""The memory that a run is said to need, beside what it takes."""

import tracemalloc

import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.finite_sum_run import drawn_order
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.privacy.budgets import Target
from dpexp.problems import PROBLEMS


@pytest.mark.parametrize(
    ("algorithm", "problem", "least"),
    [
        # the order of the records and the step sizes are an integer and a float a step
        ("tree-momentum", PROBLEMS["rippled-mean"](), {"n": 16}),
        ("staged-newton", PROBLEMS["huber-linear"](), {"n": 8}),
        # iterate and average of eight replicates: p = 7 numbers, six that are measured of them, and four metrics
        (
            "ldp-sgd",
            PROBLEMS["huber-linear"](d=5),
            {"checkpoints": 2 * 8 * 2 * 8 * 17, "settings": 10 * 8 * 2 * 8 * 17},
        ),
        # weights of every setting at every checkpoint: 10 classes, 65 columns of four bytes
        ("dp-sgd", PROBLEMS["softmax"](data={"name": "digits"}), {"settings": 10 * 10 * 65 * 4, "checkpoints": 5200}),
    ],
)
def test_memory_has_room_for_what_grows_with_the_run(algorithm, problem, least):
    """The arrays that a run keeps, counted by hand; the slow test measures what it takes in all."""
    sizes = {"n": 20_000, "checkpoints": 10, "settings": 2}
    before = ALGORITHMS[algorithm]().memory(problem, **sizes)
    for size, bytes_of_one in least.items():
        grown = ALGORITHMS[algorithm]().memory(problem, **sizes | {size: sizes[size] + 100}) - before
        assert grown >= 100 * bytes_of_one, size


def test_memory_of_reduced_momentum_has_room_for_the_split_of_its_noise():
    """What tracemalloc sees while an order is drawn and its noise is split, and the two lengths that it grows between."""

    problem, algorithm = PROBLEMS["rippled-mean"](N=50, d=3), ALGORITHMS["reduced-momentum"]()
    peaks, estimates, sizes = [], [], (200, 20_000, 60_000)
    for steps in sizes:  # the first one imports and compiles
        plan = algorithm.plan(problem, SCHEDULES["path-length"](length=2.0), Target(eps=1.0, delta=1e-5), steps)
        tracemalloc.start()
        try:
            drawn_order(1, 0, 50, steps, "fixed")
            algorithm.unit_stds(problem, plan, Target(eps=1.0, delta=1e-5))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        estimates.append(algorithm.memory(problem, steps, 5, 1))
    grown = peaks[2] - peaks[1]
    assert grown <= estimates[2] - estimates[1] <= 4 * grown
    assert peaks[2] <= estimates[2]
