"""Equation (3) of `momentum` by force: every sum as printed, on random gradients."""

from __future__ import annotations

import numpy as np


def equation_three_errors(reshuffled: bool, sizes: tuple[int, ...] = (5, 8, 13), epochs: int = 5) -> dict[int, float]:
    """Largest |alpha (C_t + r_t) - m_t| over t by N, without noise; gradients are unit normal.

    Equations (2) and (3): G and D are sums over windows of one epoch, weighted by (1 - alpha)^(distance from t).
    """
    return {n: _error(n, epochs * n, 1 / n, 0.3, reshuffled, np.random.default_rng(n)) for n in sizes}


def _error(n: int, steps: int, alpha: float, gamma: float, reshuffled: bool, rng: np.random.Generator) -> float:
    beta, epochs = 1 - alpha, -(-steps // n)
    orders = [rng.permutation(n) if reshuffled or q == 0 else None for q in range(epochs)]
    items = np.concatenate([orders[0] if order is None else order for order in orders])[:steps]
    anchored, own = rng.standard_normal((epochs, n)), rng.standard_normal(steps)
    q_of = np.arange(steps) // n
    plain = anchored[q_of, items]
    moved = np.where(q_of > 0, plain - anchored[np.maximum(q_of - 1, 0), items], 0.0)

    def over(values: np.ndarray, first: int, last: int) -> float:
        return float(sum(beta ** (last - i) * values[i - 1] for i in range(first, last + 1)))

    momentum, worst = 0.0, 0.0
    for t in range(1, steps + 1):
        momentum = beta * momentum + alpha * own[t - 1]
        q, r = (t - 1) // n, (t - 1) % n + 1
        total = beta ** (t - r) * over(plain, 1, r)
        for i in range(q):
            total += beta ** (n * i) * (1 - gamma) ** (q - (i + 1)) * over(plain, r + 1, r + n)
        for i in range(1, q):
            c = sum((1 - gamma) ** j * beta ** ((i - 1 - j) * n) for j in range(i))
            first, last = t - i * n + 1, t - (i - 1) * n
            total += c * ((1 - gamma) * over(moved, first, last) + gamma * over(plain, first, last))
        worst = max(worst, abs(alpha * (total + over(own - plain, 1, t)) - momentum))
    return worst
