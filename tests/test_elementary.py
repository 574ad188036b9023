"""Elementary functions that give the same bits on every machine."""

import math

import numpy as np
import pytest

from dpexp.core.elementary import exp, log, log1p
from dpexp.engine.lanes.powers import powers


@pytest.mark.parametrize(("function", "one"), [(exp, math.exp), (log, math.log), (log1p, math.log1p)])
def test_each_value_is_that_of_the_system_library(function, one):
    values = np.geomspace(1e-300, 700, 24).reshape(2, 3, 4)
    found = function(values)
    assert found.shape == values.shape
    assert found.ravel().tolist() == [one(v) for v in values.ravel().tolist()]


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize(("function", "library"), [(exp, np.exp), (log, np.log), (log1p, np.log1p)])
def test_ends_are_those_of_numpy(function, library):
    values = [0.0, -0.0, -1.0, -2.0, 1000.0, -1000.0, math.inf, -math.inf, math.nan]
    np.testing.assert_allclose(function(values), library(values), rtol=1e-15)
    assert function(2.0).shape == ()


@pytest.mark.parametrize("exponent", [0.0, -1 / 3, -0.4, -0.5, -0.8, -1.0])
def test_powers_of_steps(exponent):
    for first, count in ((1, 1), (1, 1000), (7, 13), (10**9, 100)):
        found = powers(first, first + count - 1, exponent)
        wanted = [float(i) ** exponent for i in range(first, first + count)]
        np.testing.assert_allclose(found, wanted, rtol=4e-15)
    parts = [powers(1, 10, exponent), powers(11, 23, exponent)]
    assert np.array_equal(np.concatenate(parts), powers(1, 23, exponent))
