"""The rule of one table: no guarantee is below what a pair of neighbours attains of what it covers.

Where it is, one of the two is an error of dpexp. Nobody can tell which, so the guarantee is what is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpexp.core.text import down, up
from dpexp.privacy.analyses.analysis import LAST, Analysis
from dpexp.privacy.attained.lower_bounds import LowerBound

ROUNDING = 1e-9
"""of an epsilon: guarantees are rounded up and what is attained down, but for the last digits of a few closed forms"""


def covers(analysis: Analysis, bound: LowerBound) -> bool:
    """Whether what the pair shows is covered: who sees all iterates sees the last one, and not the other way round."""
    return bound.released == LAST or (analysis.released == bound.released and not analysis.secret)


def refuted(analyses: Iterable[Analysis], bounds: Sequence[LowerBound], deltas: Sequence[float]) -> dict[str, str]:
    """The valid analyses that some pair refutes at one of the deltas, by name, with both lines in words."""
    found: dict[str, str] = {}
    shown = [(bound, bound.at(deltas)) for bound in bounds]
    for analysis in analyses:
        promised = analysis.at(deltas) if analysis.valid else []
        for bound, attained in shown if promised else []:
            for delta, eps, low in zip(deltas, promised, attained, strict=True):
                if covers(analysis, bound) and low > eps * (1 + ROUNDING) + 1e-12:
                    said = f"{analysis.name} promises {up(eps)}, and {bound.name} attains {down(low)}"
                    found.setdefault(analysis.name, f"an error of dpexp, please report it: at delta = {delta:g} {said}")
    return found
