"""`random-scaling`: the average over its own random scale, for unknown curvature and unknown noise.

Lee, Liao, Seo and Shin (2022); under local differential privacy in arXiv 2505.08227. With T_s = theta_1 + .. + theta_s,

    bar = T_n / n,   V = n^-2 sum_s s^2 (T_s / s - bar)^2,   bar +- q sqrt(V_jj / n),   q = 6.747302 at 95%

After a burn-in of b steps the sums begin anew: T'_s = T_s - T_b and s' = s - b.
"""

from __future__ import annotations

import numpy as np

from dpexp.inference import critical_values
from dpexp.inference.interval import Interval, symmetric_interval
from dpexp.inference.paths import Snapshot


def random_scaling(end: Snapshot, level: float, burned: Snapshot | None = None) -> Interval:
    """From the sums at the end, and at the end of the burn-in where there is one."""
    total, square, weighted, n = end.sums.total, end.sums.total_square, end.sums.weighted, end.users
    if burned is not None:
        b, start, count = burned.users, burned.sums.total, end.users - burned.users
        linear = end.sums.total_sum - burned.sums.total_sum
        square = square - burned.sums.total_square - 2 * start * linear + count * start**2
        weighted = weighted - burned.sums.weighted - b * linear - start * (count * (count + 1) / 2)
        total, n = total - start, count
    bar = total / n
    steps_square = n * (n + 1) * (2 * n + 1) / 6
    variance = np.maximum(square - 2 * bar * weighted + bar**2 * steps_square, 0.0) / float(n) ** 2
    return symmetric_interval(bar.T, critical_values.random_scaling(level) * np.sqrt(variance / n).T)
