"""One pass over users (`linear_pass`, `kernel`, `designs`) is the literal loop of the equations, on the same random numbers."""

import numpy as np
import pytest

from tests.algorithms.test_ldp_sgd import ALGORITHM, CASES, QUICK, assert_equals_the_literal_loop, snapshots


@pytest.mark.parametrize("case", sorted(QUICK))
def test_a_pass_is_the_literal_loop(case):
    assert_equals_the_literal_loop(ALGORITHM, case)


def test_a_replicate_that_is_alone_has_the_bits_that_it_has_in_company():
    problem = CASES["logistic"][0]
    alone, company = (snapshots(ALGORITHM, problem, replicates=replicates) for replicates in ([3], [0, 3, 11]))
    np.testing.assert_array_equal(alone.theta[..., 0], company.theta[..., 1])
