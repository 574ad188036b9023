"""SCHEDULES: the step size eta_i of every step i = 1, 2, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from dpexp.core.parameters import Parameters, Positive, Registry, StepSize

_BY_ARITHMETIC: dict[float, Callable[[np.ndarray], np.ndarray]] = {0.0: np.ones_like, 0.5: np.sqrt, 1.0: np.positive}
"""i^alpha where it takes no logarithm"""


class Schedule(Parameters):
    """A rule that gives every step its step size."""

    name: str

    def step_sizes(self, first: int, last: int) -> np.ndarray:
        """Step sizes of the steps first..last, both included (1-based), as float64 [last - first + 1].

        Raises NotImplementedError for a schedule that only its algorithm can settle.
        """
        raise NotImplementedError(f"schedule {self.name} is settled by its algorithm")

    def step_size(self, steps: int) -> float:
        """The one step size of a run of so many steps. Raises NotImplementedError where step sizes differ."""
        raise NotImplementedError(f"schedule {self.name} has no one step size")

    def for_losses(self, smoothness: float, strong_convexity: float) -> Schedule:
        """The schedule with its step sizes known, for losses of this smoothness and strong convexity."""
        return self


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


SCHEDULES: Registry[type[Schedule]] = Registry(
    "schedule",
    {
        "power": Power,
        "constant": Constant,
        "langevin": LangevinSchedule,
        "prescribed": Prescribed,
        "path-length": PathLength,
    },
)
