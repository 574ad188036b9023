"""The rule of one table: no guarantee is below what a pair of neighbours attains of what it covers.

Where it is, one of the two is an error of dpexp. Nobody can tell which, so the guarantee is what is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from dpexp.core.text import down, up
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis

ROUNDING = 1e-9
"""of an epsilon: guarantees are rounded up and what is attained down, but for the last digits of a few closed forms"""


def with_last_iterate(bounds: Sequence[Analysis]) -> list[Analysis]:
    """Who sees all iterates sees the last one: of them is attained at least what the last one attains."""
    found = [replace(bound, eps=cache(bound.eps)) for bound in bounds]
    last = [bound for bound in found if bound.released == LAST]
    return [_with_last(bound, last) if bound.released == ALL and last else bound for bound in found]


def _with_last(bound: Analysis, last: Sequence[Analysis]) -> Analysis:
    names = " or ".join(one.name for one in last)
    return replace(
        bound,
        source=f"{bound.source}; or the pair of {names}, where that attains more",
        eps=cache(lambda delta: max(one.eps(delta) for one in (bound, *last))),
    )


def covers(analysis: Analysis, bound: Analysis) -> bool:
    """Whether what the pair shows is covered: who sees all iterates sees the last one, and not the other way round."""
    return bound.released == LAST or (analysis.released == bound.released and not analysis.secret)


def refuted(analyses: Iterable[Analysis], bounds: Sequence[Analysis], deltas: Sequence[float]) -> dict[str, str]:
    """The valid analyses that some pair refutes at one of the deltas, by name, with both lines in words."""
    complaints: dict[str, str] = {}
    lines = [(bound, bound.at(deltas)) for bound in bounds]
    for analysis in analyses:
        promised = analysis.at(deltas) if analysis.valid else []
        for bound, shown in lines if promised else []:
            for delta, eps, low in zip(deltas, promised, shown, strict=True):
                # an absolute 1e-12 too, for guarantees of epsilon 0
                if covers(analysis, bound) and low > eps * (1 + ROUNDING) + 1e-12:
                    said = f"{analysis.name} promises {up(eps)}, and {bound.name} attains {down(low)}"
                    complaints.setdefault(
                        analysis.name, f"an error of dpexp, please report it: at delta = {delta:g} {said}"
                    )
    return complaints
