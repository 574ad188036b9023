"""The binary tree of `momentum`, Lemmas 5 and 7 and equation (3).

(a) By counting: figure 1, COMPOSE, Proposition 13, and what equation (3) costs.
(b) Of the noise and the weights: both lemmas, the equation, and two sentences in words: trees against noise in every
term, and m_t - m_(t-N).
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.papers.momentum.claims.lemmas import equation_3
from dpexp.reporting.checks import above, near


def fewest(first: int, last: int) -> int:
    """The least number of nodes whose disjoint union is [first, last], by dynamic programming over all nodes."""
    best = {first - 1: 0}
    for end in range(first, last + 1):
        options = []
        length = 1
        while length <= end - first + 1:
            # a node [a 2^b + 1, (a + 1) 2^b] ends here
            if (end - length) % length == 0 and end - length in best:
                options.append(best[end - length] + 1)
            length *= 2
        best[end] = min(options)
    return best[last]


def partial_sums() -> dict[str, float]:
    """log2 t over the least number of nodes of the partial sum of t steps that needs the most."""
    worst = {}
    for t in (4, 8, 16, 32):
        size, first, last = max((fewest(a, b), -a, b) for a in range(1, t + 1) for b in range(a, t + 1))
        worst[f"t = {t}: [{-first}, {last}] needs {size}"] = math.log2(t) / size
    return worst


EPOCHS = 40
MEMORIES = {f"N = {n:,}, alpha = 1 / N": (n, 1 / n) for n in (10, 100, 1000)}


def difference() -> dict[str, tuple[float, float]]:
    """Sensitivity of m_t - m_(t-N), by the place of a record in two epochs, over that of m_t: constant gradients."""
    # a record's gradient is +G or -G wherever the iterate is, which is L-smooth for every L: iterates that are near
    # each other change nothing. With one order that repeats, all weights but the oldest cancel
    return {label: (0.0, weight_left(n, alpha, reshuffled=True)) for label, (n, alpha) in MEMORIES.items()}


def weight_left(n: int, alpha: float, reshuffled: bool) -> float:
    """A weight of a record in m_t - m_(t-N) over that in m_t, t at the end of an epoch."""
    # with fresh orders the record is the last one of the last epoch and the first one of all epochs before
    last, before = (0, n - 1) if reshuffled else (0, 0)
    # steps since the record was used, epoch by epoch, the last one first
    ages = np.array([last] + [before + n * k for k in range(1, EPOCHS)], dtype=float)
    weights = alpha * (1 - alpha) ** ages
    # m_(t-N) has every use but that of the last epoch, N steps younger
    older = alpha * (1 - alpha) ** (ages[1:] - n)
    return float(abs(weights.sum() - older.sum()) / weights.sum())


CHECKS = {
    "momentum/compose/partial-sums": above(partial_sums, "", otherwise="misprint"),
    "momentum/equation-3/fixed": equation_3(reshuffled=False),
    "momentum/section-4/differences": near(difference, 0.01, ""),
}
