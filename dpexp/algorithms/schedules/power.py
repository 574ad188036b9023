"""Step sizes that fall like a power of the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.schedules.schedule import Schedule
from dpexp.core.parameters import StepSize

_BY_ARITHMETIC: dict[float, Callable[[np.ndarray], np.ndarray]] = {0.0: np.ones_like, 0.5: np.sqrt, 1.0: np.positive}
"""i^alpha where it takes no logarithm"""


class Power(Schedule):
    """eta_i = eta * i^-alpha (`ldp-sgd`, Theorems 3 to 6)."""

    name: Literal["power"] = "power"
    eta: StepSize = 0.2
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.5

    def step_sizes(self, first: int, last: int) -> np.ndarray:
        i = np.arange(first, last + 1, dtype=np.float64)
        # numpy's own powers depend on the processor; of these three exponents they are not needed
        if self.alpha in _BY_ARITHMETIC:
            return self.eta / _BY_ARITHMETIC[self.alpha](i)
        from dpexp.engine.lanes.vectormath import powers

        return self.eta * powers(first, last, -self.alpha)
