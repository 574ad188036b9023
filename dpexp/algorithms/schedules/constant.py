"""One step size for all steps: a number, or a length of the path over their number."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dpexp.algorithms.schedules.schedule import Schedule
from dpexp.core.parameters import Positive, StepSize


class Constant(Schedule):
    """eta_i = eta."""

    name: Literal["constant"] = "constant"
    eta: StepSize = 0.2

    def step_sizes(self, first: int, last: int) -> np.ndarray:
        return np.full(last - first + 1, self.eta)

    def step_size(self, steps: int) -> float:
        return self.eta


class PathLength(Schedule):
    """eta_i = length / T: after T normalised steps no iterate is further than `length` from the first one."""

    name: Literal["path-length"] = "path-length"
    length: Positive = 2.2

    def step_size(self, steps: int) -> float:
        return self.length / steps
