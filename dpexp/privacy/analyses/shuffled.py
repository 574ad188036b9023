"""The last iterate under a random partition into batches that is repeated in every epoch (Ye and Shokri, 2022)."""

from __future__ import annotations

import math

import numpy as np


def shuffled_strongly_convex(order: float, per_step: float, contraction: float, batches: int, epochs: int) -> float:
    """Renyi bound of E epochs over J = `batches` >= 2 batches; steps contract by c < 1, a replaced record moves p.

    g(j) = order p^2 / 2 c^(2(j-1)) (1 - c^2) / (1 - c^(2j)), h = J // 2, r = J - h:
    g(h) (1 - c^(2 (E-1) r)) / (1 - c^(2r)) + log mean over j of exp((order - 1) g(j)) / (order - 1). The formula is
    that of the authors' public accountant; p = `per_step` is in noise standard deviations.
    """
    if batches < 2:
        raise ValueError(f"a partition has at least 2 batches, not {batches}")
    if contraction == 0:  # a step forgets all before it: g(1) = order p^2 / 2 and g(j) = 0 for j > 1
        last_visit = order * per_step**2 / 2
        before = last_visit if batches < 4 and epochs > 1 else 0.0
        return before + float(np.logaddexp((order - 1) * last_visit - math.log(batches), math.log1p(-1 / batches))) / (
            order - 1
        )
    rate = 2 * math.log(contraction)

    def loss(j: np.ndarray) -> np.ndarray:
        return order * per_step**2 / 2 * np.exp(rate * (j - 1)) * math.expm1(rate) / np.expm1(rate * j)

    half = batches // 2
    rest = batches - half
    earlier = float(loss(np.array([half]))[0]) * math.expm1(rate * (epochs - 1) * rest) / math.expm1(rate * rest)
    last = (order - 1) * loss(np.arange(1, batches + 1, dtype=np.float64))
    top = float(last.max())
    return earlier + (top + math.log(float(np.mean(np.exp(last - top))))) / (order - 1)
