"""One pass over users in lanes is the literal loop of the equations, on the engine's own random numbers."""

import pytest

from tests.algorithms.test_ldp_sgd import ALGORITHM, QUICK, assert_equals_the_literal_loop


@pytest.mark.parametrize("case", sorted(QUICK))
def test_a_pass_is_the_literal_loop(case):
    assert_equals_the_literal_loop(ALGORITHM, case)
