"""Gaussian-DP bounds for the last iterate by shifted interpolation.

Source: Bok, Su and Altschuler (ICML 2024, arXiv 2403.00278). All take `per_step`, the largest distance that one step
puts between neighbours, in noise standard deviations.
"""

from __future__ import annotations

import math


def full_batch_strongly_convex(per_step: float, contraction: float, steps: float) -> float:
    """mu of T full-batch steps that contract by c < 1: p sqrt((1-c^T)/(1+c^T) (1+c)/(1-c)); exact on quadratics."""
    power = 0.0 if math.isinf(steps) else contraction**steps
    return per_step * math.sqrt((1 - power) / (1 + power) * (1 + contraction) / (1 - contraction))


def full_batch_convex(per_step: float, width: float, steps: float) -> float:
    """mu of T full-batch steps on a set `width` noise units wide: min(sqrt T p, min_R (width + R p) / sqrt R)."""
    ideal = width / per_step if per_step > 0 else math.inf
    candidates = {1, int(min(ideal, steps, 2**62)), int(min(ideal, steps - 1, 2**62)) + 1} if steps >= 1 else set()
    best = min(((width + r * per_step) / math.sqrt(r) for r in candidates if 1 <= r <= steps), default=math.inf)
    return min(best, math.sqrt(steps) * per_step)


def cyclic_strongly_convex(per_step: float, contraction: float, batches: int, epochs: int) -> float:
    """mu of E epochs over l fixed batches, steps that contract by c < 1; per_step is that of one batch."""
    c, length = contraction, batches
    power = c ** (length * (epochs - 1))
    factor = c ** (2 * length - 2) * (1 - c * c) / (1 - c**length) ** 2 * (1 - power) / (1 + power)
    return per_step * math.sqrt(1 + factor)


def cyclic_convex(per_step: float, width: float, batches: int, epochs: int) -> float:
    """mu of E epochs over l fixed batches on a set `width` noise units wide; per_step is that of one batch.

    min(sqrt(E) p, min over 1 <= k < E of sqrt(p^2 + (width + k p)^2 / (k l))): the last visit is paid in its own step,
    k earlier ones and the width are spread evenly over the k l steps before it; what follows is post-processing.
    """
    composed = math.sqrt(epochs) * per_step
    if epochs < 2 or not math.isfinite(width):
        return composed
    ideal = width / per_step if per_step > 0 else math.inf
    candidates = {max(1, int(min(ideal, epochs - 1))), max(1, int(min(ideal, epochs - 2)) + 1), 1}
    spread = min((width + k * per_step) ** 2 / (k * batches) for k in candidates)
    return min(composed, math.sqrt(per_step**2 + spread))
