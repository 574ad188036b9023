"""One number for a guarantee, with what it hides: mu of Gaussian DP up to a delta, and its regret."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpexp.core.text import up
from dpexp.privacy.accounting.gdp_summary import CLOSE, mu_up_to, regret
from dpexp.privacy.accounting.tradeoff import Profile
from dpexp.privacy.analyses.analysis import Analysis

ROUGH = 1e-3
"""how near mu is to the least one where an epsilon is a search of its own, as of the last iterate"""


def gaussian_of(analysis: Analysis, shown: Profile | None, floor: float) -> dict[str, float | None]:
    """The mu that an analysis gives up to the delta `floor`, 0 where it holds without one; None where none is known.

    With the regret beside what a pair of neighbours shows, where there is one.
    """
    close = CLOSE if analysis.steps else ROUGH
    mu = analysis.mu if analysis.mu is not None else mu_up_to(analysis.profile, floor, close)
    known = math.isfinite(mu)
    gap = regret(mu, shown) if shown and known else None
    return {"mu": mu if known else None, "floor": 0.0 if analysis.mu is not None else floor, "regret": gap}


def gaussian_words(found: Mapping[str, float | None]) -> str:
    """The same in words: mu 0.4628 up to delta 1e-05, regret 0.011."""
    mu, floor, gap = found["mu"], found["floor"], found["regret"]
    if mu is None:
        return "no mu is known"
    up_to = f" up to delta {floor:g}" if floor else ""
    return f"mu {up(mu)}{up_to}" + ("" if gap is None else f", regret {up(gap, 3)}")
