"""The binary tree of `momentum`: figure 1, COMPOSE, Proposition 13, and what equation (3) costs, by counting."""

from __future__ import annotations

import math

import numpy as np

from dpexp.papers.momentum.claims.assumed import memory
from dpexp.privacy.momentum.trees import cover, node_counts
from dpexp.reporting.row import above
from dpexp.theory.momentum.formulas import theorem9_schedule

COUNTED = "counted"
LENGTH = 64
"""streams up to this many steps are counted interval by interval"""
MEMORIES = {f"N = {n:,}, alpha = {times:g} / N": (n, times / n) for n in (2, 10, 10**3, 10**6) for times in (1.0, 2.0)}


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


def composed() -> dict[str, float]:
    """2 log2 of the length over the least number of nodes, for all intervals of two steps and more."""
    pairs = ((a, b) for a in range(1, LENGTH + 1) for b in range(a + 1, LENGTH + 1))
    return {f"[{a}, {b}]": 2 * math.log2(b - a + 1) / fewest(a, b) for a, b in pairs}


def partial_sums() -> dict[str, float]:
    """log2 t over the least number of nodes of the partial sum of t steps that needs the most."""
    worst = {}
    for t in (4, 8, 16, 32):
        size, first, last = max((fewest(a, b), -a, b) for a in range(1, t + 1) for b in range(a, t + 1))
        worst[f"t = {t}: [{-first}, {last}] needs {size}"] = math.log2(t) / size
    return worst


def discounts(n: int, alpha: float) -> float:
    """sum over j >= 0 of (1 - alpha)^(j N)."""
    return -1 / math.expm1(n * math.log1p(-alpha)) if alpha < 1 else 1.0


def literal_reads(n: int, steps: int) -> int:
    """Nodes of all windows [t - i N + 1, t - (i - 1) N] of equation (3), for every t: of the changes, or of the gradients.

    A window's cover depends on where it starts, and each is read once for every later epoch: the steps end, end + N, ..
    """
    return sum(((steps - end) // n + 1) * len(cover(end - n + 1, end)) for end in range(n, steps + 1))


def reads() -> dict[str, float]:
    """Twice the growth of N^(11/3) log2 N from N = 8 on over that of the nodes read, at Theorem 9's T for d = 1, eps = 1."""
    sizes = (8, 16, 32)
    # at T of the theorem, whose growth is part of what is claimed
    shares = [n ** (11 / 3) * math.log2(n) / literal_reads(n, theorem9_schedule(n, 1, 1.0, 1e-5).steps) for n in sizes]
    return {f"N = {n}": 2 * share / shares[0] for n, share in zip(sizes, shares, strict=True)}


CHECKS = {
    "momentum/figure-1": above(
        lambda: {f"t = {t}": (math.ceil(math.log2(t)) + 1) / node_counts(np.arange(t)).max()
                 for t in (2, 3, 8, 13, 64, 100, 1000, 1024)},
        "no step is in more than ceil(log2 t) + 1 nodes", "", COUNTED, "printed / counted",
    ),
    "momentum/compose": above(
        composed, "O(log T) disjoint nodes", "", COUNTED, "2 log2 of the length / least number of nodes",
    ),
    "momentum/compose/partial-sums": above(
        partial_sums, "at most log2 t nodes for any partial sum", "", COUNTED, "log2 t / least number",
        otherwise="misprint",
    ),
    "momentum/proposition-13": above(
        lambda: {label: 2 / discounts(n, alpha) for label, (n, alpha) in MEMORIES.items()}, "the sum is at most 2", "",
        "closed form", "2 / sum",
        lambda least: f"for alpha = 1 / (2 N), outside, the sum is {discounts(1000, 0.0005):.3g}",
    ).assuming(memory(MEMORIES)),
    "momentum/section-5/run-time": above(
        reads, "O~(N^(11/3) / d^(2/3)) operations", "", COUNTED,
        "twice the growth of N^(11/3) log2 N / growth of the nodes read",
    ),
}  # fmt: skip
