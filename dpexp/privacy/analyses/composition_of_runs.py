"""What several runs on the same records give away together, where each has batches and noise of its own.

(a) Gaussian parameters add up as squares.
(b) Steps of one scheme are composed by their loss distributions, as if all were one run of different steps. A run of
which mu alone is known is one more step there, on all records.
(c) Where neither is known for all of them, epsilons and deltas add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from dpexp.accounting.steps import Steps
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis, composed_analysis, gaussian_analysis, guarantee

GAUSSIAN = "Gaussian composition: the root of the sum of the squared mu (Dong, Roth and Su, 2022)"
LOSSES = "privacy loss distributions of the steps of all runs, composed"
BASIC = "basic composition: epsilons add up, each at its share of delta"
INDEPENDENT = "every run has batches and noise of its own"


def composition_of_runs(runs: Sequence[tuple[Analysis, int]]) -> Analysis:
    """The analysis of releasing all runs: an analysis of each kind of run, and how many there are of it.

    All must speak of the same neighbours, and be valid. One run is its own analysis.
    """
    runs = [(analysis, count) for analysis, count in runs if count]
    if len(runs) == 1 and runs[0][1] == 1:
        return runs[0][0]
    released = ALL if all(analysis.released == ALL for analysis, _ in runs) else LAST
    assumptions = tuple(dict.fromkeys([INDEPENDENT, *(text for analysis, _ in runs for text in analysis.assumptions)]))
    # (a)
    if all(analysis.mu is not None for analysis, _ in runs):
        mu = math.sqrt(math.fsum(count * float(analysis.mu or 0) ** 2 for analysis, count in runs))
        return gaussian_analysis("together", GAUSSIAN, released, mu, assumptions)
    # (b)
    schemes = {analysis.steps.scheme for analysis, _ in runs if analysis.steps}
    if len(schemes) == 1 and all(analysis.steps or _finite(analysis) for analysis, _ in runs):
        steps = Steps(part for analysis, count in runs for part in analysis.steps.times(count))
        squares = math.fsum(count * float(a.mu or 0) ** 2 for a, count in runs if not a.steps)
        steps = steps.with_gaussian(math.sqrt(squares))
        return composed_analysis("together", LOSSES, released, steps, assumptions)
    # (c)
    number = sum(count for _, count in runs)

    def eps(delta: float) -> float:
        return math.fsum(count * analysis.eps(delta / number) for analysis, count in runs)

    return guarantee("together", BASIC, released, cache(eps), assumptions)


def composable(analyses: Sequence[Analysis], delta: float, last_alone: bool = False) -> Analysis:
    """The analysis by which a run is composed with others: one of its steps or of Gaussian DP, else the smallest.

    `last_alone`: nothing but its last iterate is released.
    """
    covering = [a for a in analyses if a.valid and (a.released == ALL or last_alone)]
    additive = [a for a in covering if a.released == ALL and (a.steps or a.mu is not None)]
    return min(additive or covering, key=lambda a: a.eps(delta))


def _finite(analysis: Analysis) -> bool:
    return analysis.mu is not None and math.isfinite(analysis.mu)
