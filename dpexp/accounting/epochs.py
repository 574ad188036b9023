"""Epochs in which a record is in one random batch: epsilon rounded up, and what constant gradients attain.

`allocation` has the loss of one epoch; epochs are independent, and `compose` sums them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

from dpexp.accounting.allocation import LARGEST, REACH, Atoms, OnGrid, one_epoch_above, one_epoch_below
from dpexp.accounting.compose import Composed, TooWide
from dpexp.accounting.curve import Side
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.grid import UNIT, from_below

FINE_BELOW, MOST_BELOW = 60.0, 20_000
"""points of the grid from below in a standard deviation of an epoch's loss, and at most on either side of 0"""
SHARES, LEAST_SHARE = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9), 1e-250
"""of delta, for the first of two steps; and the least delta of the second step"""
MOST_NOISES = 8
"""laws of an epoch that are composed where noise differs: each takes a few tenths of a second"""
Groups = tuple[tuple[float, int], ...]
"""(noise in units of the least, number of epochs), noise increasing"""


class EpochLoss:
    """One epoch of `batches` noisy sums; `mu` is how far one record moves its sum, in deviations of the noise.

    With the probability `left_out` the record is in none of the batches; from above that is taken to be 0.
    """

    def __init__(self, mu: float, batches: int, left_out: float = 0.0) -> None:
        if not (0 < mu < math.inf and batches >= 1 and 0 <= left_out < 1):
            raise ValueError(f"need a finite distance above 0 and a batch, not {mu} and {batches}")
        self.mu, self.batches, self.left_out = float(mu), batches, left_out

    @property
    def finite(self) -> bool:
        """Whether the largest loss is small enough for its exponential to be a number."""
        return self.mu * (self.mu / 2 + REACH) <= LARGEST

    def eps(self, epochs: int, delta: float) -> float:
        """Epsilon of so many epochs, rounded up, both orders of the neighbours."""
        return _eps(((self, epochs),), delta)

    def eps_of_replaced(self, epochs: int, delta: float) -> float:
        """Epsilon where a record is replaced by any other: it is removed, then the other is added.

        From P(S) <= e^e1 Q(S) + d1 and Q(S) <= e^e2 P'(S) + d2 follows P(S) <= e^(e1 + e2) P'(S) + d1 + e^e1 d2. Every
        split of delta is valid.
        """
        best = eps_of(2 * self.mu * math.sqrt(epochs), delta)  # with the batches shown
        if epochs == 0 or not self.finite or not 0 < delta < 1:
            return best
        with contextlib.suppress(TooWide):
            removed, added = losses_of(((self, epochs),), "above")
            for share in SHARES:
                first = removed.eps(share * delta)
                rest = (1 - share) * delta * math.exp(-min(first, LARGEST))
                best = min(best, first + (added.eps(rest) if rest >= LEAST_SHARE else math.inf))
        return best

    def attained(self, epochs: int, delta: float) -> float:
        """What the pair itself attains, rounded down; 0 where it is not known."""
        if epochs == 0 or not self.finite or not 0 < delta < 1:
            return 0.0
        try:
            return max(law.eps(delta) for law in losses_of(((self, epochs),), "below"))
        except TooWide:
            return 0.0

    def sides(self, epochs: int, delta: float) -> dict[str, tuple[float, float]]:
        """Brackets of epsilon for a record that is removed, and for one that is added."""
        below, above = (losses_of(((self, epochs),), side) for side in ("below", "above"))
        pairs = zip(("remove", "add"), below, above, strict=True)
        return {name: (low.eps(delta), high.eps(delta)) for name, low, high in pairs}

    @cached_property
    def dominating(self) -> OnGrid:
        """The pair of one epoch, from above."""
        return one_epoch_above(self.mu, self.batches)

    @cached_property
    def dominated(self) -> Atoms:
        """The same from below."""
        pair = one_epoch_below(self.mu, self.batches)
        if not self.left_out:
            return pair
        # the order of p / q stays
        return Atoms((1 - self.left_out) * pair.p + self.left_out * pair.q, pair.q, pair.relative + 4 * UNIT)


@lru_cache(maxsize=64)
def losses_of(kinds: tuple[tuple[EpochLoss, int], ...], side: Side) -> tuple[Composed, Composed]:
    """The losses of a removed and of an added record in epochs, how many of each kind; from below of one kind."""
    if side == "above":
        pairs = [(epoch.dominating, count) for epoch, count in kinds]
        # intervals are powers of 2, so that the finest grid has the points of all others
        interval = min(pair.interval for pair, _ in pairs)
        fine = [(pair.refined(interval), count) for pair, count in pairs]
        laws = [(pair.removed, count) for pair, count in fine], [(pair.added, count) for pair, count in fine]
    else:
        ((epoch, count),) = kinds
        pair = epoch.dominated
        low, high, spread = pair.range
        # the loss of the exchanged pair is minus that of the pair, and both use one grid
        reach = max(abs(low), abs(high))
        interval = max(spread / FINE_BELOW, reach / MOST_BELOW)
        cells, one, other = math.ceil(reach / interval) + 1, pair.curve, pair.swapped.curve
        removed, added = (
            from_below(*curves, cells, interval, pair.relative) for curves in ((one, other), (other, one))
        )
        laws = [(removed, count)], [(added, count)]
    return Composed(laws[0], interval, side), Composed(laws[1], interval, side)


def _eps(kinds: tuple[tuple[EpochLoss, int], ...], delta: float) -> float:
    """Epsilon of epochs, rounded up, both orders of the neighbours."""
    # showing the batches leaves Gaussian steps: a bound that needs no grid, where it is smaller
    known = eps_of(math.sqrt(math.fsum(count * epoch.mu**2 for epoch, count in kinds)), delta)
    kinds = tuple(kind for kind in kinds if kind[1])
    if not kinds or not all(epoch.finite for epoch, _ in kinds) or not 0 < delta < 1:
        return known
    try:
        return min(known, max(law.eps(delta) for law in losses_of(kinds, "above")))
    except TooWide:
        return known


def composed_epochs_eps(kinds: Sequence[tuple[float, int, int]], delta: float) -> float:
    """Epsilon of epochs of several kinds, rounded up, both orders of the neighbours.

    A kind is how far one record moves its sum in deviations of the noise, the batches of an epoch, and how many such
    epochs there are.
    """
    return _eps(tuple((epoch_loss(mu, batches), count) for mu, batches, count in kinds), delta)


def varying_epochs_eps(mu: float, batches: int, groups: Groups, delta: float) -> float:
    """Epsilon of epochs whose noise differs, rounded up, both orders of the neighbours.

    `mu` is how far one record moves its sum over the least noise; `groups` are the noises of the epochs over that
    least one, and how many there are of each.
    """
    groups = coarser(groups, MOST_NOISES)
    return composed_epochs_eps([(mu / relative, batches, count) for relative, count in groups], delta)


def coarser(groups: Groups, most: int) -> Groups:
    """At most so many groups, neighbours together at the least of their noises: less noise only helps an adversary."""
    size = -(-len(groups) // most)
    parts = [groups[k : k + size] for k in range(0, len(groups), size)]
    return tuple((part[0][0], sum(count for _, count in part)) for part in parts)


@lru_cache(maxsize=32)
def epoch_loss(mu: float, batches: int, left_out: float = 0.0) -> EpochLoss:
    """An epoch that is shared by all who ask for it, so that its law is computed once."""
    return EpochLoss(mu, batches, left_out)
