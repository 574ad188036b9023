"""The line of a privacy statement that searched pairs add: `worst-pair`, never below today's pair."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.exact.projected_run import NotSearched, ProjectedRun
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.pairs import kept, shipped
from dpexp.privacy.pairs.certified import Certificate, NotCertified, certified, curve, evaluated
from dpexp.privacy.pairs.search import search

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
        pairs = [*shipped.pairs_of(space), *kept.read(space, place), *((c.pair, c.eps) for c in fresh)]
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
