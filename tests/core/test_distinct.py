"""The distinct numbers of an array beside numpy's own."""

import numpy as np
import pytest

from dpexp.core.distinct import distinct


@pytest.mark.parametrize(
    "numbers", [[], [3.0], [2, 2, 2], [5, 1, 5, 1, 3], [0.0, -0.0, 1.0], [[2.0, 1.0], [1.0, np.inf]], [-np.inf, 4.0]]
)
def test_it_is_what_numpy_calls_unique(numbers):
    numbers = np.array(numbers)
    found = distinct(numbers)
    assert found.dtype == numbers.dtype
    assert np.array_equal(found, np.unique(numbers))


def test_many_numbers():
    numbers = np.random.default_rng(4).integers(0, 500, 3000)
    assert np.array_equal(distinct(numbers), np.unique(numbers))
    assert len(distinct(numbers)) < len(numbers)
