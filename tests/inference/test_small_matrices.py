"""Stacks of small matrices of which some have no result; and numbers of 32 binary digits."""

import math

import numpy as np
import pytest

from dpexp.inference import small_matrices as small
from dpexp.inference.public_numbers import rounded


def test_each_matrix_of_a_stack_has_its_own_result_or_nan():
    """A regular one, one of rank 2, and two that are not finite; the others change no bit of it."""
    a = np.random.default_rng(5).standard_normal((4, 3, 3))
    a = a + a.swapaxes(1, 2)
    a[1, 2], a[1, :, 2] = a[1, 0], a[1, :, 0]
    a[1, 2, 2] = a[1, 0, 0]
    a[2, 0, 1], a[3, 2, 2] = math.inf, math.nan
    for function, alone, has_result in (
        (small.inverses, np.linalg.inv, [True, False, False, False]),
        (small.eigenvalues, np.linalg.eigvalsh, [True, True, False, False]),
        (small.pseudo_inverses, np.linalg.pinv, [True, True, False, False]),
    ):
        found = function(a)
        assert [bool(np.isfinite(one).all()) for one in found] == has_result
        assert [bool(np.isnan(one).all()) for one in found] == [not one for one in has_result]
        for k in np.flatnonzero(has_result):
            assert found[k] == pytest.approx(alone(a[k]), rel=1e-9, abs=1e-12)
            assert (function(a[k]) == found[k]).all()
        assert np.array_equal(function(a.reshape(2, 2, 3, 3)).reshape(found.shape), found, equal_nan=True)
    a[1] = 0.0  # exactly singular
    assert np.isnan(small.inverses(a)[1]).all()


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
