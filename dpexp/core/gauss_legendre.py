"""Gauss-Legendre rules whose nodes and weights are right to the last bit, on every machine.

All is done with thirty digits.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np

_DIGITS = 30


@lru_cache(maxsize=64)
def _rule(count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Nodes in (-1, 1), increasing, and weights, by Newton's method from Tricomi's first guess."""
    positive = []
    # numpy finds the nodes as eigenvalues, whose last bits depend on the library for linear algebra and on the
    # processor, and a weight loses digits of its node: for 24 nodes it has an error of 1e-13
    with localcontext(Context(prec=_DIGITS)):
        for k in range(1, (count + 1) // 2 + 1):
            x = Decimal(math.cos(math.pi * (k - 0.25) / (count + 0.5)) if 2 * k != count + 1 else 0)
            # the guess has an error of less than 1 / n^3; each step of Newton squares it, and six are more than thirty
            # digits need
            for _ in range(6):
                value, slope = _legendre(count, x)
                x -= value / slope
            # 2 / ((1 - x^2) P_n'(x)^2) (Abramowitz and Stegun, 25.4.29)
            weight = 2 / ((1 - x * x) * _legendre(count, x)[1] ** 2)
            positive.append((float(x), float(weight)))
    pairs = [(-x, w) for x, w in positive] + positive[: count // 2][::-1]
    return tuple(x + 0.0 for x, _ in pairs), tuple(w for _, w in pairs)


def _legendre(n: int, x: Decimal) -> tuple[Decimal, Decimal]:
    """P_n(x) and its slope, for n >= 1 and |x| < 1."""
    # from k P_k = (2 k - 1) x P_{k-1} - (k - 1) P_{k-2} and (1 - x^2) P_n' = n (P_{n-1} - x P_n)
    before, value = Decimal(1), x
    for k in range(2, n + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    return value, n * (before - x * value) / (1 - x * x)


def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights [count] of the rule that integrates polynomials of degree 2 count - 1 over (-1, 1)."""
    nodes, weights = _rule(count)
    return np.array(nodes), np.array(weights)
