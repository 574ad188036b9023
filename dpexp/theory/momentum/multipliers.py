"""Theorems 4 and 8 of `momentum`: the Renyi loss of both algorithms over 1 / sigma^2, and sigma for (eps, delta)."""

from __future__ import annotations

import math


def theorem4_rdp(sigma: float, order: float) -> float:
    """Renyi divergence of the given order: order / (2 sigma^2), that of 1 / sigma-GDP."""
    return order / (2 * sigma**2)


def theorem4_sigma(eps: float, delta: float) -> float:
    """The printed sigma = 2 sqrt(log(1 / delta)) / eps. Raises ValueError unless eps > 0 and 0 < delta < 1."""
    return 2 * math.sqrt(_log_inverse(eps, delta)) / eps


def theorem4_sigma_best_order(eps: float, delta: float) -> float:
    """The smallest sigma that eps = rdp(z) + log(1 / delta) / (z - 1) (Mironov, 2017) yields, over all orders z.

    The best order gives c / 2 + sqrt(2 c log(1 / delta)) for rdp(z) = c z / 2, hence
    sqrt(c) = sqrt(2 log(1 / delta) + 2 eps) - sqrt(2 log(1 / delta)) and sigma = 1 / sqrt(c).
    """
    log_inverse = _log_inverse(eps, delta)
    return (math.sqrt(2 * log_inverse + 2 * eps) + math.sqrt(2 * log_inverse)) / (2 * eps)


def _log_inverse(eps: float, delta: float) -> float:
    if not eps > 0 or not 0 < delta < 1:
        raise ValueError(f"eps={eps}, delta={delta}: need eps > 0 and 0 < delta < 1")
    return -math.log(delta)


def theorem8_rdp(sigma: float, order: float) -> float:
    """Renyi divergence of the given order: 3 order / (2 sigma^2), that of sqrt(3) / sigma-GDP."""
    return 3 * theorem4_rdp(sigma, order)


def theorem8_sigma(eps: float, delta: float) -> float:
    """The printed sigma = 4 sqrt(log(1 / delta)) / eps. Raises ValueError unless eps > 0 and 0 < delta < 1."""
    return 2 * theorem4_sigma(eps, delta)


def theorem8_sigma_best_order(eps: float, delta: float) -> float:
    """The smallest sigma that Mironov's conversion yields, over all orders: sqrt(3) times that of Theorem 4."""
    return math.sqrt(3) * theorem4_sigma_best_order(eps, delta)
