"""The full-batch recursion over gradients: a composition of Gaussian steps of two sensitivities, and their noise."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Size, Steps


class NoisyGradientRecursion(Mechanism):
    """T steps of length `step_size`; noise is split between the first step and the others (`recursion_stds`)."""

    noise_field: ClassVar[str] = "sigma"
    noise_for_all_steps: ClassVar[bool] = True
    n: Records
    steps: Steps
    step_size: Size
    weight: Annotated[float, Field(gt=0, le=1)]
    """gamma, the weight of the newest gradient"""
    lipschitz: Size
    smoothness: Size
    sigma: Noise
    """multiplier of the whole run: it is 1 / sigma-GDP"""

    def upper_bounds(self) -> list[Analysis]:
        mu = 0.0 if self.steps == 0 else math.inf if self.sigma == 0 else 1 / self.sigma
        assumptions = ("noise is Gaussian and fresh in every step", "gradients have Lipschitz constant `smoothness`")
        source = "adaptive composition of Gaussian steps, exact"
        return [gaussian_analysis("exact-sensitivities", source, ALL, mu, assumptions)]

    def description(self) -> list[tuple[str, str]]:
        return [
            ("Protected", "every record against who sees all iterates; neighbours: replace-one"),
            ("Noise", f"{self.sigma:g} times the sensitivity of the whole run"),
            ("Released", f"all {self.steps:,} noisy estimates, and therefore every iterate"),
        ]


def recursion_sensitivities(n: int, G: float, L: float, eta: float, gamma: float) -> tuple[float, float]:
    """What replacing a record changes: 2 G / N in the first step, (2 (1 - gamma) L eta + 2 gamma G) / N in a later one.

    Steps have length eta exactly. Both are sensitivities at the same iterates, as adaptive composition needs.
    """
    return 2 * G / n, (2 * (1 - gamma) * L * eta + 2 * gamma * G) / n


def recursion_coefficients(steps: int, gamma: float) -> tuple[float, float]:
    """Mean over t of the variance that unit noise in the first step, and in all later ones, leaves in e_t."""
    # e_t = (1 - gamma) e_{t-1} + noise: a step's noise fades by (1 - gamma)^2 in variance, and these are means of
    # geometric sums
    fade = (1 - gamma) ** 2
    kept = steps if fade == 1 else (1 - fade**steps) / (1 - fade)
    if fade == 1:
        return 1.0, (steps - 1) / 2
    return kept / steps, (steps - kept) / ((1 - fade) * steps)


def recursion_stds(n: int, G: float, L: float, steps: int, eta: float, gamma: float) -> tuple[float, float]:
    """Deviations of the noise of the first and of every later step that minimise the mean variance at mu = 1.

    The constraint is a_1^2 / s_1^2 + (T - 1) a^2 / s^2 = 1. Raises ValueError for steps < 1.
    """
    if steps < 1:
        raise ValueError(f"T={steps}: need at least one step")
    first, later = recursion_sensitivities(n, G, L, eta, gamma)
    if steps == 1:
        return first, 0.0
    # by Lagrange s^2 is proportional to the root of cost over weight, and the constraint gives the factor
    costs = first**2, (steps - 1) * later**2
    weights = recursion_coefficients(steps, gamma)
    total = sum(math.sqrt(cost * weight) for cost, weight in zip(costs, weights, strict=True))
    one, other = (math.sqrt(math.sqrt(cost / weight) * total) for cost, weight in zip(costs, weights, strict=True))
    return one, other
