"""Linear algebra of small matrices, beside LAPACK's, which shares no code with it."""

import math

import numpy as np
import pytest

from dpexp.inference import small_matrices as small
from dpexp.inference.public_numbers import KEPT, rounded

EPS = 2.0**-52
SIZES = [1, 2, 3, 6, 7, 12, 22]


def rotations(rng, count, p):
    return np.linalg.qr(rng.standard_normal((count, p, p)))[0]


def with_eigenvalues(rng, values):
    """Symmetric matrices [R, p, p] with eigenvalues [R, p]."""
    q = rotations(rng, *values.shape)
    a = (q * values[:, None, :]) @ q.swapaxes(1, 2)
    return (a + a.swapaxes(1, 2)) / 2


def spectra(rng, kind, p):
    """Eigenvalues [8, p] of one kind."""
    return {
        "any": rng.standard_normal((8, p)),
        "ill-conditioned": np.geomspace(1, 1e-12, p) * np.ones((8, 1)),
        "repeated": np.where(np.arange(p) < p // 2, 0.25, 3.0) * np.ones((8, 1)),
        "singular": np.where(np.arange(p) == 0, 0.0, 1.0 + np.arange(p)) * np.ones((8, 1)),
        "all zero": np.zeros((8, p)),
        "huge": 1e300 * rng.uniform(0.1, 1, (8, p)),
        "tiny": 1e-300 * rng.uniform(0.1, 1, (8, p)),
    }[kind]


KINDS = ["any", "ill-conditioned", "repeated", "singular", "all zero", "huge", "tiny"]


@pytest.mark.parametrize("p", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_eigensystems_are_those_of_lapack(p, kind):
    rng = np.random.default_rng(p)
    a = with_eigenvalues(rng, spectra(rng, kind, p))
    values, vectors = small.eigensystems(a)
    size = np.abs(a).max(initial=1e-300)
    assert np.abs(values / size - np.linalg.eigvalsh(a / size)).max() <= 8 * p * EPS
    assert (np.diff(values, axis=1) >= 0).all()
    back = (vectors * (values / size)[:, None, :]) @ vectors.swapaxes(1, 2)
    assert np.abs(back - a / size).max() <= 16 * p * EPS
    assert np.abs(vectors.swapaxes(1, 2) @ vectors - np.eye(p)).max() <= 16 * p * EPS
    assert not np.allclose(values * (1 + 1e-9) + 1e-9 * size, values, rtol=0, atol=8 * p * EPS * size)


def test_the_sign_of_an_eigenvector_is_that_of_its_first_largest_entry():
    a = np.array([[2.0, -1.0], [-1.0, 2.0]])
    _, vectors = small.eigensystems(a)
    half = math.sqrt(0.5)
    assert vectors == pytest.approx(np.array([[half, half], [half, -half]]))
    assert small.eigensystems(a[::-1, ::-1])[1] == pytest.approx(vectors)


def test_equal_eigenvalues_of_a_diagonal_matrix_keep_their_order():
    values, vectors = small.eigensystems(np.diag([3.0, 1.0, 3.0, 1.0]))
    assert values.tolist() == [1.0, 1.0, 3.0, 3.0]
    assert (vectors == np.eye(4)[:, [1, 3, 0, 2]]).all()


@pytest.mark.parametrize("p", SIZES)
@pytest.mark.parametrize("condition", [1.0, 1e4, 1e12])
def test_inverses_are_those_of_lapack(p, condition):
    """|A^-1 - B| <= c p eps cond(A) |A^-1|; matrices that are not symmetric too."""
    rng = np.random.default_rng(p)
    q, r = rotations(rng, 8, p), rotations(rng, 8, p)
    a = (q * np.geomspace(1, 1 / condition, p)) @ r
    for found in (small.inverses(a), small.pseudo_inverses(a)):
        error = np.linalg.norm(found - np.linalg.inv(a), axis=(1, 2)) / np.linalg.norm(np.linalg.inv(a), axis=(1, 2))
        assert error.max() <= 8 * p * EPS * condition
    assert np.abs(small.inverses(a) @ a - np.eye(p)).max() <= 8 * p * EPS * condition


def test_an_inverse_needs_its_pivots():
    """Without exchanging rows the first division would be by 0, or by almost 0."""
    for corner in (0.0, 1e-20):
        assert small.inverses(np.array([[corner, 1.0], [1.0, 1.0]])) == pytest.approx(
            np.array([[-1.0, 1.0], [1.0, 0.0]])
        )


@pytest.mark.parametrize("p", SIZES[1:])
@pytest.mark.parametrize("missing", [1, 2])
def test_pseudo_inverses_of_singular_matrices_are_those_of_lapack(p, missing):
    """Singular values of 1 to 10, and zeros; with U S V' the pseudo-inverse is V S^+ U'."""
    rng = np.random.default_rng(p)
    rank = p - missing
    a = np.zeros((8, p, p))
    a[:, :rank, :rank] = rotations(rng, 8, rank) * np.geomspace(1, 10, rank) @ rotations(rng, 8, rank)
    found = small.pseudo_inverses(a)
    assert np.abs(found - np.linalg.pinv(a)).max() <= 64 * p * EPS
    assert np.abs(a @ found @ a - a).max() <= 640 * p * EPS
    assert (found[:, rank:] == 0).all()


def test_the_pseudo_inverse_of_nothing_is_nothing():
    assert (small.pseudo_inverses(np.zeros((3, 3))) == 0).all()


def test_products_are_those_of_numpy():
    rng = np.random.default_rng(3)
    a, b, c = rng.standard_normal((8, 3, 5)), rng.standard_normal((5, 4)), rng.standard_normal((2, 1, 4, 2))
    assert small.products(a, b) == pytest.approx(a @ b, rel=1e-13)
    assert small.products(a, b, c) == pytest.approx(a @ b @ c, rel=1e-12)
    assert small.times(a, b[:, 0]) == pytest.approx(a @ b[:, 0], rel=1e-13)
    assert small.products(a, b).shape == (8, 3, 4)
    assert small.products(a, b, c).shape == (2, 8, 3, 2)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("p", [1, 2, 7])
def test_what_is_not_finite_ends_as_nan_and_leaves_the_others_alone(bad, p):
    rng = np.random.default_rng(4)
    a = with_eigenvalues(rng, rng.uniform(1, 2, (3, p)))
    spoilt = a.copy()
    spoilt[1, 0, p - 1] = spoilt[1, p - 1, 0] = bad
    for function in (small.eigenvalues, small.inverses, small.pseudo_inverses):
        found, alone = function(spoilt), function(a)
        assert np.isnan(found[1]).all()
        assert (found[[0, 2]] == alone[[0, 2]]).all()
    assert np.isnan(small.eigensystems(spoilt)[1][1]).all()


def test_a_singular_matrix_has_no_inverse():
    assert np.isnan(small.inverses(np.array([[1.0, 2.0], [2.0, 4.0]]))).all()


def test_company_and_shape_change_no_bit():
    rng = np.random.default_rng(5)
    a = with_eigenvalues(rng, rng.standard_normal((6, 7)))
    for function in (small.eigenvalues, small.inverses, small.pseudo_inverses, lambda m: small.products(m, m)):
        together = function(a)
        assert all((function(a[r]) == together[r]).all() for r in range(6))
        assert (function(a.reshape(2, 3, 7, 7)).reshape(together.shape) == together).all()
        assert (function(np.asfortranarray(a)) == together).all()


# --- rounding to 32 binary digits ------------------------------------------------------------------------------------


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
