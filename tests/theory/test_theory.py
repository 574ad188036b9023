"""Printed rates, and THEOREMS: every statement can be evaluated from plain numbers alone."""

import math

import numpy as np
import pytest

from dpexp.theory import THEOREMS
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, remark_exponent, table1_exponent
from dpexp.theory.ldp_sgd.terms import psi


def test_psi():
    assert psi(0.5, 4) == pytest.approx(2)
    assert psi(-0.5, 4) == pytest.approx(1)
    assert psi(0, 7) == pytest.approx(math.log(7))
    assert psi(1e-9, 7) == pytest.approx(math.log(7), rel=1e-7)
    with pytest.raises(ValueError, match="positive"):
        psi(1, 0)


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


NUMBERS = {
    "momentum": {
        "N": 1000, "d": 10, "eps": 1.0, "delta": 1e-5, "steps": 10_000, "gap": 1.0, "G": 2.0, "L": 3.0,
        "alpha": 1e-3, "eta": 1e-3, "error": 0.1, "sigma": 8.0, "order": 4.0,
    },
    "dp-sgld": {
        "n": 1000, "d": 10, "eps": 1.0, "delta": 1e-5, "steps": 500, "step": 0.1, "order": 4.0, "lipschitz": 1.5,
        "smoothness": 2.0, "strong_convexity": 0.1, "sigma": 0.3, "lsi": 0.5, "total_step": 50.0, "xi_sq": 0.2,
        "delta0": 4.0,
    },
}  # fmt: skip
EVALUATED = {name: theorem for name, theorem in THEOREMS.items() if theorem.paper in NUMBERS}


def value(name, **changed):
    theorem = EVALUATED[name]
    found = theorem(NUMBERS[theorem.paper] | changed)
    return found.steps if theorem.quantity == "schedule" else found


def test_a_statement_needs_no_more_than_the_numbers_of_its_paper():
    assert all(0 < value(name) < math.inf for name in EVALUATED)
