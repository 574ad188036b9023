"""Elementary functions beside 60 digits, at the ends of their ranges, and with the same bits on other machines."""

import hashlib
import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest

from dpexp.core import elementary
from dpexp.core.elementary import _TAIL, _TAIL_SCALE
from tests.conftest import ROOT

UNIT = 2.0**-53
RANDOM = np.random.default_rng(20)


def spread(*ranges, count=400):
    return np.concatenate([RANDOM.uniform(low, high, count) for low, high in ranges])


ANY_SIZE = np.exp(RANDOM.uniform(-700, 700, 400))


def erfcx(x):
    return mpmath.exp(x * x) * mpmath.erfc(x)


def log_ndtr(x):
    return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)


CASES = {
    "exp": (mpmath.exp, spread((-700, 700), (-1, 1), (-1e-3, 1e-3)), 2),
    "log": (mpmath.log, np.concatenate([ANY_SIZE, spread((0.5, 2), (1 - 1e-6, 1 + 1e-6)), [5e-324, 1e-310]]), 2),
    "log1p": (
        mpmath.log1p,
        np.concatenate([ANY_SIZE, spread((-0.999, 3), (-1e-5, 1e-5)), -np.exp(spread((-40, -1e-3)))]),
        4,
    ),
    "erfcx": (erfcx, np.concatenate([spread((0, 8), (0, 1)), np.exp(spread((-20, 6)))]), 8),
    # x^2 is rounded before it is an exponent
    "ndtr": (mpmath.ncdf, spread((-37, 8)), 8 + 37**2),
    "log_ndtr": (log_ndtr, spread((-300, 8)), 8 + 8**2),
}


@pytest.mark.parametrize("name", CASES)
def test_relative_errors_are_as_small_as_stated(name):
    exact, places, units = CASES[name]
    with mpmath.workdps(60):
        for x, y in zip(places.tolist(), getattr(elementary, name)(places).tolist(), strict=True):
            wanted = exact(mpmath.mpf(x))
            assert abs(mpmath.mpf(y) - wanted) <= units * UNIT * abs(wanted), (name, x)


@pytest.mark.parametrize("name", CASES)
def test_odd_numbers_do_not_change_their_neighbours(name):
    """Arrays of ordinary numbers go another way than those with a zero, an inf or a number next to nothing in them."""
    function, places = getattr(elementary, name), CASES[name][1]
    odd = [0.0, np.inf, np.nan, 5e-324] + ([-np.inf] if name.startswith("exp") else [])
    with np.errstate(all="ignore"):
        for one in odd:
            assert np.array_equal(function(np.append(places, one))[:-1], function(places))
            assert np.array_equal(function(np.append(places, one))[-1:], function(np.array([one])), equal_nan=True)


def test_the_table_of_roots_has_more_digits_than_a_number():
    with mpmath.workdps(60):
        for j, (large, rest) in enumerate(zip(elementary._TABLE.tolist(), elementary._REST.tolist(), strict=True)):
            wanted = mpmath.mpf(2) ** (mpmath.mpf(j) / 32)
            assert abs(mpmath.mpf(large) + mpmath.mpf(rest) - wanted) < 2.0**-100
            assert abs(rest) <= UNIT


def test_the_polynomial_of_the_tail_is_that_of_the_chebyshev_points():
    count = len(_TAIL)
    with mpmath.workdps(60):
        points = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
        for t in points:
            s = _TAIL_SCALE * (1 + t) / (1 - t)
            # far out erfc(s) has too few digits beside e^(s^2): its asymptotic series has them
            wanted = (s + _TAIL_SCALE) * (erfcx(s) if s < 20 else asymptotic(s))
            found = mpmath.polyval([mpmath.mpf(c) for c in reversed(_TAIL)], t)
            assert abs(found / wanted - 1) < 1e-15


def asymptotic(s):
    terms = [(-1) ** k * mpmath.fac2(2 * k - 1) / (2 * s * s) ** k for k in range(12)]
    return mpmath.fsum(terms) / (s * mpmath.sqrt(mpmath.pi))


def test_the_ends_of_the_ranges():
    inf, nan = np.inf, np.nan
    assert elementary.exp(np.array([-inf, -746.0, 0.0, 710.0, inf])).tolist() == [0.0, 0.0, 1.0, inf, inf]
    assert elementary.exp(np.array([-745.0, 709.7])) == pytest.approx([5e-324, 1.6549840276802644e308], rel=1e-13)
    assert elementary.log(np.array([0.0, 1.0, inf])).tolist() == [-inf, 0.0, inf]
    assert elementary.log1p(np.array([-1.0, 0.0, 1e-300, inf])).tolist() == [-inf, 0.0, 1e-300, inf]
    assert elementary.erfcx(np.array([0.0, inf])) == pytest.approx([1.0, 0.0], abs=1e-15)
    assert elementary.ndtr(np.array([-inf, 0.0, inf])) == pytest.approx([0.0, 0.5, 1.0], abs=1e-16)
    assert elementary.log_ndtr(np.array([-inf, inf])).tolist() == [-inf, 0.0]
    for function in (elementary.exp, elementary.log, elementary.log1p, elementary.ndtr):
        assert np.isnan(function(np.array([nan])))[0]
    assert np.isnan(elementary.log(np.array([-1.0, -1e-310, -inf]))).all()
    assert elementary.log(np.array([])).shape == elementary.log1p(np.array([])).shape == (0,)


def test_one_number_many_and_any_shape_have_the_same_bits():
    many = RANDOM.uniform(0.0, 9.0, (5, 3000))
    for name in CASES:
        function = getattr(elementary, name)
        found = function(many)
        assert found.shape == many.shape
        assert np.array_equal(found[3, :50], [float(function(x)) for x in many[3, :50]])
    assert [elementary.erfcx_of(x) for x in many[0].tolist()] == elementary.erfcx(many[0]).tolist()


BITS = """
import hashlib, sys
import numpy as np
from dpexp.core import elementary
x = np.random.default_rng(3).uniform(0.0, 30.0, 20000)
names = ("exp", "log", "log1p", "erfcx", "ndtr", "log_ndtr")
found = [getattr(elementary, name)(y) for name in names for y in (x, x / 100)]
print(hashlib.sha256(np.concatenate(found).tobytes()).hexdigest())
"""
LESS = {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512F AVX512CD AVX512_SKX AVX2 FMA3"}
"""what numpy is not to use, by the names of its newer and its older versions; names that it does not know only warn"""


def test_a_machine_with_fewer_instructions_has_the_same_bits():
    found = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", BITS], capture_output=True, text=True, check=True, cwd=ROOT,
            env={**os.environ, **more},
        ).stdout
        for more in ({}, LESS)
    }  # fmt: skip
    assert len(found) == 1
    assert len(found.pop().strip()) == len(hashlib.sha256().hexdigest())
