"""The compiled loop of `dpexp.inference.newton.regularise`: Newton's steps for the trace of every matrix by itself."""

from __future__ import annotations

import math

from dpexp.engine.compiled import compiled

NEWTON_STEPS = 30
"""at most; each squares what is missing once it is small. Six to ten are enough"""


@compiled(kept=True, error_model="numpy")
def fixed_points(values, halves, out):
    """Write the eigenvalues of G to out [R, p], for those of Hc, values [R, p], and halves se_H^2 / 2 [R]."""
    for number in range(len(halves)):
        half, trace = halves[number], 0.0
        for _ in range(NEWTON_STEPS):
            total, slope = 0.0, 0.0
            for value in values[number]:
                b = value + half * trace
                root = math.sqrt(b * b + 4 * half)
                g = 2 / (b + root)
                total += g
                slope += half * g / root  # -dg/dt = half g / root
            nearer = trace + (total - trace) / (1 + slope)
            if nearer == trace:  # no further step changes a digit
                break
            trace = nearer
        for j in range(values.shape[1]):
            b = values[number, j] + half * trace
            out[number, j] = 2 / (b + math.sqrt(b * b + 4 * half))
