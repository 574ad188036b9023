"""Printed rates, and the function they are written with."""

import math

import pytest

from dpexp.theory.ldp_sgd.psi import psi
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, corrected_exponent, remark_exponent, table1_exponent


def test_psi():
    assert psi(0.5, 4) == pytest.approx(2)
    assert psi(-0.5, 4) == pytest.approx(1)
    assert psi(0, 7) == pytest.approx(math.log(7))
    assert psi(1e-9, 7) == pytest.approx(math.log(7), rel=1e-7)
    with pytest.raises(ValueError, match="positive"):
        psi(1, 0)
    for s in (0.3, 1.0, 1.7):  # psi_{1-s}(n) <= sum k^-s <= 1 + psi_{1-s}(n)
        total = sum(k**-s for k in range(1, 1001))
        assert psi(1 - s, 1000) <= total <= 1 + psi(1 - s, 1000)


@pytest.mark.parametrize(
    ("alpha", "strongly", "non_strongly"),
    [
        (1 / 3, (-1 / 3, -1), (None, None)),
        (0.4, (-0.4, -1), (-0.1, -0.4)),
        (1 / 2, (None, None), (None, None)),
        (0.6, (-0.6, -0.8), (-0.3, -0.4)),
        (2 / 3, (-2 / 3, -2 / 3), (None, None)),
        (0.8, (-0.8, -0.4), (-0.2, -0.2)),
        (1.0, (None, None), (None, None)),
    ],
)
def test_table1_as_printed(alpha, strongly, non_strongly):
    for convexity, printed in ((STRONGLY, strongly), (NON_STRONGLY, non_strongly)):
        got = tuple(table1_exponent(e, convexity, alpha) for e in ("sgd", "asgd"))
        assert got == pytest.approx(printed)
        for estimator, exponent in zip(("sgd", "asgd"), printed, strict=True):
            if exponent is not None:
                assert remark_exponent(estimator, convexity, alpha) == pytest.approx(exponent)


def test_remarks_cover_the_ends_of_the_intervals():
    assert remark_exponent("asgd", STRONGLY, 0.5) == -1
    assert remark_exponent("sgd", NON_STRONGLY, 0.5) == pytest.approx(-0.25)
    assert remark_exponent("sgd", NON_STRONGLY, 2 / 3) == pytest.approx(-1 / 3)
    assert remark_exponent("sgd", STRONGLY, 1.0) is None


def test_corrected_rates():
    assert corrected_exponent("asgd", 1 / 3) == pytest.approx(-2 / 3)
    assert corrected_exponent("asgd", 2 / 3) == -1
    assert corrected_exponent("sgd", 0.4) == -0.4
    assert corrected_exponent("sgd", 1.0) is None
    with pytest.raises(ValueError, match="convexity"):
        table1_exponent("sgd", "convex", 0.4)
