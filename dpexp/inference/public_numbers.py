"""Public numbers that enter runs, alike on every machine: critical values, and how guesses and targets are rounded.

Exponentials of numpy and of the C library, and products by BLAS, differ in their last digits from one machine to the
next. What is public and enters every run (guesses of H and S, true targets, critical values) comes from them, with
errors of 1e-14. Rounded to 32 binary digits they are the same numbers, unless one is within 1e-14 of where the
rounding turns: 1 in 10,000 for each number.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

# roundings are 1e-10, and nothing that is guessed or simulated is known so well
DIGITS = 32
"""binary digits of 53"""

T = TypeVar("T", float, np.ndarray)


def rounded(value: T) -> T:
    """The nearest numbers of 32 binary digits, by Veltkamp's splitting: sums and products, which are alike everywhere.

    Numbers are below 1e300.
    """
    scaled = value * (2.0 ** (53 - DIGITS) + 1)
    # with t = (2^21 + 1) x, the rounding of t - (t - x) leaves 53 - 21 digits of x
    return scaled - (scaled - value)


def normal(level: float) -> float:
    """Of the standard normal law."""
    from scipy.special import ndtri

    return rounded(float(ndtri((1 + level) / 2)))
