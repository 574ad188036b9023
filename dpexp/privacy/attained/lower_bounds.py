"""Lower bounds: what no analysis can get below, because one pair of neighbouring data sets attains it.

The rule of one table: no guarantee is below what a pair attains of what it covers. Where it is, one of the two is an
error of dpexp. Nobody can tell which, so the guarantee is what is withdrawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from dpexp.core.text import down, up
from dpexp.privacy.accounting.gdp import eps_of
from dpexp.privacy.accounting.loss_distributions import Scheme, step_loss
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis, Released
from dpexp.privacy.attained.linear_loss import LinearLoss

if TYPE_CHECKING:
    from dpexp.privacy.attained.walk import HockeyStick, Walk

WIDEST = 120.0
"""set in noise units up to which the exact law is computed within a second"""
MOST_WORK = 1.2e5
"""squared width times the number of maps, up to which it is"""
LINEAR_PAIRS = {
    "add-remove": "linear losses: the record's gradient is C, against none",
    "replace-one": "linear losses: the record's gradient is C, against -C",
    "fixed-size": "linear losses: the record's gradient is C, against -C; all others' are C",
}


@dataclass(frozen=True)
class LowerBound:
    """The exact privacy loss of one pair of neighbours."""

    name: str
    released: Released
    pair: str
    eps: Callable[[float], float]
    """delta -> epsilon"""

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


Maps = tuple[tuple[float, float], ...]
"""(probability, factor) pairs: y -> factor y"""


@dataclass(frozen=True)
class Moves:
    """One step of two neighbours in one dimension, in noise units, before noise and projection.

    With probability 1 - q the record is not in the batch and a map of `kept` is drawn; with probability q one of `met`,
    plus the record's slope. Where the record is removed only `kept` is drawn. Both lists come from the literal update:
    how many records are in a batch decides how far quadratic losses pull.
    """

    q: float
    slope: float
    kept: Maps
    met: Maps
    dropped: float = 0.0
    """probability of the batch sizes that are left out"""

    @property
    def turning(self) -> bool:
        """Whether a map reverses the order of points: otherwise opposite slopes are the farthest apart."""
        return min(factor for _, factor in (*self.kept, *self.met)) < 0

    def walk(self, half_width: float, sign: float, removed: bool) -> Walk:
        """The walk of the record with slope `sign` times `slope`, or of the data set without it."""
        from dpexp.privacy.attained.walk import affine

        if removed:
            drawn = [(p, factor, 0.0) for p, factor in self.kept]
        else:
            drawn = [((1 - self.q) * p, factor, 0.0) for p, factor in self.kept if self.q < 1]
            drawn += [(self.q * p, factor, sign * self.slope) for p, factor in self.met]
        return affine(half_width, drawn)


def exact_walk(moves: Moves, width: float, steps: int, replaced: bool, pair: str) -> list[LowerBound]:
    """The last iterate of a walk on a set `width` noise units wide, rounded down.

    `replaced`: the other data set has a record of the opposite slope, else none; both orders. Where a step can turn the
    set around, a slope may be told better from a flat record than from the opposite one, and the larger holds. Empty
    where the set is too wide or unbounded, or where the maps are too many to be done within a second.
    """
    work = width * width * (len(moves.kept) + len(moves.met))
    if not (0 < width <= WIDEST and steps > 0 and moves.slope > 0 and work <= MOST_WORK):
        return []
    # P(S) >= (1 - l) P'(S) and Q(S) <= (1 - l) Q'(S) + l, for the laws P', Q' given that no size left out is drawn and
    # the probability l that one is
    lost = min(1.0, steps * moves.dropped)
    return [LowerBound("exact-walk", LAST, pair, lambda delta: _attained(moves, width, steps, replaced, lost, delta))]


def _attained(moves: Moves, width: float, steps: int, replaced: bool, lost: float, delta: float) -> float:
    # walks that have forgotten where they were have one law for all larger numbers of steps, and its answers are kept
    # the largest of the walks' numbers, because both laws are needed after as many steps
    steps = max(walk.as_good_as(steps) for walk in _walks(moves, width, replaced))
    return _at_steps(moves, width, steps, replaced, lost, delta)


@lru_cache(maxsize=1024)
def _at_steps(moves: Moves, width: float, steps: int, replaced: bool, lost: float, delta: float) -> float:
    return max(stick.eps(delta, lost) for stick in _sticks(moves, width, steps, replaced))


def _walks(moves: Moves, width: float, replaced: bool) -> list[Walk]:
    """Of the record with its slope, and of no record or a flat one where an order of neighbours has it."""
    flat = not replaced or moves.turning
    return [moves.walk(width / 2, 1.0, False), *([moves.walk(width / 2, 0.0, not replaced)] if flat else [])]


@lru_cache(maxsize=4)
def _sticks(moves: Moves, width: float, steps: int, replaced: bool) -> Sequence[HockeyStick]:
    from dpexp.privacy.attained.walk import HockeyStick, Law

    # both orders of the record against none, or against a flat one
    record, *others = (Law(walk, steps) for walk in _walks(moves, width, replaced))
    pairs = [pair for other in others for pair in ((record, other), (other, record))]
    if replaced:  # opposite slopes are each other's mirror image: one order is enough
        pairs.append((record, record.mirrored(moves.walk(width / 2, -1.0, False))))
    return [HockeyStick(*pair) for pair in pairs]


def linear_last(q: float, multiplier: float, steps: int, scheme: Scheme) -> list[LowerBound]:
    """The last iterate of linear losses on an unbounded set, whose record is in a batch with probability q."""
    law = LinearLoss(q, multiplier, steps, scheme)
    return [LowerBound("linear-loss", LAST, LINEAR_PAIRS[scheme], cache(law.eps))] if law.written else []


def linear_cyclic(visits: int, multiplier: float, steps: int, distance: float) -> LowerBound:
    """The same for a record that is in `visits` of the batches: the sum moves by visits distance in noise sqrt(T) z."""
    mu = visits * distance / (math.sqrt(steps) * multiplier)
    pair = "linear losses: the record's gradient is C, against " + ("-C" if distance == 2 else "none")
    return LowerBound("linear-loss", LAST, pair, lambda delta: eps_of(mu, delta))


def attained(q: float, multiplier: float, steps: int, scheme: Scheme) -> LowerBound:
    """All noisy sums released, constant gradients: the composition itself, rounded down."""
    loss, distance = step_loss(q, multiplier, scheme), 2.0 if scheme == "replace-one" else 1.0
    pair = "constant gradients: the record's against no record" + (
        "'s" if scheme == "add-remove" else ", or the opposite one"
    )

    @cache
    def eps(delta: float) -> float:
        if q == 1:
            return eps_of(math.sqrt(steps) * distance / multiplier, delta)
        return loss.attained(steps, delta)

    return LowerBound("exact-composition", ALL, pair, eps)


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
