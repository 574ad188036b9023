"""Lanes behave like eight separate float64 or uint64 numbers, to the last bit."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import vectors
from dpexp.engine.lanes.vectormath import exp, log, powers, sin_cos

RNG = np.random.default_rng(7)
A, B = RNG.standard_normal(vectors.LANES) * 3, RNG.standard_normal(vectors.LANES)
A[:2], B[:2] = [0.0, -0.0], [-0.0, 0.0]


def on_lanes(function, *arrays):
    """Apply a function of lanes to arrays [count, 8]."""
    inner = compiled(function)
    arrays = [np.ascontiguousarray(np.atleast_2d(a)) for a in arrays]

    @compiled(cached=True)
    def one(out, a):
        for i in range(len(a)):
            vectors.store(out, (i,), inner(vectors.load(a, (i,))))

    @compiled(cached=True)
    def two(out, a, b):
        for i in range(len(a)):
            vectors.store(out, (i,), inner(vectors.load(a, (i,)), vectors.load(b, (i,))))

    out = np.empty_like(arrays[0])
    (one if len(arrays) == 1 else two)(out, *arrays)
    return out.squeeze()


@pytest.mark.parametrize("function", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_arithmetic_is_ieee(function):
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_array_equal(on_lanes(lambda a, b: function(a, b), A, B), function(A, B))


def test_a_fused_sum_is_rounded_once():
    """(1 + e)(1 - e) - 1 = -e^2 for e = 2^-30, of which two roundings leave nothing; numbers are broadcast."""
    e = 2.0**-30
    a = np.full(vectors.LANES, 1 + e)
    np.testing.assert_array_equal(on_lanes(lambda a: vectors.fused(a, 1 - e, -1.0), a), np.full(vectors.LANES, -e * e))
    np.testing.assert_array_equal(on_lanes(lambda a: a * (1 - e) - 1.0, a), np.zeros(vectors.LANES))
    exact = [float(Fraction(a) * Fraction(b) + Fraction(a)) for a, b in zip(A, B, strict=True)]
    np.testing.assert_array_equal(on_lanes(lambda a, b: vectors.fused(a, b, a), A, B), exact)


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
    """To a few units in the last place."""
    import mpmath

    x = np.concatenate([RNG.uniform(low, high, 400 * vectors.LANES - 2), [high, low if low > 0 else high]])
    got = on_lanes(function, x.reshape(-1, vectors.LANES)).ravel()
    assert units_in_the_last_place(got, getattr(mpmath, name), x) < 4


@pytest.mark.parametrize("exponent", [0.0, -1 / 3, -0.4, -0.5, -0.8, -1.0])
def test_powers_of_steps(exponent):
    for first, count in ((1, 1), (1, 1000), (7, 13), (10**9, 100)):
        found = powers(first, first + count - 1, exponent)
        wanted = [float(i) ** exponent for i in range(first, first + count)]
        np.testing.assert_allclose(found, wanted, rtol=4e-15)
    parts = [powers(1, 10, exponent), powers(11, 23, exponent)]
    assert np.array_equal(np.concatenate(parts), powers(1, 23, exponent))
