"""A step of several kinds, of which the adversary learns which one it was: one pair of neighbours for each kind.

A step draws a kind k, with probability w_k where the record is there and v_k where it is not, and releases a sampled
Gaussian pair: the record is met with probability q_k, and then moves the mean by mu_k deviations of the noise. So are
Poisson batches whose sizes are known (`shown_sizes`), and those that are cut where they are too large (`truncated`).

(a) The hockey-stick curve of a pair (P, Q) is H(eps) = sup over events of P(S) - e^eps Q(S). With the kind shown, the
best event is the best one for each kind, so H(eps) = sum_k w_k H_k(eps - log(w_k / v_k)).
(b) Kinds of a total probability below `LEAST_KIND` are left out, and what they have counts as a loss without bound.
(c) Between points of a grid the curve is replaced by its chord in e^eps, which lies above a convex function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Literal

import numpy as np

from dpexp.accounting import pairs
from dpexp.accounting.binomials import binomial_log_masses, likely_counts
from dpexp.accounting.curve import Side
from dpexp.accounting.functions import exp
from dpexp.accounting.grid import Discrete
from dpexp.accounting.sampling import Scheme
from dpexp.accounting.steps import REACHES, Profile, StepLoss

LEAST_KIND = 1e-30
"""probability of a kind that is left out: a million of them over a million steps are far below any delta"""
LEAST_OVER = 1e-290
"""probability of a cut batch below which a double has few digits left, and far below all deltas that are stated"""
FEW, AT_ONCE = 4, 64
"""kinds up to which the curve is evaluated at all points, and whose curves are evaluated together"""
BULK, LADDER = 400, 1.005
"""points of the grid on which the curve itself is evaluated, ten deviations of a step's loss, and ratio of two
neighbouring points beyond: chords of half a percent of a loss move its square by a 100,000th"""


class MixedStep(StepLoss):
    """Kinds of one scheme, as arrays over the kinds; used from above only.

    `present` and `absent` are the probabilities of the kinds with and without the record, [kinds]; of replaced records,
    whose scheme is `fixed-size`, they are equal. `lost` is what the kinds that are left out have; `unsampled` the mu of
    a Gaussian step that is no better, inf where the kinds themselves tell the record.
    """

    def __init__(
        self,
        present: np.ndarray,
        absent: np.ndarray,
        q: np.ndarray,
        mu: np.ndarray,
        scheme: Scheme,
        lost: float = 0.0,
        unsampled: float = math.inf,
    ) -> None:
        super().__init__(float(q.max()), 1 / float(mu.max()), scheme)
        self.present, self.absent, self.shares, self.distances = present, absent, q, mu
        self.lost, self._unsampled = lost, unsampled

    @cached_property
    def curves(self) -> list[tuple[Profile, Profile]]:
        shift = np.log(self.present / self.absent)
        if self.scheme == "fixed-size":
            both = partial(self._sum, pairs.symmetrised, self.present, shift)
            return [(both, both)]
        removed = partial(self._sum, pairs.removing, self.present, shift)
        added = partial(self._sum, pairs.adding, self.absent, -shift)
        return [(removed, added), (added, removed)]

    def _sum(
        self, curve: Callable[..., np.ndarray], weights: np.ndarray, shift: np.ndarray, eps: np.ndarray
    ) -> np.ndarray:
        """(a), at the points of (c): the bulk, and a geometric ladder farther out."""
        at = np.arange(len(eps))
        if len(self.shares) > FEW:
            rungs = np.arange(math.ceil(math.log(max(len(eps) / BULK, 1)) / math.log(LADDER)) + 2)
            ladder = np.concatenate([np.arange(BULK), np.ceil(BULK * LADDER**rungs).astype(int)])
            at = np.unique(np.minimum(ladder, len(eps) - 1))
        heights = np.zeros(len(at))
        for k in range(0, len(weights), AT_ONCE):
            block = slice(k, k + AT_ONCE), np.newaxis
            for term in weights[block] * curve(eps[at] - shift[block], self.shares[block], self.distances[block]):
                heights += term
        return np.asarray(np.interp(np.exp(eps), np.exp(eps[at]), heights))

    def top(self, reach: float) -> float:
        """The largest loss of a kind at `reach` noise units beyond its far mean, its own log ratio included."""
        return self._ends[reach][0]

    def beyond(self, reach: float) -> float:
        """The mass above `top`, and that of step (b)."""
        return self._ends[reach][1]

    @cached_property
    def _ends(self) -> dict[float, tuple[float, float]]:
        """`top` and `beyond` at all reaches, which every delta asks for."""
        kinds = [StepLoss(q, 1 / mu, self.scheme) for q, mu in zip(self.shares, self.distances, strict=True)]
        shift, weights = np.abs(np.log(self.present / self.absent)), np.maximum(self.present, self.absent)
        return {
            reach: (
                max(by + kind.top(reach) for by, kind in zip(shift, kinds, strict=True)),
                self.lost + sum(weight * kind.beyond(reach) for weight, kind in zip(weights, kinds, strict=True)),
            )
            for reach in REACHES
        }

    def laws(self, interval: float, reach: float, side: Side) -> list[Discrete]:
        assert side == "above"
        laws = super().laws(interval, reach, side)
        return [replace(law, unbounded=law.unbounded + self.lost) for law in laws]

    def accuracy(self, reach: float) -> float:
        """Of the kind that moves the mean least."""
        return 3e-14 * reach**2 * (1 + 1 / float(self.distances.min()))

    @property
    def unsampled(self) -> float:
        return self._unsampled

    def rdp(self, order: float) -> float:
        return order * self._unsampled**2 / 2


@lru_cache(maxsize=16)
def shown_sizes(n: int, q: float, multiplier: float, relation: Literal["add-remove", "replace-one"]) -> MixedStep:
    """A Poisson batch of the share q of n records whose size M is known; `multiplier` is noise over one record's norm.

    Added or removed: with the record M is Bin(n + 1, q), and given M the record is in the batch with probability
    M / (n + 1), the rest being a uniform subset of the others; without it M is Bin(n, q). Pair the two batches so that
    the record stands where one of the others stood. Then it moves the sum by up to two norms, and by convexity over the
    pairing nothing is worse than (1 - f) N(0, 1) + f N(2 mu, 1) against N(0, 1), f = M / (n + 1). All others' gradients
    C and the record's -C attain it. Replaced: M has one law, and given M the batch is a uniform subset, as a batch of
    fixed size is: where the record is not in it another one is, so that the sums differ by up to two norms.
    """
    replaced = relation == "replace-one"
    most = n if replaced else n + 1
    sizes, logs = likely_counts(most, q, math.log(LEAST_KIND))
    # a size that only the larger data set can have tells everything
    common = sizes <= n
    lost = float(exp(logs[~common]).sum()) + (most + 1 - len(sizes)) * LEAST_KIND
    sizes, present = sizes[common], exp(logs[common])
    # an empty batch shows its size alone; a share above 0 can only help the adversary
    shares = np.maximum(sizes / most, LEAST_KIND)
    mu = np.full(len(sizes), 2 / multiplier)
    if replaced:
        return MixedStep(present, present, shares, mu, "fixed-size", lost, 2 / multiplier)
    return MixedStep(present, exp(binomial_log_masses(sizes, n, q)), shares, mu, "add-remove", lost)


@lru_cache(maxsize=16)
def truncated(n: int, q: float, cap: int, multiplier: float) -> MixedStep:
    """A Poisson batch of n records, cut to a uniform subset of `cap` where it is larger; add-remove, sizes hidden.

    Let K be what the others draw, Bin(n - 1, q). The kinds are K < cap and K >= cap: showing which of the two a step is
    can only help the adversary.
    """
    from scipy.special import bdtrc

    # P(K >= cap)
    over, lost = float(bdtrc(cap - 1, n - 1, q)), 0.0
    if cap >= n or over < LEAST_OVER:
        over, share, lost = 0.0, q, over  # (b)
    else:
        # The record is met with the probability q cap / (K + 1). Given K >= cap the others' subset is uniform whatever
        # K is, so that K need not be shown, and the mean over K is (cap / n) P(Bin(n, q) > cap) / P(K >= cap).
        share = min(1.0, cap / n * float(bdtrc(cap, n, q)) / over)
    # below the cap the record moves the sum by one norm; above it stands where another would have stood: two norms
    weights, shares, mu = (np.array(pair) for pair in ((1 - over, over), (q, share), (1 / multiplier, 2 / multiplier)))
    kept = weights > 0
    return MixedStep(
        weights[kept], weights[kept], shares[kept], mu[kept], "add-remove", lost, unsampled=float(mu[kept].max())
    )
