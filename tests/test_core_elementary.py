"""Elementary functions of arrays, beside numbers of fifty digits."""

import mpmath
import numpy as np
import pytest

from dpexp.core.elementary import exp, log, power

EPS = 2.0**-52


def wanted(function, x):
    with mpmath.workdps(50):
        return np.array([float(function(mpmath.mpf(float(v)))) for v in x])


def test_logarithms():
    x = np.concatenate(
        [np.arange(1, 200.0), np.exp(np.random.default_rng(1).uniform(-744, 709, 300)), 1 + EPS * np.arange(9)]
    )
    truth = wanted(mpmath.log, x)
    assert np.abs(log(x) - truth).max() <= 1.5 * EPS * np.abs(truth).max()
    assert (np.abs(log(x) - truth) <= 1.5 * EPS * np.abs(truth)).all()
    assert log(np.array([1.0])) == 0


def test_exponentials():
    x = np.concatenate([np.random.default_rng(2).uniform(-700, 709, 300), [0.0, -0.0, 1e-300, 709.7]])
    truth = wanted(mpmath.exp, x)
    assert (np.abs(exp(x) / truth - 1) <= 1.5 * EPS).all()
    assert exp(np.array([-800.0, -np.inf])).tolist() == [0.0, 0.0]
    assert exp(np.array([0.0])) == 1


@pytest.mark.parametrize("exponent", [-1 / 3, -2 / 3, -0.9, -0.5, -1.0, 0.0, 0.5, 1.0, 2.0, 0.7])
def test_powers(exponent):
    """The product with the logarithm is rounded once, which is all but a unit of the error."""
    x = np.concatenate([np.arange(1, 50.0), np.geomspace(50, 1e9, 200)])
    truth = wanted(lambda v: v ** mpmath.mpf(exponent), x)
    error = np.abs(power(x, exponent) / truth - 1)
    assert (error <= EPS * (2 + 2 * abs(exponent) * np.log(x))).all()
    assert error.max() < 1e-14
