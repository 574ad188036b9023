"""Powers of the numbers of steps, which are the same bits on every machine."""

import numpy as np
import pytest

from dpexp.engine.lanes.vectormath import powers


@pytest.mark.parametrize("exponent", [0.0, -1 / 3, -0.4, -0.5, -0.8, -1.0])
def test_powers_of_steps(exponent):
    for first, count in ((1, 1), (1, 1000), (7, 13), (10**9, 100)):
        found = powers(first, first + count - 1, exponent)
        wanted = [float(i) ** exponent for i in range(first, first + count)]
        np.testing.assert_allclose(found, wanted, rtol=4e-15)
    parts = [powers(1, 10, exponent), powers(11, 23, exponent)]
    assert np.array_equal(np.concatenate(parts), powers(1, 23, exponent))
