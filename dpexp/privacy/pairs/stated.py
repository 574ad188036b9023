"""The line of a privacy statement that searched pairs add: `worst-pair`, never below today's pair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from dpexp.privacy.analyses.analysis import LAST
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.pairs import kept, shipped
from dpexp.privacy.pairs.certified import Certificate, NotCertified, certified, curve, evaluated
from dpexp.privacy.pairs.mechanisms import NotSearched, walled
from dpexp.privacy.pairs.search import search
from dpexp.privacy.pairs.walled import Walled

NAME = "worst-pair"
NEAR = 2
"""pairs that were found more decades of delta away are not asked: each costs the time of a law"""


def every_lower_bound(
    mechanism: Mechanism, place: Path | None = None, fresh: Sequence[Certificate] = ()
) -> list[LowerBound]:
    """A mechanism's own lower bounds, and what pairs attain: shipped ones, those kept in `place`, and fresh ones."""
    own = mechanism.lower_bounds()
    try:
        space = walled(mechanism)
    except NotSearched:
        return own
    known = list(dict.fromkeys([*shipped.pairs_of(space), *kept.read(space, place), *((c.pair, c.eps) for c in fresh)]))
    return [*own, line(space, known, own)] if known else own


def line(space: Walled, known: Sequence[kept.Known], own: Sequence[LowerBound]) -> LowerBound:
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
    space, found = walled(mechanism), []
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
