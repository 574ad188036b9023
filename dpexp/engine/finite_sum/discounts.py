"""Powers of 1 - alpha, the weight of a gradient in the momentum: the same bits on every machine, and no loss of digits.

(1 - alpha)^k = exp(k log(1 - alpha)), by log1p so that tiny alpha keep their digits. numpy's exp of an array has other
last digits on other processors; the exp of a number is that of the C library. So two short lists of it are made, and
one multiplication puts them together: k = i B + j gives (1 - alpha)^k = exp(i B rate) exp(j rate). Where the power is
at least 1e-300, its relative error is at most 2^-53 (3 + 3 |log|) < 3e-13: an exponent is a product of two rounded
numbers, and its relative error counts as often as it is large.
"""

from __future__ import annotations

import math

import numpy as np


def discounts(alpha: float, count: int) -> np.ndarray:
    """(1 - alpha)^k for k = 0..count - 1, 0 < alpha <= 1."""
    if alpha == 1:
        return (np.arange(count) == 0).astype(float)
    rate, length = math.log1p(-alpha), math.isqrt(max(0, count - 1)) + 1
    near = np.array([math.exp(rate * j) for j in range(length)])
    far = np.array([math.exp(rate * (length * i)) for i in range(-(-count // length))])
    return np.multiply.outer(far, near).ravel()[:count]
