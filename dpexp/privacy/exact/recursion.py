"""Linear statistics of quadratic losses without walls: the last iterate and the average, as Gaussian mixtures.

y_{t+1} = c y_t + included_t d + N(0, 1), y_0 = 0. A statistic sum_t a_t y_t is sum_s w_s (included_s d + N_s), with
w_s = c^(T-1-s) for the last iterate and w_s = (1 + c + ... + c^(T-1-s)) / T for the average of y_1 ... y_T. Given the
pattern of inclusions it is normal with variance sum w_s^2 and mean d sum of w_s over the included s.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Literal

import numpy as np

from dpexp.privacy.exact.linear import LinearLaw, Uses
from dpexp.privacy.exact.update import Sampling

Statistic = Literal["last-iterate", "average"]
MOST_PATTERNS = 12
"""steps up to which all patterns of random inclusions are listed"""


def weights(statistic: Statistic, contraction: float, steps: int) -> np.ndarray:
    """What one step's noise, or record, contributes: [T]."""
    powers = contraction ** np.arange(steps - 1, -1, -1.0)
    if statistic == "last-iterate":
        return powers
    return np.cumsum(powers[::-1])[::-1] / steps


def patterns(
    sampling: Sampling, w: np.ndarray, q: float, batches: int, position: int = 0
) -> tuple[np.ndarray, np.ndarray] | None:
    """Sums of weights of the included steps and their log probabilities; None where they are too many to list."""
    steps = len(w)
    at = np.arange(steps) % batches
    if sampling == "full-batch" or q == 1:
        return np.array([w.sum()]), np.zeros(1)
    if sampling == "cyclic":
        return np.array([w[at == position].sum()]), np.zeros(1)
    if sampling == "shuffled":
        return np.array([w[at == j].sum() for j in range(batches)]), np.full(batches, -math.log(batches))
    if sampling == "reshuffled" or steps > MOST_PATTERNS:
        return None
    rows = np.array(list(product((0.0, 1.0), repeat=steps)))
    used = rows.sum(axis=1)
    return rows @ w, used * math.log(q) + (steps - used) * math.log1p(-q)


def statistic_law(
    statistic: Statistic,
    sampling: Sampling,
    replaced: bool,
    q: float,
    multiplier: float,
    contraction: float,
    steps: int,
    batches: int = 1,
    position: int = 0,
) -> LinearLaw | None:
    """The pair's law of the statistic: the record moves a step by 1 / multiplier, against the opposite or nothing."""
    w = weights(statistic, contraction, steps)
    listed = patterns(sampling, w, q, batches, position)
    if listed is None:
        return None
    order = np.argsort(listed[0])
    step = 1 / multiplier
    return LinearLaw(Uses(listed[0][order], listed[1][order]), step, -step if replaced else 0.0, float(w @ w))
