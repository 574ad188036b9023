"""Theorem 8 of `momentum`: Algorithm 2 is (z, 3 z / (2 sigma^2))-Renyi private; the multiplier for (eps, delta)."""

from __future__ import annotations

import math

from dpexp.theory.momentum.theorem4 import theorem4_rdp, theorem4_sigma, theorem4_sigma_best_order


def theorem8_rdp(sigma: float, order: float) -> float:
    """Renyi divergence of the given order: 3 order / (2 sigma^2), that of sqrt(3) / sigma-GDP."""
    return 3 * theorem4_rdp(sigma, order)


def theorem8_sigma(eps: float, delta: float) -> float:
    """The printed sigma = 4 sqrt(log(1 / delta)) / eps. Raises ValueError unless eps > 0 and 0 < delta < 1."""
    return 2 * theorem4_sigma(eps, delta)


def theorem8_sigma_best_order(eps: float, delta: float) -> float:
    """The smallest sigma that Mironov's conversion yields, over all orders: sqrt(3) times that of Theorem 4."""
    return math.sqrt(3) * theorem4_sigma_best_order(eps, delta)
