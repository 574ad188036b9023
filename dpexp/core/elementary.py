"""Logarithm, exponential and powers of arrays, with the same bits on every machine.

Those of numpy have other versions for processors with AVX-512, whose last digits differ. Here they are sums, products
and quotients in one order, which IEEE 754 rounds alike everywhere. `dpexp.engine.lanes.vectormath` has the same series
for compiled code.
"""

from __future__ import annotations

import math

import numpy as np

_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 in two parts, the first short enough that its product with an exponent is exact"""
_LOG2_E = 1.4426950408889634
_ARTANH = tuple(1 / (2 * k + 1) for k in range(1, 11))
_EXP = tuple(1 / math.factorial(k) for k in range(15))


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """sum c_k x^k, by Horner's rule."""
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= x
        total += c
    return total


def log(x: np.ndarray) -> np.ndarray:
    """Natural logarithms of positive finite numbers: x = 2^k m with m in [sqrt(1/2), sqrt 2), log m = 2 artanh f.

    f = (m - 1) / (m + 1) is at most .172, so that the series ends at f^21 / 21 < 1e-17.
    """
    m, k = np.frexp(np.asarray(x, dtype=np.float64))
    small = m < 0.7071067811865476
    m, k = np.where(small, 2 * m, m), np.where(small, k - 1, k).astype(np.float64)
    f = (m - 1.0) / (m + 1.0)
    s = f * f
    return np.asarray(k * _LN2_HIGH + (2.0 * f + (2.0 * f * s * _polynomial(s, _ARTANH) + k * _LN2_LOW)))


def exp(x: np.ndarray) -> np.ndarray:
    """Exponentials of numbers up to 709.78, beyond which they are infinite.

    x = k log 2 + r with |r| <= log(2) / 2, so that the series ends at r^15 / 15! < 2e-19.
    """
    x = np.clip(np.asarray(x, dtype=np.float64), -746.0, 710.0)  # beyond, it is 0 and infinity
    k = np.rint(x * _LOG2_E)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    return np.asarray(np.ldexp(_polynomial(r, _EXP), k.astype(np.int32)))


def power(x: np.ndarray, exponent: float) -> np.ndarray:
    """x^exponent of positive numbers; the relative error is at most a few units of 1e-16 times |exponent log x|."""
    if exponent in (0.5, -0.5):
        root = np.asarray(np.sqrt(x))
        return root if exponent > 0 else 1 / root
    return np.asarray(x**exponent) if exponent in (0.0, 1.0, -1.0, 2.0) else exp(exponent * log(x))
