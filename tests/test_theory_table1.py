"""A misspelt estimator is refused, not taken for the other one."""

import pytest

from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, corrected_exponent, remark_exponent, table1_exponent


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
