"""Lanes behave like eight separate float64 or uint64 numbers, to the last bit."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from numba import njit

from dpexp.engine.lanes import elementwise, vectors
from dpexp.engine.lanes.aligned import lanes_empty, lanes_zeros
from dpexp.engine.lanes.vectormath import exp, log, powers, sin_cos
from tests.conftest import mostly_slow

RNG = np.random.default_rng(7)
A, B = RNG.standard_normal(vectors.LANES) * 3, RNG.standard_normal(vectors.LANES)
A[:2], B[:2] = [0.0, -0.0], [-0.0, 0.0]


def on_lanes(function, *arrays):
    """Apply a function of lanes to arrays [count, 8]."""
    compiled = njit(function)
    arrays = [np.ascontiguousarray(np.atleast_2d(a)) for a in arrays]

    @njit
    def one(out, a):
        for i in range(len(a)):
            vectors.store(out, (i,), compiled(vectors.load(a, (i,))))

    @njit
    def two(out, a, b):
        for i in range(len(a)):
            vectors.store(out, (i,), compiled(vectors.load(a, (i,)), vectors.load(b, (i,))))

    out = np.empty_like(arrays[0])
    (one if len(arrays) == 1 else two)(out, *arrays)
    return out.squeeze()


@pytest.mark.parametrize("function", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_arithmetic_is_ieee(function):
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_array_equal(on_lanes(lambda a, b: function(a, b), A, B), function(A, B))


@pytest.mark.parametrize("function", mostly_slow([operator.truediv, operator.add, operator.sub, operator.mul]))
def test_scalars_are_broadcast(function):
    np.testing.assert_array_equal(on_lanes(lambda a: function(a, 2.5), A), function(A, 2.5))
    np.testing.assert_array_equal(on_lanes(lambda a: function(3, a + 10.0), A), function(3, A + 10.0))


@pytest.mark.slow
def test_selection_and_comparison():
    np.testing.assert_array_equal(on_lanes(lambda a, b: elementwise.minimum(a, b), A, B), np.minimum(A, B))
    np.testing.assert_array_equal(on_lanes(lambda a, b: elementwise.maximum(a, 0.5), A, B), np.maximum(A, 0.5))
    np.testing.assert_array_equal(
        on_lanes(lambda a, b: elementwise.where(a < b, a, 1.0), A, B), np.where(A < B, A, 1.0)
    )
    np.testing.assert_array_equal(
        on_lanes(lambda a, b: elementwise.where(a >= b, 0.0, -a), A, B), np.where(A >= B, 0, -A)
    )
    np.testing.assert_array_equal(on_lanes(lambda a: elementwise.sqrt(a * a), A), np.sqrt(A * A))
    np.testing.assert_array_equal(on_lanes(lambda a: vectors.reals(1.5) + 0.0 * a, A), np.full(vectors.LANES, 1.5))


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (0,), (2, 0), (960, 7)])
@pytest.mark.parametrize("make", [lanes_empty, lanes_zeros])
def test_arrays_of_lanes_begin_where_a_cache_line_does(make, shape):
    found = [make(*shape) for _ in range(9)]  # numpy's own begin at a multiple of 64 once in four times
    for array in found:
        assert array.shape == (*shape, vectors.LANES)
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert array.ctypes.data % vectors.VECTOR_BYTES == 0 or array.size == 0
        if make is lanes_zeros:
            assert not array.any()
    found[0][:] = 1.0
    assert make is lanes_empty or not found[1].any()


def test_sums_and_state_are_kept_apart_from_each_other_alone():
    """A value that is read again after it was written, and a sum that is read after it was added to, are new."""

    @njit
    def twice(state, total, inputs):
        for i in range(len(state)):
            for _ in range(2):
                new = vectors.load_state(state, (i,)) * 2.0 + vectors.read(inputs, (i,))
                vectors.write(state, (i,), new)
                vectors.add(total, (i,), vectors.load_state(state, (i,)))
                vectors.add(total, (i,), 1.0)

    state, total, inputs = (lanes_zeros(3) for _ in range(3))
    state[:], total[:], inputs[:] = A, B, 0.5
    twice(state, total, inputs)
    np.testing.assert_array_equal(state[1], (A * 2 + 0.5) * 2 + 0.5)
    np.testing.assert_array_equal(total[1], ((((B + (A * 2 + 0.5)) + 1) + ((A * 2 + 0.5) * 2 + 0.5)) + 1))


def test_bits():
    bits = RNG.integers(0, 2**64, vectors.LANES, dtype=np.uint64)
    k = np.uint64(13)
    np.testing.assert_array_equal(on_lanes(lambda a: (a << k) | (a >> k), bits), (bits << k) | (bits >> k))
    np.testing.assert_array_equal(on_lanes(lambda a: (a ^ k) + (a & k), bits), (bits ^ k) + (bits & k))
    np.testing.assert_array_equal(on_lanes(lambda a: vectors.real_of(vectors.bits_of(a)), A), A)


def test_a_fused_sum_is_rounded_once():
    """(1 + e)(1 - e) - 1 = -e^2 for e = 2^-30, of which two roundings leave nothing; numbers are broadcast."""
    e = 2.0**-30
    a = np.full(vectors.LANES, 1 + e)
    np.testing.assert_array_equal(on_lanes(lambda a: vectors.fused(a, 1 - e, -1.0), a), np.full(vectors.LANES, -e * e))
    np.testing.assert_array_equal(on_lanes(lambda a: a * (1 - e) - 1.0, a), np.zeros(vectors.LANES))
    exact = [float(Fraction(a) * Fraction(b) + Fraction(a)) for a, b in zip(A, B, strict=True)]
    np.testing.assert_array_equal(on_lanes(lambda a, b: vectors.fused(a, b, a), A, B), exact)


def test_polynomial_is_fused_horner():
    x = RNG.uniform(-1, 1, vectors.LANES)
    coefficients = (1.0, -0.5, 0.25, 3.0)
    exact = [float(sum(math.fsum([c * v**i]) for i, c in enumerate(coefficients))) for v in x]
    np.testing.assert_allclose(
        on_lanes(lambda a: vectors.polynomial(a, coefficients), x), exact, rtol=1e-15, atol=1e-15
    )


@pytest.mark.parametrize("count", mostly_slow([7, 4, 5, 8, 21, 14]))  # each is compiled
def test_a_wide_polynomial_is_the_same_polynomial(count):
    """With each coefficient alone every power is seen; together they are what Horner's rule gives."""
    x, out = RNG.uniform(-1, 1, vectors.LANES), np.empty((1, vectors.LANES))

    @njit
    def both(out, x, coefficients):
        vectors.store(out, (0,), vectors.wide_polynomial(vectors.load(x, (0,)), coefficients))
        wide = out[0].copy()
        vectors.store(out, (0,), vectors.polynomial(vectors.load(x, (0,)), coefficients))
        return wide

    for power in range(count):
        alone = tuple(float(k == power) for k in range(count))
        np.testing.assert_allclose(both(out, x[None], alone), x**power, rtol=1e-14)
    c = tuple(RNG.uniform(-1, 1, count))
    np.testing.assert_allclose(both(out, x[None], c), out[0], rtol=1e-13, atol=1e-15)


def test_in_any_asks_all_lanes():
    alone = 2.0 * np.eye(vectors.LANES)
    found = on_lanes(
        lambda a: vectors.reals(1.0) if vectors.in_any(a > 1.0) else vectors.reals(0.0),
        np.concatenate([alone, 0.4 * alone]),
    )
    np.testing.assert_array_equal(found, np.repeat([[1.0], [0.0]], vectors.LANES, axis=0) * np.ones(vectors.LANES))
    assert (
        on_lanes(
            lambda a: vectors.reals(1.0) if vectors.in_any(a > 1.0) else vectors.reals(0.0),
            np.full(vectors.LANES, np.nan),
        )
        == 0
    ).all()


def units_in_the_last_place(got, mpmath_function, x):
    import mpmath

    with mpmath.workdps(40):
        errors = [
            abs((mpmath.mpf(float(g)) - mpmath_function(mpmath.mpf(float(v)))) / np.spacing(abs(g)))
            for g, v in zip(got, x, strict=True)
        ]
    return float(max(errors))


@pytest.mark.parametrize(
    ("function", "name", "low", "high"),
    [
        (lambda a: log(a), "log", 2.0**-52, 1.0),
        (lambda a: log(a), "log", 0.5, 3.0),
        (lambda a: exp(a), "exp", -30.0, 30.0),
        (lambda a: sin_cos(a)[0], "sin", 0.0, math.pi / 4),
        (lambda a: sin_cos(a)[1], "cos", 0.0, math.pi / 4),
    ],
)
def test_elementary_functions(function, name, low, high):
    """Sine carries the truncation of its series, 3e-14 relative at pi / 4; the others a few units in the last place."""
    import mpmath

    x = np.concatenate([RNG.uniform(low, high, 400 * vectors.LANES - 2), [high, low if low > 0 else high]])
    got = on_lanes(function, x.reshape(-1, vectors.LANES)).ravel()
    assert units_in_the_last_place(got, getattr(mpmath, name), x) < (250 if name == "sin" else 4)


@pytest.mark.slow
def test_tail_of_squares():
    """Against mpmath over all sizes; and where some lanes are far away, the others have the bits they have alone."""
    import mpmath

    x = np.concatenate([np.linspace(-12, 12, 796), [-1e3, -9.0, 9.0, 1e3]])
    got = on_lanes(lambda a: elementwise.normal_square_below(a), x.reshape(-1, vectors.LANES)).ravel()
    with mpmath.workdps(40):
        exact = [float((v**2 + 1) * mpmath.ncdf(v) + v * mpmath.npdf(v)) for v in map(mpmath.mpf, x)]
    assert np.max(np.abs(got - exact) / (1 + np.maximum(x, 0) ** 2)) < 1e-15
    assert (got >= 0).all()
    np.testing.assert_allclose(elementwise.normal_square_below(x), exact, rtol=1e-14, atol=1e-13)
    mixed = np.random.default_rng(1).permutation(x)
    again = on_lanes(lambda a: elementwise.normal_square_below(a), mixed.reshape(-1, vectors.LANES)).ravel()
    np.testing.assert_array_equal(again[np.argsort(mixed, kind="stable")], got[np.argsort(x, kind="stable")])
    nan = on_lanes(lambda a: elementwise.normal_square_below(a), np.array([np.nan, *[1.0] * 7]))
    assert np.isnan(nan).tolist() == [True, *[False] * 7]


def test_logistic_saturates_without_overflow():
    x = np.array([-1e308, -800.0, -30.0, 0.0, 1e-300, 30.0, 800.0, 1e308])
    got = on_lanes(lambda a: elementwise.logistic(a), x)
    np.testing.assert_allclose(got, elementwise.logistic(x), rtol=1e-14, atol=1e-300)
    assert got[0] < 1e-300
    assert got[-1] == 1.0


@pytest.mark.parametrize("exponent", [0.0, -1 / 3, -0.4, -0.5, -0.8, -1.0])
def test_powers_of_steps(exponent):
    for first, count in ((1, 1), (1, 1000), (7, 13), (10**9, 100)):
        found = powers(first, first + count - 1, exponent)
        wanted = [float(i) ** exponent for i in range(first, first + count)]
        np.testing.assert_allclose(found, wanted, rtol=4e-15)
    parts = [powers(1, 10, exponent), powers(11, 23, exponent)]
    assert np.array_equal(np.concatenate(parts), powers(1, 23, exponent))
