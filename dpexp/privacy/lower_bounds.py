"""What one pair of neighbours attains, exactly, and the rule of one table: no guarantee is below it.

Where one is, one of the two is an error of dpexp. Which one is unknown, so the guarantee is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial

from dpexp.core.text import down, up
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis

ROUNDING = 1e-9
"""of an epsilon: guarantees are rounded up and what is attained down, but for the last digits of a few closed forms"""


def with_last_iterate(bounds: Sequence[Analysis]) -> list[Analysis]:
    """Who sees all iterates sees the last one: of them is attained at least what the last one attains."""
    cached = [replace(bound, eps=cache(bound.eps)) for bound in bounds]
    last = [bound for bound in cached if bound.released == LAST]
    more = f"; or the pair of {' or '.join(bound.name for bound in last)}, where that attains more"

    def largest(bound: Analysis, delta: float) -> float:
        return max(one.eps(delta) for one in (bound, *last))

    return [
        replace(bound, source=bound.source + more, eps=cache(partial(largest, bound)))
        if last and bound.released == ALL
        else bound
        for bound in cached
    ]


def covers(analysis: Analysis, bound: Analysis) -> bool:
    """Whether what the pair shows is covered: who sees all iterates sees the last one, and not the other way round."""
    return bound.released == LAST or (analysis.released == bound.released and not analysis.secret)


def refuted(analyses: Iterable[Analysis], bounds: Sequence[Analysis], deltas: Sequence[float]) -> dict[str, str]:
    """The valid analyses that some pair refutes at one of the deltas, by name, with both lines in words."""
    complaints: dict[str, str] = {}
    lines = [(bound, bound.at(deltas)) for bound in bounds]
    for analysis in analyses:
        promised = analysis.at(deltas) if analysis.valid else []
        for bound, lower in lines if promised else []:
            for delta, eps, low in zip(deltas, promised, lower, strict=True):
                # an absolute 1e-12 too, for guarantees of epsilon 0
                if covers(analysis, bound) and low > eps * (1 + ROUNDING) + 1e-12:
                    sides = f"{analysis.name} promises {up(eps)}, and {bound.name} attains {down(low)}"
                    complaints.setdefault(
                        analysis.name, f"an error of dpexp, please report it: at delta = {delta:g} {sides}"
                    )
    return complaints
