"""Rounding to 32 binary digits, beside Python's exact integers."""

import math

import numpy as np
import pytest

from dpexp.inference.public_numbers import KEPT, rounded


def wanted(value):
    """To the nearest number of 32 digits; a float is an integer times a power of two."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**KEPT), exponent - KEPT)  # the product is exact, and round() goes to even


def test_the_nearest_number_of_so_many_digits():
    values = np.random.default_rng(1).standard_normal(2000) * np.geomspace(1e-200, 1e200, 2000)
    assert rounded(values).tolist() == [wanted(float(v)) for v in values]


def test_a_number_of_so_few_digits_stays():
    assert [rounded(v) for v in (0.0, 1.0, -2.5, 1 + 2.0**-31)] == [0.0, 1.0, -2.5, 1 + 2.0**-31]


@pytest.mark.parametrize("value", [0.3, -7.1, 1e-9])
def test_what_differs_by_less_than_machines_do_is_one_number(value):
    near = value * (1 + 1e-14)
    assert near != value
    assert rounded(near) == rounded(value)
    assert rounded(value * (1 + 1e-8)) != rounded(value)
