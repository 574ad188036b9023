"""A misspelt estimator is refused, not taken for the other one."""

import numpy as np
import pytest

from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, corrected_exponent, remark_exponent, table1_exponent


def test_remark_exponents_of_the_last_iterate_begin_at_one_third_and_are_continuous():
    """E|F(theta_n) - F*|: nothing is said up to 1/3; the three pieces meet at 1/2 and 2/3, and the last ends at 0."""
    assert [remark_exponent("sgd", NON_STRONGLY, alpha) for alpha in (0.0, 0.3, 1 / 3)] == [None, None, None]
    grid = np.linspace(0.334, 0.999, 2000)
    found = np.array([remark_exponent("sgd", NON_STRONGLY, alpha) for alpha in grid])
    assert found[0] == pytest.approx(-0.001, abs=1e-9)
    assert found[-1] == pytest.approx(-0.001, abs=1e-9)
    assert np.max(np.abs(np.diff(found))) <= 1.5 * (grid[1] - grid[0]) * (1 + 1e-9)
    assert grid[np.argmin(found)] == pytest.approx(2 / 3, abs=1e-3)
    assert np.min(found) == pytest.approx(-1 / 3, abs=1e-3)


def test_unknown_names_are_refused():
    for wrong in (
        lambda: table1_exponent("asdg", STRONGLY, 0.4),
        lambda: remark_exponent("SGD", NON_STRONGLY, 0.4),
        lambda: corrected_exponent("average", 0.4),
    ):
        with pytest.raises(ValueError, match="estimator is 'sgd' or 'asgd'"):
            wrong()
    for function in (table1_exponent, remark_exponent):
        with pytest.raises(ValueError, match="convexity is"):
            function("sgd", "convex", 2.0)
