"""Two sentences of `momentum` in words: trees against noise in every term (section 2), and m_t - m_(t-N) (section 4)."""

from __future__ import annotations

import math

import numpy as np

from dpexp.papers.momentum.claims.assumed import memory
from dpexp.privacy.momentum.trees import node_counts
from dpexp.reporting.row import above, near, row

LENGTHS = tuple(2**k for k in (4, 8, 12, 16, 20))
"""steps of a stream; prefixes of 2^k - 1 steps need k nodes, the most of all prefixes"""


def partial_sums_noise() -> dict[str, float]:
    """What is allowed over the noise of the worst prefix sum by a tree, at one privacy loss.

    Every record is used once. With noise of standard deviation s in every term, one step tells as much as a tree whose
    nodes have noise sqrt(depth) s: a term is in `depth` nodes, and squared losses of Gaussians add up.
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
    depth = int(node_counts(np.arange(steps)).max()) if steps <= 1 << 12 else int(math.log2(steps)) + 1
    return math.sqrt(depth * math.log2(steps))


EPOCHS = 40
SIZES = {f"N = {n:,}, alpha = 1 / N": (n, 1 / n) for n in (10, 100, 1000)}


def difference() -> dict[str, tuple[float, float]]:
    """Sensitivity of m_t - m_(t-N), by the place of a record in two epochs, over that of m_t: constant gradients.

    A record's gradient is +G or -G wherever the iterate is, which is L-smooth for every L: iterates that are near each
    other change nothing. With one order that repeats, all weights but the oldest cancel.
    """
    return {label: (0.0, weight_left(n, alpha, reshuffled=True)) for label, (n, alpha) in SIZES.items()}


def in_one_order() -> str:
    found = ", ".join(f"{weight_left(n, alpha, reshuffled=False):.1g}" for n, alpha in SIZES.values())
    return f"with one order that repeats {found}"


def weight_left(n: int, alpha: float, reshuffled: bool) -> float:
    """A weight of a record in m_t - m_(t-N) over that in m_t, t at the end of an epoch.

    With fresh orders the record is the last one of the last epoch and the first one of all epochs before. `ages` are
    the steps since it was used, epoch by epoch, the last one first.
    """
    last, before = (0, n - 1) if reshuffled else (0, 0)
    ages = np.array([last] + [before + n * k for k in range(1, EPOCHS)], dtype=float)
    weights = alpha * (1 - alpha) ** ages
    # m_(t-N) has every use but that of the last epoch, N steps younger
    older = alpha * (1 - alpha) ** (ages[1:] - n)
    return float(abs(weights.sum() - older.sum()) / weights.sum())


CLAIMS = (
    row("momentum/section-2/partial-sums", "Section 2, tree-aggregation", "A tree's noise in any prefix sum is of the order log^1.5(t), a lot less than with noise in every term.",
          "value",
          above(partial_sums_noise, "noise of the order log^1.5(t) at most, and a small part of that with noise in every term for long streams",
                "", "counted", "allowed / noise of the tree", beside_every_term),
          "2 log2(t)^1.5, and a tenth of the other at a million steps", "holds as a bound",
          "squared losses of Gaussians add up, so that log(t) is enough; for streams of a dozen steps the tree has more noise, not less",
          quote="which is a lot less than the noise that we would add using advanced composition",
          false_if="The tree's noise grows faster than log^1.5(t), or is above a tenth of the other at a million steps."),
    row("momentum/section-4/differences", "Section 4, before Algorithm 2 is derived", "The sensitivity of m_t - m_(t-N) scales with eta N.",
          "value",
          near(difference, 0.01, "weight of a record over its weight in m_t, constant gradients, reshuffled", more=in_one_order,
               uncertainty="closed form: sums of discounts"),
          "a hundredth of the sensitivity of m_t, where the claim says 0", "false",
          "true of one order that repeats. With a fresh order a record has another discount in each epoch, whose difference no "
          "smoothness makes small; this is why equation (3) fails, too",
          quote="we can show that the sensitivity of m_t - m_{t-N} scales by this same distance factor",
          false_if="With reshuffling and gradients that do not move, a record has a weight in m_t - m_(t-N) of more than a hundredth of that in m_t.",
          hypotheses=(memory(SIZES),)),
)  # fmt: skip
