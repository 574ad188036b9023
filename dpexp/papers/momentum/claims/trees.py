"""The binary tree of `momentum`: figure 1, COMPOSE, Proposition 13, and what equation (3) costs, by counting."""

from __future__ import annotations

import math

import numpy as np

from dpexp.papers.momentum.claims.assumed import memory
from dpexp.privacy.momentum.trees import cover, node_counts
from dpexp.reporting.row import above, row
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
            if (end - length) % length == 0 and end - length in best:  # a node [a 2^b + 1, (a + 1) 2^b] ends here
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
    shares = [n ** (11 / 3) * math.log2(n) / literal_reads(n, theorem9_schedule(n, 1, 1.0, 1e-5).steps) for n in sizes]
    return {f"N = {n}": 2 * share / shares[0] for n, share in zip(sizes, shares, strict=True)}


CLAIMS = (
    row("momentum/figure-1", "Section 2, figure 1", "A step of a stream of t is in at most ceil(log2 t) + 1 nodes.", "upper",
        above(lambda: {f"t = {t}": (math.ceil(math.log2(t)) + 1) / node_counts(np.arange(t)).max()
                       for t in (2, 3, 8, 13, 64, 100, 1000, 1024)},
              "no step is in more than ceil(log2 t) + 1 nodes", "", COUNTED, "printed / counted"),
        "one larger count contradicts it", "holds as a bound", "attained by complete trees",
        quote="each g_i only affects its ancestors, or at most ⌈log t⌉ + 1 nodes",
        false_if="Some step of a stream is in more nodes."),
    row("momentum/compose", "Section 3, first paragraph", "Any interval is a disjoint union of O(log T) nodes.", "upper",
        above(composed, "O(log T) disjoint nodes", "", COUNTED, "2 log2 of the length / least number of nodes"),
        "2 log2 of the length; one larger least number contradicts it", "holds as a bound",
        "twice the logarithm is needed, once up and once down; COMPOSE takes the least number",
        quote="there exists O(log T) disjoint subsets", false_if="Some interval needs more than 2 log2 of its length."),
    row("momentum/compose/partial-sums", "Section 2, last sentence on trees", "A partial sum needs at most log2 t nodes.", "upper",
        above(partial_sums, "at most log2 t nodes for any partial sum", "", COUNTED, "log2 t / least number", otherwise="misprint"),
        "one larger least number contradicts it", "misprint",
        "prefix sums need that many; any partial sum needs up to twice as many, as section 3 says with O(log T)",
        quote="since we only need at most log t nodes to compute any partial sum",
        false_if="The least number of nodes of some interval exceeds log2 t."),
    row("momentum/proposition-13", "Section 3, proof sketch of Theorem 4", "2 alpha G sum_j (1 - alpha)^(j N) is at most 4 alpha G for alpha >= 1 / N.", "upper",
        above(lambda: {label: 2 / discounts(n, alpha) for label, (n, alpha) in MEMORIES.items()}, "the sum is at most 2",
              "", "closed form", "2 / sum", lambda least: f"for alpha = 1 / (2 N), outside, the sum is {discounts(1000, 0.0005):.3g}"),
        "one larger sum contradicts it", "holds as a bound",
        "its condition could be alpha >= log 2 / N; that the sum is a node's sensitivity is another claim, theorem-4/node",
        quote="Δ = 2αG sum_(j=0..⌈|y-z|/N⌉-1) (1-α)^(jN) ≤ 4αG for α ≥ 1/N (Proposition 13)",
        false_if="For some alpha >= 1 / N the sum exceeds 2.", hypotheses=(memory(MEMORIES),)),
    row("momentum/section-5/run-time", "Section 5, limitations", "As printed, Algorithm 2 takes of the order of N^(11/3) / d^(2/3) operations.", "rate",
        above(reads, "O~(N^(11/3) / d^(2/3)) operations", "", COUNTED, "twice the growth of N^(11/3) log2 N / growth of the nodes read"),
        "a factor 2 over the sizes counted", "holds as a bound",
        "in vectors the count is T^2 / N = N^(11/3) eps^(8/3) / d^(4/3), in numbers d times that; recursions give the same estimate with "
        "O(log N) vector operations a step",
        quote="has the total run time of Õ(N^{11/3}/d^{2/3}) due to the extra run time from the compose and reconstruction algorithms",
        false_if="The nodes that equation (3) reads grow faster than N^(11/3) log N."),
)  # fmt: skip
