"""The function psi_beta that all bounds of `ldp-sgd` are written with, and the sum that it stands for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def psi(beta: float, t: ArrayLike) -> np.ndarray:
    """psi_beta(t) = (t^beta - 1) / beta for t > 0, continuous in beta: log t at beta = 0 (`ldp-sgd`, section 4.1).

    The printed definition leaves beta = 0 out. Shape of t; raises ValueError for t <= 0.
    """
    t = np.asarray(t, dtype=np.float64)
    if not np.all(t > 0):
        raise ValueError(f"t must be positive, not {t.min()}")
    # expm1 keeps the digits of a small beta
    log_t = np.log(t)
    return log_t if abs(beta) < 1e-12 else np.expm1(beta * log_t) / beta


def power_sum(exponent: float, steps: np.ndarray) -> np.ndarray:
    """A_s(n) = 1 + 2^-s + ... + n^-s at every n of `steps` [K] (whole numbers >= 0, in any order), s = `exponent`."""
    steps = np.asarray(steps, dtype=np.int64)
    sums, total, low = np.empty(len(steps)), 0.0, 0
    # one pass over all terms, of which a million are in memory at a time
    for position in np.argsort(steps):
        for first in range(low + 1, int(steps[position]) + 1, 1 << 20):
            last = min(first + (1 << 20) - 1, int(steps[position]))
            total += float(np.sum(np.arange(first, last + 1, dtype=np.float64) ** -exponent))
        low = int(steps[position])
        sums[position] = total
    return sums
