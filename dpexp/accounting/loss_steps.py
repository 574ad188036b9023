"""Privacy loss distributions: the tightest composition of sampled Gaussian steps, rounded up, and what they attain.

A step is its hockey-stick curve, `loss_grid` puts it on a grid from above or from below, and `compose` sums.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from dpexp.accounting import pairs
from dpexp.accounting.binomials import binomial_log_masses, likely_counts
from dpexp.accounting.compose import MOST_CELLS, ComposedLoss, TooWide
from dpexp.accounting.curve import Curve, Side
from dpexp.accounting.functions import betainc, exp, log1p, ndtr
from dpexp.accounting.gaussian import delta_of, eps_of
from dpexp.accounting.loss_grid import Discrete, from_above, from_below
from dpexp.accounting.pairs import Relation, Sampling, Scheme
from dpexp.accounting.renyi import eps_of_curve, mixture_from_base, symmetrised

_FINEST, _COARSEST = 1e-10, 5e-3
"""limits of the interval of losses: they bind where a step's loss deviates by less than 4e-9, or by more than 0.2"""
_CELLS, _FEW_STEPS = 40, 1_000_000
"""cells of a step's deviation, which inflate epsilon by about 0.01% (15 by 0.04%, 4 by 1%); and steps up to which a
transform of all cells of their sum is fast with so fine a grid"""
_MOST_STEP_CELLS = 60_000  # of one step's law above 0: half a megabyte, and a few milliseconds for its curve
_LARGEST = 600.0  # loss up to which e^loss is a number: e^709 is the largest, and 600 leaves room for further factors
_LEAST_DISTANCE = 1e-15  # of two means in deviations, below which rounding of a curve is larger than the curve
REACHES = (6.0, 8.0, 10.0, 14.0, 20.0, 37.0)
"""noise units beyond the far mean up to which losses are kept: the normal law has 1e-9, 6e-16, 8e-24, .., 6e-300"""
_NEGLIGIBLE, _LARGE = 1e-5, 1e-2
"""part of delta that losses beyond the reach may take, by which it is overstated as they count as never bounded; and
delta from which on no rounding error is felt (relative to it, less than 1e-9)"""
FINER = 8  # parts of an interval where the usual grid is wider than the bulk of the losses
LEAST_DELTA = 1e-250  # below it masses are no longer numbers with all their digits, and there is no statement
ROUGH = 10**7  # steps from which on the grid is so coarse that the Renyi bound is computed too
MOST_KINDS = 256  # of steps that are composed as they are: each takes 7 ms and 0.8 MB
FEW, AT_ONCE = 4, 64
"""kinds of one step up to which its curve is evaluated at all points, and whose curves are evaluated together"""
BULK, LADDER = 400, 1.005
"""points of the grid on which the curve itself is evaluated, ten deviations of a step's loss, and ratio of two
neighbouring points beyond: chords of half a percent of a loss move its square by a 100,000th"""
CERTAIN = np.ones(1)
LEAST_KIND = 1e-30
"""probability of a kind that is left out: a million of them over a million steps are far below any delta"""
LEAST_OVER = 1e-290
"""probability of a cut batch below which a double has few digits left, and far below all deltas that are stated"""


def grid(spread: float, top: float, steps: int, kinds: int = 1) -> float:
    """Interval of losses of steps of so many kinds, of mean square deviation `spread`^2, losses up to `top`."""
    cells = _CELLS if steps <= _FEW_STEPS else max(4.0, 15 * min(1.0, math.sqrt(1e8 / steps)))
    limit = _MOST_STEP_CELLS if kinds < 4 else _MOST_STEP_CELLS // 4  # each kind is a law of its own
    return max(min(max(spread / cells, _FINEST), _COARSEST), top / limit)


class StepLoss:
    """One step, composed on demand; `multiplier` is noise over the distance that one record can move its mean.

    With `replace-one` (Poisson sampling) that distance is one record's norm, and the two means lie on opposite sides;
    with `fixed-size` it is the distance between the means of neighbours. A step of several kinds draws one, with
    probability `present` where the record is there and `absent` where it is not, and shows which: then all of these are
    arrays [kinds]. `lost` is the probability of kinds that are left out, which counts as a loss without bound, and
    `unsampled` the mu of a Gaussian step that is no better. Raises ValueError for other noise or q.
    (a) The hockey-stick curve of a pair (P, Q) is H(eps) = sup over events of P(S) - e^eps Q(S). With the kind shown
    the best event is the best one for each kind, so H(eps) = sum_k w_k H_k(eps - log(w_k / v_k)).
    (b) Between points of a grid the curve of many kinds is replaced by its chord in e^eps, above a convex function.
    """

    def __init__(
        self, q: float | np.ndarray, multiplier: float | np.ndarray, scheme: Scheme, present: np.ndarray = CERTAIN,
        absent: np.ndarray = CERTAIN, lost: float = 0.0, unsampled: float | None = None,
    ) -> None:  # fmt: skip
        self.shares, noise = np.atleast_1d(q).astype(np.float64), np.atleast_1d(multiplier).astype(np.float64)
        if not np.all((self.shares > 0) & (self.shares <= 1) & (noise > 0) & (noise < math.inf)):
            raise ValueError(f"need 0 < q <= 1 and a finite positive noise, not {q} and {multiplier}")
        self.distances, self.scheme = 1 / noise, scheme
        self.q, self.mu = float(self.shares.max()), float(self.distances.max())
        self.present, self.absent, self.lost = present, absent, lost
        # a step on all records is never better than one on a sample of them
        self.unsampled = self.mu * (2 if scheme == "replace-one" else 1) if unsampled is None else unsampled

    @cached_property
    def curves(self) -> list[tuple[pairs.Profile, pairs.Profile]]:
        """Curves at eps >= 0, each with that of the exchanged pair."""
        shift = np.log(self.present / self.absent)
        if self.scheme == "add-remove":
            removed = partial(self._sum, pairs.removing, self.present, shift)
            added = partial(self._sum, pairs.adding, self.absent, -shift)
            return [(removed, added), (added, removed)]
        kind = pairs.opposite if self.scheme == "replace-one" else pairs.symmetrised
        both = partial(self._sum, kind, self.present, shift)
        return [(both, both)]

    def _sum(
        self, curve: Callable[..., np.ndarray], weights: np.ndarray, shift: np.ndarray, eps: np.ndarray
    ) -> np.ndarray:
        """(a), of many kinds at the points of (b): the bulk, and a geometric ladder farther out."""
        at = np.arange(len(eps))
        if len(weights) > FEW:
            rungs = np.arange(math.ceil(math.log(max(len(eps) / BULK, 1)) / math.log(LADDER)) + 2)
            ladder = np.concatenate([np.arange(BULK), np.ceil(BULK * LADDER**rungs).astype(int)])
            at = np.unique(np.minimum(ladder, len(eps) - 1))
        heights = np.zeros(len(at))
        for k in range(0, len(weights), AT_ONCE):
            block = slice(k, k + AT_ONCE), np.newaxis
            for term in weights[block] * curve(eps[at] - shift[block], self.shares[block], self.distances[block]):
                heights += term
        return heights if len(at) == len(eps) else np.asarray(np.interp(np.exp(eps), np.exp(eps[at]), heights))

    @cached_property
    def spread(self) -> float:
        """Deviation of the bulk of one step's loss, which sets the grid: that of a normal law of equal total variation.

        A Gaussian pair whose loss has the deviation s has total variation 2 Phi(s / 2) - 1 = s / sqrt(2 pi) + O(s^3).
        The variance itself would not do: at small q it comes from losses that are rare.
        """
        return math.sqrt(2 * math.pi) * max(float(curve(np.zeros(1))[0]) for curve, _ in self.curves)

    def top(self, reach: float) -> float:
        """The loss at `reach` noise units beyond the far mean of any kind, above which a step has the mass `beyond`.

        At x = mu + reach, where N(mu, 1) is e^c times N(0, 1), c = mu x - mu^2 / 2, it is log(1 - q + q e^c), less the
        log density of the opposite mixture for `replace-one`, more the kind's own log ratio. The exchanged pair stays
        below: its loss at the mirrored place is -log(1 - q + q e^-c), and (1 - q + q e^c) (1 - q + q e^-c) >= 1.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            far, away = self.distances * (self.distances + reach), log1p(-self.shares)
            logs = np.log(self.shares) - self.distances**2 / 2
            other = np.logaddexp(away, logs - far) if self.scheme == "replace-one" else 0.0
            return float((np.logaddexp(away, logs + far) - other + np.abs(np.log(self.present / self.absent))).max())

    def beyond(self, reach: float) -> float:
        """Probability of a loss above `top`, (1 - q) Phi(-mu - reach) + q Phi(-reach) rounded up, and of lost kinds."""
        masses = np.maximum(self.present, self.absent) * (ndtr(-self.distances - reach) + self.shares * ndtr(-reach))
        return self.lost + float(masses.sum()) * (1 + 1e-9)

    def laws(self, interval: float, reach: float, side: Side) -> list[Discrete]:
        """One step on a grid, for every order of the neighbours that matters: from below the first one will do, which
        attained no less than the other wherever both were compared."""
        cells, fine = max(2, math.ceil(self.top(reach) / interval)), 1 if side == "above" else 2
        eps = interval / fine * np.arange(fine * cells + 1)
        orders = self.curves if side == "above" else self.curves[:1]
        heights = {curve: curve(eps) for order in orders for curve in order}
        # five times the relative error of the curves beside 60 digits in test_curves_have_the_stated_digits
        accuracy = 3e-14 * reach**2 * (1 + 1 / float(self.distances.min()))
        on_grid = from_above if side == "above" else from_below
        laws = (on_grid(heights[first], heights[second], interval, accuracy) for first, second in orders)
        return [replace(law, unbounded=law.unbounded + self.lost) for law in laws]

    def rdp(self, order: float) -> float:
        """Of one step; as if unsampled of several kinds, and of replaced records under Poisson sampling."""
        if self.scheme == "replace-one" or len(self.shares) > 1 or self.lost:
            return order * (self.unsampled * self.unsampled) / 2
        return (mixture_from_base if self.scheme == "add-remove" else symmetrised)(order, self.q, 1 / self.mu)

    def times(self, steps: int) -> Steps:
        """So many of them."""
        return Steps([(self, steps)])


class Steps(tuple[tuple[StepLoss, int], ...]):
    """Kinds of steps of one scheme, and how many of each: phases, groups of steps, or several runs, composed."""

    __slots__ = ()

    @staticmethod
    def sampled(
        noise_multiplier: float, q: float, count: int, sampling: Sampling = "poisson", relation: Relation = "add-remove"
    ) -> Steps:
        """Gaussian steps on random batches of the share q; noise over one record's norm, above 0 and finite."""
        # among others that pull one way, a record that is turned round moves the sum by two of its norms
        if sampling == "fixed-size":
            return step_loss(q, noise_multiplier / 2, "fixed-size").times(count)
        return step_loss(1.0 if sampling == "full-batch" else q, noise_multiplier, relation).times(count)

    @property
    def scheme(self) -> Scheme:
        return self[0][0].scheme

    @property
    def unsampled(self) -> float:
        """mu of the same steps on all records: Gaussian steps compose by adding squares of mu (Dong, Roth and Su)."""
        return math.hypot(*(math.sqrt(count) * step.unsampled for step, count in self))

    def rdp(self, order: float) -> float:
        """Renyi divergence, which adds up."""
        return math.fsum(count * step.rdp(order) for step, count in self)

    def with_gaussian(self, mu: float) -> Steps:
        """And mu-GDP, which is one more step on all records; nothing where mu is 0."""
        reach = 2.0 if self.scheme == "replace-one" else 1.0  # its opposite means are 2 apart
        return Steps([*self, (step_loss(1.0, reach / mu, self.scheme), 1)]) if mu > 0 else self

    @lru_cache(maxsize=1024)  # noqa: B019  # equal steps have one answer
    def eps(self, delta: float) -> float:
        """Epsilon at any delta, rounded up.

        Renyi divergences count where the loss distribution is out of reach (little noise, deltas below 1e-250, more
        steps than the grid can resolve) and where its grid is coarse: elsewhere they say less.
        """
        steps = self.few("above")
        if delta >= 1 or not steps:
            return 0.0
        if delta <= 0:  # a share of a delta, in a bound that splits it, can be too small for a number
            return math.inf
        eps = steps._by_losses(delta, "above")
        rough = math.isinf(eps) or sum(count for _, count in steps) >= ROUGH
        sampled = rough and any(step.q < 1 for step, _ in steps)
        return min(eps, eps_of(steps.unsampled, delta), eps_of_curve(steps.rdp, delta) if sampled else math.inf)

    @lru_cache(maxsize=1024)  # noqa: B019  # equal steps have one answer
    def delta(self, eps: float) -> float:
        """Delta at epsilon >= 0, rounded up."""
        steps = self.few("above")
        # without sampling the steps are one Gaussian step: a bound for every scheme, to begin with
        best = delta_of(steps.unsampled, eps)
        # the reach depends on the delta that is looked for: it grows until it is the one that its own answer needs
        for reach in REACHES[1:] if best > 0 else ():
            # at epsilon 0 delta is the total variation distance, which is the same in either order
            laws = _composed(steps, reach, "above")[: 1 if eps == 0 else 2]
            if not laws:
                break
            with contextlib.suppress(TooWide):  # the grid of the next reach is coarser
                best = min(best, max(law.delta(eps) for law in laws))
            needed = next(steps._reaches(best), None)
            # a delta that needs less than this reach is as it will be; a small one may still lose rounding errors
            if best == 0 or needed in (reach, None) or (needed < reach and best >= _LARGE):
                break
        return best

    @lru_cache(maxsize=1024)  # noqa: B019  # equal steps have one answer
    def attained(self, delta: float) -> float:
        """What the pair of these steps attains, rounded down; 0 where it is not known."""
        steps = self.few("below")
        if delta >= 1 or not steps:
            return 0.0
        # a grid wider than the bulk of the losses has nothing to show from below
        return steps._by_losses(delta, "below") or steps._by_losses(delta, "below", FINER)

    def _by_losses(self, delta: float, side: Side, finer: int = 1) -> float:
        """Epsilon of the loss distribution, in the worst order of the neighbours; inf or 0 where it is out of reach."""
        nothing = math.inf if side == "above" else 0.0
        for reach in self._reaches(delta):
            with contextlib.suppress(TooWide):  # the grid of the next reach is coarser
                return max((law.eps(delta) for law in _composed(self, reach, side, finer)), default=nothing)
        return nothing

    def _reaches(self, delta: float) -> Iterator[float]:
        """Those of `REACHES` beyond which the mass is negligible compared with delta; the first has the finest grid."""
        for reach in REACHES if delta >= LEAST_DELTA else ():
            # a sum of losses is lost where one of them is: at most the sum of the masses (union bound)
            if math.fsum(count * step.beyond(reach) for step, count in self) <= _NEGLIGIBLE * delta:
                yield reach

    @lru_cache(maxsize=64)  # noqa: B019  # equal steps have one answer
    def few(self, side: Side) -> Steps:
        """Each kind once, and at most `MOST_KINDS` kinds of plain steps: neighbours by q and noise become one.

        More noise, and a smaller q, are never easier to distinguish: a pair with t q is the pair with q on a share t of
        the steps and a pair of equal laws on the others, and hockey sticks are jointly convex.
        """
        counts: Counter[StepLoss] = Counter()
        for step, count in self:
            counts[step] += count
        kinds = [part for part in counts.items() if part[1]]
        if len(kinds) <= MOST_KINDS or any(len(step.shares) > 1 or step.lost for step, _ in kinds):
            return Steps(kinds)
        merged, end = [], max if side == "above" else min
        # by q, then by noise within those of about one q: a single order by both would join any noises
        for similar in chunks(sorted(kinds, key=lambda part: (part[0].q, part[0].mu)), math.isqrt(MOST_KINDS)):
            for like in chunks(sorted(similar, key=lambda part: part[0].mu), math.isqrt(MOST_KINDS)):
                q, mu = end(step.q for step, _ in like), end(step.mu for step, _ in like)
                merged.append((step_loss(q, 1 / mu, self.scheme), sum(count for _, count in like)))
        return Steps(merged)

    @property
    def curve(self) -> Curve:
        """What is guaranteed."""
        return Curve(self.eps, direct=self.delta, rdp=self.rdp, unsampled=self.unsampled)


NONE = Steps()


def chunks(items: list[Any], most: int) -> list[list[Any]]:
    """Items that follow each other, in parts of one size, at most so many."""
    size = max(1, -(-len(items) // most))
    return [items[k : k + size] for k in range(0, len(items), size)]


@lru_cache(maxsize=12)
def _composed(parts: Steps, reach: float, side: Side, finer: int = 1) -> tuple[ComposedLoss, ...]:
    """The loss of all steps, for every order of the neighbours that matters; empty where it cannot be written down."""
    # a top that is no number is that of a step with next to no noise
    if not all(step.top(reach) < _LARGEST and step.distances.min() > _LEAST_DISTANCE for step, _ in parts):
        return ()
    steps = sum(count for _, count in parts)
    spread = math.sqrt(math.fsum(count * step.spread**2 for step, count in parts) / steps)
    top = max(step.top(reach) for step, _ in parts)
    # a window of tilted mass 1 - 2 e^-36 is about 17 deviations of the sum wide
    interval = max(grid(spread, top, steps, len(parts)), 17 * math.sqrt(steps) * spread / MOST_CELLS) / finer
    laws = [_laws(step, interval, reach, side) for step, _ in parts]
    kinds = [[(own[k], count) for own, (_, count) in zip(laws, parts, strict=True)] for k in range(len(laws[0]))]
    return tuple(ComposedLoss(kind, interval, side) for kind in kinds)


_laws = lru_cache(maxsize=8)(StepLoss.laws)  # those of many numbers of steps: half a megabyte each
step_loss = lru_cache(maxsize=1024)(StepLoss)  # shared by all who ask for it, so that it is composed once


@lru_cache(maxsize=16)
def shown_sizes(n: int, q: float, multiplier: float, relation: Relation) -> StepLoss:
    """A Poisson batch of the share q of n records whose size M is known; `multiplier` is noise over one record's norm.

    Added or removed: with the record M is Bin(n + 1, q), and given M the record is in the batch with probability
    M / (n + 1), the rest being a uniform subset of the others; without it M is Bin(n, q). Pair the two batches so that
    the record replaces one of the others. Then it moves the sum by up to two norms, and by convexity over the
    pairing the worst is (1 - f) N(0, 1) + f N(2 mu, 1) against N(0, 1), f = M / (n + 1). All others' gradients
    C and the record's -C attain it. Replaced: M has one law, and given M the batch is a uniform subset, as a batch of
    fixed size is.
    """
    replaced = relation == "replace-one"
    trials = n if replaced else n + 1
    sizes, logs, log_others = likely_counts(trials, q, math.log(LEAST_KIND))
    # a size that only the larger data set can have identifies the record
    common = sizes <= n
    lost = float(exp(logs[~common]).sum()) + math.exp(log_others)
    sizes, present = sizes[common], exp(logs[common])
    # an empty batch shows its size alone; a share above 0 can only help the adversary
    shares, noise = np.maximum(sizes / trials, LEAST_KIND), np.full(len(sizes), multiplier / 2)
    if replaced:
        return StepLoss(shares, noise, "fixed-size", present, present, lost)
    # the sizes themselves depend on the record, so that no Gaussian step is a bound
    return StepLoss(shares, noise, "add-remove", present, exp(binomial_log_masses(sizes, n, q)), lost, math.inf)


@lru_cache(maxsize=16)
def truncated(n: int, q: float, cap: int, multiplier: float) -> StepLoss:
    """A Poisson batch of n records, cut to a uniform subset of `cap` where it is larger; add-remove, sizes hidden.

    Let K be what the others draw, Bin(n - 1, q). The kinds are K < cap and K >= cap: showing which of the two a step is
    can only help the adversary.
    """
    over, share, lost = float(betainc(cap, n - cap, q)) if cap < n else 0.0, q, 0.0  # P(K >= cap)
    if over < LEAST_OVER:
        over, lost = 0.0, over
    else:
        # The record is met with the probability q cap / (K + 1). Given K >= cap the others' subset is uniform whatever
        # K is, so that K need not be shown, and the mean over K is (cap / n) P(Bin(n, q) > cap) / P(K >= cap).
        share = min(1.0, cap / n * float(betainc(cap + 1, n - cap, q)) / over)
    # below the cap the record moves the sum by one norm; above it stands where another would have stood: two norms
    weights, shares, noise = (np.array(pair) for pair in ((1 - over, over), (q, share), (multiplier, multiplier / 2)))
    used = weights > 0
    return StepLoss(shares[used], noise[used], "add-remove", weights[used], weights[used], lost)
