"""At which steps a run is recorded."""

from __future__ import annotations

import math

import numpy as np


def checkpoint_steps(n: int, checkpoints: int) -> np.ndarray:
    """Increasing steps from 1 to n, ends included, evenly on a log scale; int64 [min(n, checkpoints)] or fewer."""
    if checkpoints == 1:
        return np.array([n])
    if checkpoints >= n:
        return np.arange(1, n + 1)
    # the first steps of such a grid fall on the same whole numbers, so it is refined until enough of them differ
    points, last = checkpoints, 0
    while (found := _distinct(n, points)) <= checkpoints:
        last = points
        if found == checkpoints:
            break
        points += checkpoints - found
    return np.unique(np.geomspace(1, n, last).round().astype(np.int64))


_AROUND = 32
"""points on each side of the place where the grid's gaps pass 1 that are looked at one by one"""


def _distinct(n: int, points: int) -> int:
    """How many whole numbers the rounded grid of so many points from 1 to n meets, 2 <= points; O(1) time.

    (a) Gaps grow with the ratio r of neighbours: they are below 1 up to x = 1 / (r - 1), so that no whole number is
    left out there, (b) and above 1 beyond, so that all points round to different ones. (c) Only points around x are
    rounded.
    """
    rate = math.log(n) / (points - 1)
    # (a)
    middle = -math.log(math.expm1(rate)) / rate
    low = min(max(0, math.floor(middle) - _AROUND), points - 1)
    high = min(max(0, math.ceil(middle) + _AROUND), points - 1)
    # (c), as np.geomspace has them
    near = 10.0 ** (np.arange(low, high + 1) * (np.log10(n) / (points - 1)))
    if high == points - 1:
        near[-1] = n
    met = np.unique(near.round())
    # whole numbers below the first that is met: (a); points above the last: (b)
    return int(met[0]) + len(met) - 1 + points - 1 - high
