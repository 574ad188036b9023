"""Powers of 1 - alpha have their digits, however many and however small alpha is."""

import mpmath
import numpy as np
import pytest

from dpexp.engine.finite_sum.discounts import discounts


@pytest.mark.parametrize("alpha", [1e-9, 1e-3, 0.3, 1 - 1e-12, 1.0])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 1001])
def test_discounts_are_powers_of_one_minus_alpha(alpha, count):
    """Beside powers in 50 digits."""
    with mpmath.workdps(50):
        powers = [float((1 - mpmath.mpf(alpha)) ** k) for k in range(count)]
    assert discounts(alpha, count) == pytest.approx(np.array(powers), rel=3e-13, abs=1e-300)
