"""The memory that a run is said to need, beside what it takes."""

import pytest

from dpexp.algorithms import ALGORITHMS
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
