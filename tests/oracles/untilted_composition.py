"""Composition by a Fourier transform without a tilt: below the truth at delta <= 1e-10, kept so that the judge refutes it.

A transform rounds every cell by about 1e-16 of the largest, which says nothing of cells that are smaller than that: here
they count as empty, and what they hold in truth is missing from every delta. Left as they come, with negative ones set to
zero, the value is above the truth or below it by chance: at (q, noise, steps, delta) = (0.01, 1, 1000, 1e-14), from 2% below
to 14% above, with the length of the transform and the release of the library. That one would be refuted by luck alone.

A step is the chords of its hockey-stick curve on a grid, which are never below it, as in the package; what is wrong is
the sum of many.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.optimize import brentq

from dpexp.accounting.loss_grid import from_above
from dpexp.accounting.pairs import adding, removing

ROUNDING = 1e-14
"""mass of a cell below which it counts as empty: a hundred times the rounding of a transform, so that no library decides"""
STEP_CELLS, CELLS = 20_000, 1 << 17
"""of one step's law above 0, and of the sum's window, which is so wide that nothing comes round to its other end"""


def eps(q: float, noise: float, steps: int, delta: float) -> float:
    """Epsilon of Poisson sampled steps, a record there or not; too small at small deltas."""
    # up to the loss ten deviations beyond the far mean
    far = math.log(q) + (1 / noise + 10.0) / noise - math.log1p(-q)
    interval = float(np.logaddexp(0.0, far)) / STEP_CELLS
    pair = [partial(curve, q=q, mu=1 / noise) for curve in (removing, adding)]
    return max(_of_order(*curves, interval, steps, delta) for curves in (pair, pair[::-1]))


def _of_order(curve: partial, exchanged: partial, interval: float, steps: int, delta: float) -> float:
    step = from_above(curve, exchanged, STEP_CELLS, interval, 0.0)
    one = np.zeros(CELLS)
    one[(step.start + np.arange(len(step.masses))) % CELLS] = step.masses
    law = np.fft.irfft(np.fft.rfft(one) ** steps, CELLS)
    kept = law >= ROUNDING
    losses = interval * np.fft.fftfreq(CELLS, 1 / CELLS)[kept]  # the second half of the window is below 0
    lost = -math.expm1(steps * math.log1p(-step.unbounded))

    def excess(at: float) -> float:
        return float(lost + law[kept] @ np.maximum(-np.expm1(at - losses), 0.0) - delta)

    return float(brentq(excess, 0.0, losses.max())) if excess(0.0) > 0 else 0.0
