"""Two sentences of `momentum` in words: trees against noise in every term (section 2), and m_t - m_(t-N) (section 4)."""

from __future__ import annotations

import math

import numpy as np

from dpexp.papers.momentum.claims.assumed import memory
from dpexp.privacy.momentum.trees import node_counts
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence

LENGTHS = tuple(2**k for k in (4, 8, 12, 16, 20))
"""steps of a stream; prefixes of 2^k - 1 steps need k nodes, the most of all prefixes"""


def partial_sums_noise(evidence: Evidence) -> Outcome:
    """Noise of the worst prefix sum by a tree over that with noise in every term, at one privacy loss.

    Every record is used once. With noise of standard deviation s in every term, one step tells as much as a tree whose
    nodes have noise sqrt(depth) s: a term is in `depth` nodes, and squared losses of Gaussians add up.
    """
    ratios, naive = {}, {}
    for steps in LENGTHS:
        tree = tree_noise(steps)
        naive[steps] = math.sqrt(steps - 1)
        ratios[steps] = tree / naive[steps]
    logs = [math.log2(steps) for steps in LENGTHS]
    share = [tree_noise(steps) / power**1.5 for steps, power in zip(LENGTHS, logs, strict=True)]
    less = ratios[LENGTHS[-1]] < 0.1
    bounded = max(share) <= 2
    return Outcome(
        "holds as a bound" if less and bounded else "false",
        "noise of the order log^1.5(t) at most, and a small part of that with noise in every term for long streams",
        "tree over noise in every term: "
        + ", ".join(f"{v:.3g} (t = {k:,})" for k, v in ratios.items())
        + f"; over log2(t)^1.5 {share[0]:.3g} down to {share[-1]:.3g}",
        "counted",
        {"ratios": {f"{k}": v for k, v in ratios.items()}, "share": share},
    )


def tree_noise(steps: int) -> float:
    """Noise of the prefix of `steps` - 1 terms, where a term alone would have noise 1."""
    depth = int(node_counts(np.arange(steps)).max()) if steps <= 1 << 12 else int(math.log2(steps)) + 1
    return math.sqrt(depth * math.log2(steps))


EPOCHS = 40
SIZES = {f"N = {n:,}, alpha = 1 / N": (n, 1 / n) for n in (10, 100, 1000)}


def difference(evidence: Evidence) -> Outcome:
    """Sensitivity of m_t - m_(t-N), by the place of a record in two epochs, over that of m_t: constant gradients.

    A record's gradient is +G or -G wherever the iterate is, which is L-smooth for every L: iterates that are near each
    other change nothing. With one order that repeats, all weights but the oldest cancel.
    """
    fixed = {label: weight_left(n, alpha, reshuffled=False) for label, (n, alpha) in SIZES.items()}
    fresh = {label: weight_left(n, alpha, reshuffled=True) for label, (n, alpha) in SIZES.items()}
    small = max(fresh.values()) < 0.01
    return Outcome(
        "reproduced" if small else "false",
        "a sensitivity that scales with eta N, so 0 where gradients do not move with the iterate",
        f"as a share of m_t's own sensitivity, constant gradients, epoch {EPOCHS}: "
        + ", ".join(f"{v:.3g} ({k})" for k, v in fresh.items())
        + " with the reshuffling of Algorithm 2, "
        + ", ".join(f"{v:.1g}" for v in fixed.values())
        + " with one order that repeats",
        "closed form: sums of discounts",
        {"reshuffled": fresh, "fixed": fixed},
    )


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
    Claim("momentum/section-2/partial-sums", "Section 2, tree-aggregation", "A tree's noise in any prefix sum is of the order log^1.5(t), a lot less than with noise in every term.",
          "value", (), partial_sums_noise, "2 log2(t)^1.5, and a tenth of the other at a million steps", "holds as a bound",
          "squared losses of Gaussians add up, so that log(t) is enough; for streams of a dozen steps the tree has more noise, not less",
          quote="which is a lot less than the noise that we would add using advanced composition",
          false_if="The tree's noise grows faster than log^1.5(t), or is above a tenth of the other at a million steps."),
    Claim("momentum/section-4/differences", "Section 4, before Algorithm 2 is derived", "The sensitivity of m_t - m_(t-N) scales with eta N.",
          "value", (), difference, "a hundredth of the sensitivity of m_t, where the claim says 0", "false",
          "true of one order that repeats. With a fresh order a record has another discount in each epoch, whose difference no "
          "smoothness makes small; this is why equation (3) fails, too",
          quote="we can show that the sensitivity of m_t - m_{t-N} scales by this same distance factor",
          false_if="With reshuffling and gradients that do not move, a record has a weight in m_t - m_(t-N) of more than a hundredth of that in m_t.",
          hypotheses=(memory(SIZES),)),
)  # fmt: skip
