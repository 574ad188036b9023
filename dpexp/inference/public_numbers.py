"""Public numbers that enter runs, alike on every machine: critical values, and how guesses and targets are rounded.

Exponentials of numpy and of the C library, and products by BLAS, differ in their last digits from one machine to the
next. What is public and enters every run (guesses of H and S, true targets, critical values) comes from them, with
errors of 1e-14. Rounded to 32 binary digits they are the same numbers, unless one lies within 1e-14 of where the
rounding turns: 1 in 10,000 for each number.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TypeVar

import numpy as np

from dpexp.core.roots import root

# roundings are 1e-10, and nothing that is guessed or simulated is known so well
KEPT = 32
"""binary digits of 53"""

T = TypeVar("T", float, np.ndarray)


def rounded(value: T) -> T:
    """The nearest numbers of 32 binary digits, by Veltkamp's splitting: sums and products, which are alike everywhere.

    Numbers are below 1e300.
    """
    scaled = value * (2.0 ** (53 - KEPT) + 1)
    # with t = (2^21 + 1) x, the rounding of t - (t - x) leaves 53 - 21 digits of x
    return scaled - (scaled - value)


def normal(level: float) -> float:
    """Of the standard normal law."""
    from scipy.special import ndtri

    return rounded(float(ndtri((1 + level) / 2)))


def student(level: float, degrees: int) -> float:
    """Of Student's law."""
    from scipy.special import stdtrit

    return rounded(float(stdtrit(degrees, (1 + level) / 2)))


@lru_cache(maxsize=32)
def random_scaling(level: float) -> float:
    """Of t = W(1) / sqrt(int_0^1 (W(r) - r W(1))^2 dr), the law of random scaling; 6.747302 at 95%."""
    return rounded(root(lambda q: random_scaling_tail(q) - (1 - level), 0.05, 1e3, xtol=1e-12))


def random_scaling_tail(q: float) -> float:
    """P(|t| > q), by the inversion of Gil-Pelaez (inference, section 4.1)."""
    from scipy.integrate import quad

    def density(v: float) -> float:
        """At u = v^2: smooth in v, and it falls like exp(-q v / 2)."""
        u = v * v
        y = np.sqrt(2j * u) * q
        # log(sinh y / y) in a form that neither overflows nor jumps between branches: Re y > 0.
        log_ratio = y + np.log1p(-np.exp(-2 * y)) - np.log(2 * y)
        return float(2 * ((1 - 2j * u) ** -0.5 * np.exp(-log_ratio / 2)).imag / v)

    # t = Z / sqrt(A) with A = sum_k chi2_1 / (pi k)^2 independent of Z ~ N(0, 1), so P(|t| > q) = P(Z^2 - q^2 A > 0) =
    # 1/2 + (1/pi) int_0^inf Im phi(u) / u du with phi(u) = (1 - 2iu)^(-1/2) (y / sinh y)^(1/2), y = sqrt(2iu) q
    return 0.5 + quad(density, 0, 90 / q, epsabs=1e-14, epsrel=1e-13, limit=400)[0] / math.pi
