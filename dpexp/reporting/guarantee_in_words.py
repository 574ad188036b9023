"""What a guarantee means, in one sentence for a person whose row is in the data.

Someone tells, by any test, which of two neighbours was the data; a fair coin chose it. With false positive and false
negative rates alpha and beta, (a) the guess is right with probability (1 - alpha + 1 - beta) / 2 = (1 + advantage) / 2,
where advantage = 1 - alpha - beta = TPR - FPR. (b) (epsilon, delta) in both orders of the neighbours means alpha +
e^epsilon beta >= 1 - delta and e^epsilon alpha + beta >= 1 - delta. Added up, alpha + beta >= 2 (1 - delta) / (1 +
e^epsilon), so that the guess is right with probability at most 1 - (1 - delta) / (1 + e^epsilon) (Kairouz, Oh and
Viswanath, 2015). (c) Delta at epsilon 0 is the largest advantage itself: of mu-GDP 2 Phi(mu / 2) - 1.
The least of these holds.

The other summary, of `--json`, is one number: mu of Gaussian DP up to a delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from dpexp.accounting.curve import implied_delta
from dpexp.accounting.loss_steps import Steps
from dpexp.accounting.one_mu import mu_up_to
from dpexp.core.text import up
from dpexp.privacy.analyses.analysis import ALL, Analysis

ALWAYS = 0.9995
"""from here on a probability is printed as no limit"""
SEES = {ALL: "all iterates", "last-iterate": "the last iterate alone"}
UNKNOWN = {"add-remove": "whether your record is in the data", "replace-one": "which of two records is yours"}
NEIGHBOURS = {
    "add-remove": "add-remove: two data sets of which one has a row more",
    "replace-one": "replace-one: two data sets that differ in one row, which is replaced by any other",
}
MEANS = "whatever is seen is at most e^epsilon times as likely under one neighbour as under the other, plus delta"
RECORD = "one row, which stands for one person; who has k rows is promised k times epsilon, more than k times delta"


def success(analyses: Sequence[Analysis], deltas: Sequence[float]) -> float:
    """The largest probability of a right guess that all of these allow: (b) at each delta, and (c)."""
    valid = [analysis for analysis in analyses if analysis.valid]
    best = min(valid, key=lambda analysis: analysis.at([min(deltas)]), default=None)
    return min((_success(analysis, deltas, analysis is best) for analysis in valid), default=1.0)


def _success(analysis: Analysis, deltas: Sequence[float], search: bool) -> float:
    """(c) where it is known, or is worth a `search`."""
    known = search or analysis.mu is not None or analysis.direct is not None
    pairs = [(eps, delta) for eps, delta in zip(analysis.at(deltas), deltas, strict=True) if eps < math.inf]
    least = min([analysis.advantage if known else 1.0, *(implied_delta(*pair, 0.0) for pair in pairs)])
    return min(1.0, (1 + least) / 2)


def sentence(probability: float, relation: str, sees: str, of: str = "") -> str:
    """The probability, rounded up, in words; `of` says of which of several mechanisms."""
    told = f"{f'{of}: an' if of else 'An'} attacker who knows every other record and sees {sees} guesses "
    if probability >= ALWAYS:
        return f"{told}{UNKNOWN[relation]} with any success up to 100%: nothing is guaranteed here (50% is chance)."
    return f"{told}{UNKNOWN[relation]} with at most {up(100 * probability, 3)}% success (50% is chance)."


ROUGH = 1e-3
"""how near mu is to the least one where an epsilon is a search of its own, as of the last iterate"""


def gaussian_of(analysis: Analysis, floor: float) -> dict[str, float | None]:
    """The mu that an analysis gives up to the delta `floor`, 0 where it holds without one; None where none is known."""
    if analysis.mu is not None:
        mu = analysis.mu
    elif analysis.steps:
        mu = _of_steps(analysis.steps, floor)
    else:
        mu = mu_up_to(analysis, floor, ROUGH)
    return {"mu": mu if math.isfinite(mu) else None, "floor": 0.0 if analysis.mu is not None else floor}


@lru_cache(maxsize=256)
def _of_steps(steps: Steps, floor: float) -> float:
    """Of steps whose loss distributions are composed, however many mechanisms of a config have them."""
    return mu_up_to(steps.curve, floor)
