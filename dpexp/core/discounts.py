"""Powers of a number below one, to the last digits: the weights of gradients in a momentum."""

from __future__ import annotations

import math

import numpy as np


def discounts(alpha: float, count: int) -> np.ndarray:
    """(1 - alpha)^k for k = 0..count - 1, 0 < alpha <= 1: the weights of gradients in a momentum.

    (1 - alpha)^k = exp(k log(1 - alpha)), by log1p so that tiny alpha keep their digits. Two short lists are made by
    the exp of a number, and one multiplication puts them together: k = i B + j gives exp(i B rate) exp(j rate). Where
    the power is at least 1e-300, its relative error is at most 2^-53 (3 + 3 |log|) < 3e-13: an exponent is a product of
    two rounded numbers, and its relative error counts as often as it is large.
    """
    if alpha == 1:
        return np.asarray(np.arange(count) == 0, dtype=float)
    # B = `length` is the root of the count, so that the two lists are the shortest
    rate, length = math.log1p(-alpha), math.isqrt(max(0, count - 1)) + 1
    near = np.array([math.exp(rate * j) for j in range(length)])
    far = np.array([math.exp(rate * (length * i)) for i in range(-(-count // length))])
    return np.asarray(np.multiply.outer(far, near).ravel()[:count])
