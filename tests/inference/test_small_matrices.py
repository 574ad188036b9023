"""Stacks of small matrices of which some have no result; and numbers of 32 binary digits."""

import math

import numpy as np
import pytest

from dpexp.inference import small_matrices as small
from dpexp.inference.public_numbers import rounded


def rotations(rng, count, p):
    return np.linalg.qr(rng.standard_normal((count, p, p)))[0]


def with_eigenvalues(rng, values):
    """Symmetric matrices [R, p, p] with eigenvalues [R, p]."""
    q = rotations(rng, *values.shape)
    a = (q * values[:, None, :]) @ q.swapaxes(1, 2)
    return (a + a.swapaxes(1, 2)) / 2


def test_company_and_shape_change_no_bit():
    rng = np.random.default_rng(5)
    a = with_eigenvalues(rng, rng.standard_normal((6, 7)))
    for function in (small.eigenvalues, small.inverses, small.pseudo_inverses):
        together = function(a)
        assert all((function(a[r]) == together[r]).all() for r in range(6))
        assert (function(a.reshape(2, 3, 7, 7)).reshape(together.shape) == together).all()
        assert (function(np.asfortranarray(a)) == together).all()


# --- rounding to 32 binary digits ------------------------------------------------------------------------------------


def wanted(value):
    """To the nearest number of 32 digits; a float is an integer times a power of two."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**32), exponent - 32)  # the product is exact, and round() goes to even


def test_the_nearest_number_of_so_many_digits():
    values = np.random.default_rng(1).standard_normal(2000) * np.geomspace(1e-200, 1e200, 2000)
    assert rounded(values).tolist() == [wanted(float(v)) for v in values]


@pytest.mark.parametrize("value", [0.3, -7.1, 1e-9])
def test_what_differs_by_less_than_machines_do_is_one_number(value):
    near = value * (1 + 1e-14)
    assert near != value
    assert rounded(near) == rounded(value)
    assert rounded(value * (1 + 1e-8)) != rounded(value)
