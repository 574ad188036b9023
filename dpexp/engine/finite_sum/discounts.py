"""Powers of a number below one, to the last digits: the weights of gradients in a momentum."""

import math

import numpy as np


def discounts(alpha: float, count: int) -> np.ndarray:
    """(1 - alpha)^k for k = 0..count - 1, 0 < alpha <= 1; relative error below 3e-13 where it is at least 1e-300.

    k = i B + j gives exp(i B rate) exp(j rate) with rate = log1p(-alpha): two short lists by the exp of a number, whose
    bits, unlike those of numpy's exp, are the same on every processor.
    """
    if alpha == 1:
        return np.asarray(np.arange(count) == 0, dtype=float)
    rate, length = math.log1p(-alpha), math.isqrt(max(0, count - 1)) + 1
    near = np.array([math.exp(rate * j) for j in range(length)])
    far = np.array([math.exp(rate * (length * i)) for i in range(-(-count // length))])
    return np.asarray(np.multiply.outer(far, near).ravel()[:count])
