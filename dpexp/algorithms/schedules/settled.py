"""Step sizes that are settled by theorems, for the losses or by the algorithm."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dpexp.algorithms.schedules.schedule import Schedule


class Prescribed(Schedule):
    """Steps, step size and momentum as the algorithm's own theorem sets them, for its N, d, epsilon and delta."""

    name: Literal["prescribed"] = "prescribed"


class LangevinSchedule(Schedule):
    """eta_k = 1 / (2 beta), or decreasing 1 / (2 beta + lambda k / 2), of step k + 1 (`dp-sgld`, section 4).

    beta and lambda are those of the losses; step sizes are known after `for_losses`.
    """

    name: Literal["langevin"] = "langevin"
    decreasing: bool = False

    def for_losses(self, smoothness: float, strong_convexity: float) -> Schedule:
        lam = strong_convexity if self.decreasing else 0.0
        return _SettledLangevin(name="langevin", smoothness=smoothness, strong_convexity=lam)


class _SettledLangevin(Schedule):
    """`LangevinSchedule` for certain losses."""

    smoothness: float
    strong_convexity: float

    def step_sizes(self, first: int, last: int) -> np.ndarray:
        return 1 / (2 * self.smoothness + self.strong_convexity * np.arange(first - 1, last, dtype=np.float64) / 2)
