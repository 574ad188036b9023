"""Public numbers that come from quadratures, rounded so that every machine has the same ones.

Exponentials of numpy and of the C library, and products by BLAS, differ in their last digits from one machine to the
next. What is public and enters every run (guesses of H and S, true targets, critical values) comes from them, with
errors of 1e-14. Rounded to 32 binary digits they are the same numbers, unless one lies within 1e-14 of where the
rounding turns: 1 in 10,000 for each number. Roundings are 1e-10, and nothing that is guessed or simulated is known
so well.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

KEPT = 32
"""binary digits of 53"""

T = TypeVar("T", float, np.ndarray)


def rounded(value: T) -> T:
    """The nearest numbers of 32 binary digits, by Veltkamp's splitting: sums and products, which are alike everywhere.

    With t = (2^21 + 1) x, the rounding of t - (t - x) leaves 53 - 21 digits of x. Numbers are below 1e300.
    """
    scaled = value * (2.0 ** (53 - KEPT) + 1)
    return scaled - (scaled - value)
