"""A guarantee in words: one sentence for a person whose row is in the data.

Someone guesses, by any test, which of two neighbours was the data; a fair coin chose it. With false positive and false
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
from dpexp.privacy.analyses.analysis import Analysis

ALWAYS = 0.9995
"""from here on a probability is printed as no limit"""
UNKNOWN = {"add-remove": "whether your record is in the data", "replace-one": "which of two records is yours"}
ROUGH = 1e-3
"""how near mu is to the least one where an epsilon is a search of its own, as of the last iterate"""


def success(analyses: Sequence[Analysis], deltas: Sequence[float]) -> float:
    """The largest probability of a right guess that all of these allow: (b) at each delta, and (c) where it is known,
    or worth a search, as for the best analysis."""
    valid = [analysis for analysis in analyses if analysis.valid]
    best = min(valid, key=lambda analysis: analysis.at([min(deltas)]), default=None)
    least = 1.0
    for a in valid:
        if a is best or a.mu is not None or a.direct is not None:
            least = min(least, a.advantage)
        pairs = zip(a.at(deltas), deltas, strict=True)
        least = min([least, *(implied_delta(eps, delta, 0.0) for eps, delta in pairs if eps < math.inf)])
    return min(1.0, (1 + least) / 2)


def sentence(probability: float, relation: str, sees: str, of: str = "") -> str:
    """The probability, rounded up, in words; `of` names a mechanism where there are several."""
    words = f"{f'{of}: an' if of else 'An'} attacker who knows every other record and sees {sees} guesses "
    if probability >= ALWAYS:
        return f"{words}{UNKNOWN[relation]} with any success up to 100%: there is no guarantee here (50% is chance)."
    return f"{words}{UNKNOWN[relation]} with at most {up(100 * probability, 3)}% success (50% is chance)."


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
