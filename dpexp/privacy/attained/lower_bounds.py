"""Lower bounds: what no analysis can get below, because one pair of neighbouring data sets attains it.

The rule of one table: no guarantee is below what a pair attains of what it covers. Where it is, one of the two is an
error of dpexp. Nobody can tell which, so the guarantee is what is withdrawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from dpexp.accounting import linear
from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.sampling import Relation, Scheme
from dpexp.accounting.steps import step_loss
from dpexp.core.text import down, up
from dpexp.privacy.analyses.analysis import (
    ALL,
    LAST,
    Analysis,
    Released,
)

if TYPE_CHECKING:
    from dpexp.privacy.exact.projected_run import ProjectedRun

WIDEST = 120.0
"""set in noise units up to which the exact law is computed within a second"""
MOST_WORK = 1.2e5
"""squared width times the number of maps, up to which it is"""
MOST_SIZES = 400
"""numbers of records in a batch up to which it is"""
LINEAR_PAIRS = {
    "add-remove": "linear losses: the record's gradient is C, against none",
    "replace-one": "linear losses: the record's gradient is C, against -C",
    "fixed-size": "linear losses: the record's gradient is C, against -C; all others' are C",
}
CONSTANT: dict[Relation, str] = {
    "add-remove": "constant gradients: the record's against no record's",
    "replace-one": "constant gradients: the record's against no record, or the opposite one",
}


@dataclass(frozen=True)
class LowerBound:
    """The exact privacy loss of one pair of neighbours."""

    name: str
    released: Released
    pair: str
    eps: Callable[[float], float]
    """delta -> epsilon"""

    @cached_property
    def curve(self) -> Curve:
        """The same, asked as delta, error rates and advantage."""
        return Curve(self.eps, "below")

    def at(self, deltas: Sequence[float]) -> list[float]:
        """Epsilon at each of the deltas; what is attained at a larger one is attained at a smaller one."""
        eps = {delta: self.eps(delta) for delta in deltas}
        return [max(eps[larger] for larger in deltas if larger >= delta) for delta in deltas]

    def statement(self, deltas: Sequence[float]) -> dict[str, Any]:
        """The bound as one dict of `dpexp privacy --json`."""
        return {
            "analysis": self.name,
            "released": self.released,
            "pair": self.pair,
            "eps": [[delta, eps] for delta, eps in zip(deltas, self.at(deltas), strict=True)],
        }


def exact_walk(run: ProjectedRun, pair: str) -> list[LowerBound]:
    """The last iterate of a run in one dimension, by the program that judges every bound, rounded down.

    The others pull nowhere but by their curvature, and the record as hard as it may; the other data set has a record of
    the opposite slope, or none; both orders. Where a step can turn the set around, a slope may be told better from a
    flat record than from the opposite one, and the larger holds. Empty where the set is too wide or unbounded, or where
    the maps are too many to be done within a second.
    """
    from dpexp.privacy.exact import runs

    width, sizes = 2 * run.half_width, run.sizes
    fits = 0 < width <= WIDEST and len(sizes) <= MOST_SIZES and width * width * 2 * len(sizes) <= MOST_WORK
    if not (fits and run.steps > 0 and run.room > 0):
        return []
    eps = cache(lambda delta: max(runs.pair(*both).eps(delta) for both in run.neighbors()))
    return [LowerBound("exact-walk", LAST, pair, eps)]


def linear_last(q: float, multiplier: float, steps: int, scheme: Scheme) -> list[LowerBound]:
    """The last iterate of linear losses on an unbounded set, whose record is in a batch with probability q."""
    eps = linear.eps_of_scheme(q, multiplier, steps, scheme)
    return [LowerBound("linear-loss", LAST, LINEAR_PAIRS[scheme], cache(eps))] if eps else []


def linear_cyclic(visits: int, multiplier: float, steps: int, distance: float) -> LowerBound:
    """The same for a record that is in `visits` of the batches: the sum moves by visits distance in noise sqrt(T) z."""
    mu = visits * distance / (math.sqrt(steps) * multiplier)
    pair = "linear losses: the record's gradient is C, against " + ("-C" if distance == 2 else "none")
    return LowerBound("linear-loss", LAST, pair, lambda delta: eps_of(mu, delta))


def attained(q: float, multiplier: float, steps: int, scheme: Scheme) -> LowerBound:
    """All noisy sums released, constant gradients: the composition itself, rounded down."""
    loss, distance = step_loss(q, multiplier, scheme), 2.0 if scheme == "replace-one" else 1.0
    pair = CONSTANT["add-remove" if scheme == "add-remove" else "replace-one"]

    @cache
    def eps(delta: float) -> float:
        if q == 1:
            return eps_of(math.sqrt(steps) * distance / multiplier, delta)
        return loss.attained(steps, delta)

    return LowerBound("exact-composition", ALL, pair, eps)


def constant_gradients(q: float, multiplier: float, steps: int, relation: Relation) -> list[LowerBound]:
    """What all sums attain, and the last iterate, which shows no more than they do."""
    return [attained(q, multiplier, steps, relation), *linear_last(q, multiplier, steps, relation)]


def with_last_iterate(bounds: Sequence[LowerBound]) -> list[LowerBound]:
    """Who sees all iterates sees the last one: of them is attained at least what the last one attains."""
    found = [replace(bound, eps=cache(bound.eps)) for bound in bounds]
    last = [bound for bound in found if bound.released == LAST]
    return [_with_last(bound, last) if bound.released == ALL and last else bound for bound in found]


def _with_last(bound: LowerBound, last: Sequence[LowerBound]) -> LowerBound:
    names = " or ".join(one.name for one in last)
    return replace(
        bound,
        pair=f"{bound.pair}; or the pair of {names}, where that attains more",
        eps=cache(lambda delta: max(one.eps(delta) for one in (bound, *last))),
    )


ROUNDING = 1e-9
"""of an epsilon: guarantees are rounded up and what is attained down, but for the last digits of a few closed forms"""


def covers(analysis: Analysis, bound: LowerBound) -> bool:
    """Whether what the pair shows is covered: who sees all iterates sees the last one, and not the other way round."""
    return bound.released == LAST or (analysis.released == bound.released and not analysis.secret)


def refuted(analyses: Iterable[Analysis], bounds: Sequence[LowerBound], deltas: Sequence[float]) -> dict[str, str]:
    """The valid analyses that some pair refutes at one of the deltas, by name, with both lines in words."""
    complaints: dict[str, str] = {}
    shown = [(bound, bound.at(deltas)) for bound in bounds]
    for analysis in analyses:
        promised = analysis.at(deltas) if analysis.valid else []
        for bound, attained in shown if promised else []:
            for delta, eps, low in zip(deltas, promised, attained, strict=True):
                # an absolute 1e-12 too, for guarantees of epsilon 0
                if covers(analysis, bound) and low > eps * (1 + ROUNDING) + 1e-12:
                    said = f"{analysis.name} promises {up(eps)}, and {bound.name} attains {down(low)}"
                    complaints.setdefault(
                        analysis.name, f"an error of dpexp, please report it: at delta = {delta:g} {said}"
                    )
    return complaints
