"""What searched pairs attain: a pair's certificate, and the line `worst-pair` that they add to a privacy statement.

(a) Any pair whose drifts keep the clip is a lower bound, so that all there is to certify is its exact law. It is
computed with panels of two widths, which must give the same to `SAME`; what is stated is the smaller value less their
difference, rounded down. The tests hold the program of the law against two others, which share no code with it.
(b) The line is never below today's pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from dpexp.core.text import down
from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.exact import runs
from dpexp.privacy.exact.projected_run import NotSearched, Pair, ProjectedRun
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.pairs import kept
from dpexp.privacy.pairs.search import search

SAME = 1e-6
"""relative difference, of epsilon"""
LEAST = 1e-9
"""an epsilon below it is not told from 0"""


class NotCertified(ValueError):
    """The law of a pair depends on the panels."""


@dataclass(frozen=True)
class Certificate:
    """A pair with what it attains at its own delta."""

    pair: Pair
    eps: float
    """rounded down by the difference"""
    by_panels: tuple[float, float]
    """panels as they are, and half as wide"""

    def document(self) -> dict[str, Any]:
        """As plain numbers."""
        numbers = {"delta": self.pair.delta, "eps": self.eps, "by_panels": [*self.by_panels]}
        return numbers | {"knots": [*self.pair.knots], "others": [*self.pair.values], "start": self.pair.start}

    def text(self) -> str:
        """What was found and how it was checked."""
        return (
            f"a pair with epsilon {down(self.eps)} at delta = {self.pair.delta:g}, certified: {self.by_panels[0]:.9g} "
            f"and {self.by_panels[1]:.9g} with panels of two widths"
        )


def certified(pair: Pair, run: ProjectedRun) -> Certificate:
    """Raises NotCertified where the laws disagree, NotAllowed where the pair is none of the mechanism's."""
    one, other = pair.updates(run)
    both = [runs.pair(one, other, finer).eps(pair.delta) for finer in (1, 2)]
    wide, narrow = both
    # written so that what is no number is refused
    if not abs(wide - narrow) <= SAME * wide + LEAST:
        raise NotCertified(f"panels of two widths give {wide:.9g} and {narrow:.9g}")
    return Certificate(pair, max(0.0, min(both) - abs(wide - narrow)), (wide, narrow))


def curve(pair: Pair, run: ProjectedRun, eps: float = math.inf) -> Callable[[float], float]:
    """delta -> what the pair attains, rounded down: what a statement prints of a pair that it is given.

    `eps` was certified at the pair's own delta; all values are rounded down by as much as it was, and a number that is
    too large rounds by `SAME` all the same. The law is computed when it is first asked for, and once.
    """
    both = runs.pair(*pair.updates(run))

    @cache
    def share() -> float:
        # by how much the certificate lies below the law at the pair's own delta
        here = both.eps(pair.delta)
        return min(1 - SAME, eps / here) if here > 0 else 1 - SAME

    return lambda delta: both.eps(delta) * share()


def evaluated(pair: Pair, run: ProjectedRun, delta: float) -> float:
    """The same at one delta."""
    return curve(pair, run)(delta)


NAME = "worst-pair"
MORE = "; a search (--search SECONDS) may find a pair that attains several times as much"
NEAR = 2
"""pairs that were found more decades of delta away are not asked: each costs the time of a law"""


def every_lower_bound(
    mechanism: Mechanism, place: Path | None = None, fresh: Sequence[Certificate] = ()
) -> list[LowerBound]:
    """A mechanism's own lower bounds, and what pairs attain: shipped ones, those kept in `place`, and fresh ones."""
    found = mechanism.lower_bounds()
    # most mechanisms have no run in one dimension to search, and then no pairs
    with suppress(NotSearched):
        space = mechanism.projected_run()
        pairs = [*kept.pairs_of(space), *kept.read(space, place), *((c.pair, c.eps) for c in fresh)]
        if known := list(dict.fromkeys(pairs)):
            found = [*found, line(space, known, found)]
        else:
            found = [replace(b, pair=b.pair + MORE) if b.released == LAST else b for b in found]
    found = [replace(bound, eps=cache(bound.eps)) for bound in found]
    # who sees all iterates sees the last one: they attain at least what it does
    last = [bound for bound in found if bound.released == LAST]
    return [with_last(bound, last) if bound.released == ALL and last else bound for bound in found]


def with_last(bound: LowerBound, last: Sequence[LowerBound]) -> LowerBound:
    """The larger of what a pair attains of all iterates and of what others attain of the last one."""
    names = " or ".join(one.name for one in last)
    return replace(
        bound,
        pair=f"{bound.pair}; or the pair of {names}, where that attains more",
        eps=cache(lambda delta: max(one.eps(delta) for one in (bound, *last))),
    )


def line(space: ProjectedRun, known: Sequence[kept.Known], own: Sequence[LowerBound]) -> LowerBound:
    """The largest of what these pairs and the mechanism's own pairs attain of the last iterate, at any delta."""
    today = [bound.eps for bound in own if bound.released == LAST]
    curves = [(pair, curve(pair, space, eps)) for pair, eps in known]

    @cache
    def eps(delta: float) -> float:
        near = [own for pair, own in curves if abs(kept.decade(pair.delta) - kept.decade(delta)) <= NEAR]
        return max([0.0, *(bound(delta) for bound in today), *(attained(delta) for attained in near)])

    told = "; or ".join(f"(found at delta = {pair.delta:g}) {pair.text(space)}" for pair, _ in known)
    return LowerBound(NAME, LAST, f"the largest of: {told}" if len(known) > 1 else told, eps)


def searched(mechanism: Mechanism, deltas: Sequence[float], seconds: float, place: Path | None) -> list[Certificate]:
    """Searches for `seconds` in all, certifies the best pair at each delta and keeps the best of each decade.

    Raises NotSearched for a mechanism without a space to search.
    """
    space, found = mechanism.projected_run(), []
    for delta in deltas:
        for pair in reversed(search(space, delta, seconds / len(deltas))):
            try:
                # what a file will hold, so that a later statement prints the same
                found.append(certified(kept.pair_of(kept.document_of(pair), space), space))
                break
            except NotCertified:
                continue
    # an earlier certificate is believed as far as its law goes
    earlier = [(pair, min(eps, evaluated(pair, space, pair.delta))) for pair, eps in kept.read(space, place)]
    kept.write(space, kept.one_a_decade([*earlier, *((c.pair, c.eps) for c in found)]), place)
    return found
