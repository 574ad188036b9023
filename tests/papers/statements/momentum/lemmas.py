"""The binary tree of `momentum`, Lemmas 5 and 7 and equation (3).

(a) By counting: figure 1, COMPOSE, Proposition 13, and what equation (3) costs.
(b) Of the noise and the weights: both lemmas, the equation, and two sentences in words: trees against noise in every
term, and m_t - m_(t-N).
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.papers.momentum.claims.lemmas import equation_3
from dpexp.papers.momentum.momentum_runs import DELTA
from dpexp.privacy.momentum.trees import cover, node_counts
from dpexp.reporting.row import above, near
from dpexp.theory.momentum.momentum_formulas import lemma7_printed, theorem9_schedule
from tests.papers.statements.momentum.levels import printed_noise

COUNTED = "counted"


LENGTH = 64
"""streams up to this many steps are counted interval by interval"""


HALVES = {f"N = {n:,}, alpha = {times:g} / N": (n, times / n) for n in (2, 10, 10**3, 10**6) for times in (1.0, 2.0)}


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
    """Nodes of all windows [t - i N + 1, t - (i - 1) N] of equation (3), for every t: of changes, or of gradients."""
    # a window's cover depends on where it starts, and each is read once for every later epoch: at end, end + N, ..
    return sum(((steps - end) // n + 1) * len(cover(end - n + 1, end)) for end in range(n, steps + 1))


def reads() -> dict[str, float]:
    """Twice the growth of N^(11/3) log2 N from N = 8 on over that of the nodes read, at Theorem 9's T for d = 1, eps = 1."""
    sizes = (8, 16, 32)
    # at T of the theorem, whose growth is part of what is claimed
    shares = [n ** (11 / 3) * math.log2(n) / literal_reads(n, theorem9_schedule(n, 1, 1.0, 1e-5).steps) for n in sizes]
    return {f"N = {n}": 2 * share / shares[0] for n, share in zip(sizes, shares, strict=True)}


SIZES = {f"N = {n:.0e}": n for n in (1000, 10**5, 10**8)}


SCHEDULES = {label: theorem9_schedule(n, 10, 1.0, DELTA) for label, n in SIZES.items()}


def lemma_7() -> dict[str, float]:
    """The printed bound over the exact rms noise at Theorem 9's schedule."""
    ratios = {}
    for label, n in SIZES.items():
        s = SCHEDULES[label]
        bound = lemma7_printed(n, 10, 1.0, DELTA, s.steps, s.alpha, s.eta, 1.0, 1.0)
        ratios[label] = bound / printed_noise(n, 10, 1.0, DELTA)
    return ratios


LENGTHS = tuple(2**k for k in (4, 8, 12, 16, 20))
"""steps of a stream; prefixes of 2^k - 1 steps need k nodes, the most of all prefixes"""


def partial_sums_noise() -> dict[str, float]:
    """What is allowed over the noise of the worst prefix sum by a tree, at one privacy loss.

    Every record is used once.
    """
    order = {f"2 log2(t)^1.5, t = {steps:,}": 2 * math.log2(steps) ** 1.5 / tree_noise(steps) for steps in LENGTHS}
    last = LENGTHS[-1]
    return order | {
        f"a tenth of that with noise in every term, t = {last:,}": 0.1 * math.sqrt(last - 1) / tree_noise(last)
    }


def beside_every_term(least: float) -> str:
    found = ", ".join(f"{tree_noise(steps) / math.sqrt(steps - 1):.3g} (t = {steps:,})" for steps in LENGTHS)
    return f"tree over noise in every term: {found}"


def tree_noise(steps: int) -> float:
    """Noise of the prefix of `steps` - 1 terms, where a term alone would have noise 1."""
    # counted for short streams, by the formula for long ones
    depth = int(node_counts(np.arange(steps)).max()) if steps <= 1 << 12 else int(math.log2(steps)) + 1
    # with noise of standard deviation s in every term, one step tells as much as a tree whose nodes have noise
    # sqrt(depth) s: a term is in `depth` nodes, and squared losses of Gaussians add up
    return math.sqrt(depth * math.log2(steps))


EPOCHS = 40


MEMORIES = {f"N = {n:,}, alpha = 1 / N": (n, 1 / n) for n in (10, 100, 1000)}


def difference() -> dict[str, tuple[float, float]]:
    """Sensitivity of m_t - m_(t-N), by the place of a record in two epochs, over that of m_t: constant gradients."""
    # a record's gradient is +G or -G wherever the iterate is, which is L-smooth for every L: iterates that are near
    # each other change nothing. With one order that repeats, all weights but the oldest cancel
    return {label: (0.0, weight_left(n, alpha, reshuffled=True)) for label, (n, alpha) in MEMORIES.items()}


def in_one_order() -> str:
    found = ", ".join(f"{weight_left(n, alpha, reshuffled=False):.1g}" for n, alpha in MEMORIES.values())
    return f"with one order that repeats {found}"


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
        lambda: {label: 2 / discounts(n, alpha) for label, (n, alpha) in HALVES.items()}, "the sum is at most 2", "",
        "closed form", "2 / sum",
        lambda least: f"for alpha = 1 / (2 N), outside, the sum is {discounts(1000, 0.0005):.3g}",
    ),
    "momentum/section-5/run-time": above(
        reads, "O~(N^(11/3) / d^(2/3)) operations", "", COUNTED,
        "twice the growth of N^(11/3) log2 N / growth of the nodes read",
    ),
    "momentum/lemma-7": above(
        lemma_7, "E |m_hat - m| is at most the three terms", "one order that repeats",
        "means over sampled steps: a few per cent", "bound / rms",
    ),
    "momentum/equation-3/fixed": equation_3(reshuffled=False),
    "momentum/section-2/partial-sums": above(
        partial_sums_noise,
        "noise of the order log^1.5(t) at most, and a small part of that with noise in every term for long streams", "",
        "counted", "allowed / noise of the tree", beside_every_term,
    ),
    "momentum/section-4/differences": near(
        difference, 0.01, "weight of a record over its weight in m_t, constant gradients, reshuffled",
        more=in_one_order, uncertainty="closed form: sums of discounts",
    ),
}  # fmt: skip
