"""The setting of the figure of `hidden-state`, its composition baselines in two readings, and where they cross.

dia(W) = 1, C = 1, eta = 0.01, sigma = 1, p = 0.001.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from dpexp.accounting.loss_steps import StepLoss, step_loss
from dpexp.privacy.analyses.hidden_state import last_iterate_delta

DIAMETER, CLIP, STEP_SIZE, NOISE, Q = 1.0, 1.0, 0.01, 1.0, 0.001
REACH = (DIAMETER + 2 * STEP_SIZE * CLIP) / NOISE
CLOSE = 0.02
"""relative error of the steps at a crossing"""


def same_mechanism() -> StepLoss:
    """A step of the figure's mechanism, batches of one: record step eta C, fixed batch size, one record replaced."""
    # the batch size is not given: batches of one record are taken, for which the record's step is largest (with b
    # records the steps at a crossing grow by b^2)
    return step_loss(Q, NOISE / (2 * STEP_SIZE * CLIP), "fixed-size")


def eta_forgotten() -> StepLoss:
    """An accountant with noise multiplier sigma / C, which forgets eta: Poisson, one record added or removed."""
    return step_loss(Q, NOISE / CLIP, "add-remove")


def limit(eps: float) -> float:
    """The bound's delta as T grows."""
    return last_iterate_delta(eps, REACH, Q, math.inf)


def crossing(composed: Callable[[int], float], level: float, first: tuple[int, int] = (1, 16)) -> float:
    """The steps, to 2%, at which an increasing delta of T steps reaches `level`; inf beyond 2^33 steps.

    `first` is where to begin to look: delta is below the level at its lower end.
    """
    from scipy.optimize import brentq

    low, high = first
    # a delta of 10^9 steps takes half a second, so that none is asked for twice
    excess = cache(lambda t: math.log(max(composed(t), 1e-300) / level))
    while excess(high) < 0:
        low, high = high, 16 * high
        if high > 1 << 33:
            return math.inf

    def at(log_steps: float) -> float:
        """The excess at the nearest whole number; the closest ones on either side are kept."""
        nonlocal low, high
        steps = min(max(round(math.exp(log_steps)), low), high)
        if excess(steps) < 0:
            low = steps
        else:
            high = steps
        return excess(steps)

    near = brentq(at, math.log(low), math.log(high), xtol=CLOSE / 4)  # log delta against log T is smooth
    # the root was approached from one side alone
    if math.log(high) > near + CLOSE / 2:
        at(near + CLOSE / 3)
    if math.log(low) < near - CLOSE / 2:
        at(near - CLOSE / 3)
    # what the root left open is halved, on the scale of logarithms
    while high > low + 1 and high > low * (1 + CLOSE):
        at(math.log(low * high) / 2)
    return float(high)
