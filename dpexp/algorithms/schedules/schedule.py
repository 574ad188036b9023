"""What a schedule is: the step size eta_i of every step i = 1, 2, ..."""

from __future__ import annotations

import numpy as np

from dpexp.core.parameters import Parameters


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
