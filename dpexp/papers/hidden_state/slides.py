"""The setting of the figure of `hidden-state`, its composition baselines in two readings, and where they cross.

dia(W) = 1, C = 1, eta = 0.01, sigma = 1, p = 0.001.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpexp.accounting.loss_steps import StepLoss, step_loss
from dpexp.accounting.search import narrow
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
    low, high = first
    while composed(high) < level:
        low, high = high, 16 * high
        if high > 1 << 33:
            return math.inf
    # a delta of 10^9 steps takes half a second: few of them, on the scale of logarithms
    end = narrow(lambda log_steps: composed(round(math.exp(log_steps))) >= level, math.log(low), math.log(high),
                 absolute=CLOSE)  # fmt: skip
    return float(round(math.exp(end.above)))
