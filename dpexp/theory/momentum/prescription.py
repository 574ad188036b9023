"""What Theorems 6 and 9 of `momentum` prescribe: a number of steps, a momentum, a step size and a mixing weight."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Prescription:
    """A prescribed schedule for N records; both theorems give alpha = 1 / N, up to rounding in the last digit."""

    steps: int
    """T, rounded; may be far beyond anything that can be run"""
    exact_steps: float
    """T before rounding, at which alpha is evaluated"""
    alpha: float
    """momentum: the weight of the newest gradient"""
    eta: float
    """step size 1 / sqrt(N T), at the rounded T"""
    gamma: float
    """cross-epoch weight of Algorithm 2; 1 in Algorithm 1, which has none"""
    refused: str = ""
    """why the theorem's own conditions fail; empty when they hold"""

    @property
    def feasible(self) -> bool:
        """Whether the theorem's conditions on the schedule hold."""
        return not self.refused

    @property
    def path_length(self) -> float:
        """eta T: no iterate is further than that from the first one."""
        return self.eta * self.steps


def require_problem(N: int, d: int, eps: float, delta: float) -> None:
    """Raises ValueError unless N >= 1, d >= 1, eps > 0 finite and 0 < delta < 1."""
    if N < 1 or d < 1 or not 0 < eps < math.inf or not 0 < delta < 1:
        raise ValueError(f"N={N}, d={d}, eps={eps}, delta={delta}: need N, d >= 1, eps > 0 and 0 < delta < 1")
