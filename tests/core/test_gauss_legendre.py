"""Gauss-Legendre rules beside numpy's, and beside the integrals that they have to get right."""

from fractions import Fraction

import numpy as np
import pytest

from dpexp.core.gauss_legendre import gauss_legendre


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 12, 16, 24, 63])
def test_polynomials_are_integrated_to_the_last_digits(count):
    """In exact arithmetic, so that only the rounding of nodes and weights is left."""
    nodes, weights = ([Fraction(float(v)) for v in part] for part in gauss_legendre(count))
    for degree in {0, 2 * (count // 2), 2 * count - 2}:
        found = sum(w * x**degree for x, w in zip(nodes, weights, strict=True))
        assert float(found) == pytest.approx(2 / (degree + 1), rel=(degree + 1) * 2e-16, abs=0)
    assert nodes == sorted(nodes)
    assert nodes == [-x for x in reversed(nodes)]


@pytest.mark.parametrize("count", [1, 2, 5, 12, 16, 24, 64])
def test_they_are_numpys(count):
    nodes, weights = np.polynomial.legendre.leggauss(count)
    found = gauss_legendre(count)
    np.testing.assert_allclose(found[0], nodes, rtol=0, atol=3e-16)
    np.testing.assert_allclose(found[1], weights, rtol=2e-12)
