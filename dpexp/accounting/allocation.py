"""A record in one of t batches, chosen at random: its privacy loss, surely too large or surely too small.

(a) All t noisy sums are released. With noise of standard deviation 1 and a record that moves its sum by mu, the pair of
laws is P = 1/t sum_j N(mu e_j, I) against Q = N(0, I) on R^t. It dominates every scheme in which a record draws its
batch independently of all others and is added or removed, and constant gradients attain it (docs page
notes-accounting).
(b) One coordinate is N(mu, 1) against N(0, 1); for a group A of a batches and B of b batches, with P_A the first law
given that the record is in A,
    P = a / (a + b) P_A x Q_B + b / (a + b) Q_A x P_B,    Q = Q_A x Q_B,
so that t batches take about log2 t combinations. The loss of a pair of atoms, one of each group, is the logarithm of
a / (a + b) e^(l_A) + b / (a + b) e^(l_B). A pair is kept as atoms: masses p, q and the loss l = log p / q. If
one channel makes P_A, Q_A out of P_A', Q_A', then combinations of the first are made out of those of the second, so
that atoms may be changed after every combination:
(c) above: an atom between g and g + h becomes two, with the masses (1 - y) q and y q under Q and e^g (1 - y) q and
  e^(g + h) y q under P, where y = (e^(l - g) - 1) / (e^h - 1). P and Q keep their masses, and merging the two gives the
  atom back.
(d) below: the atoms of a cell are merged into one, which is a channel for any cells: those in which their losses would
  be if the atoms of both groups lay at the beginning of theirs.
(e) Epochs are independent: their losses are summed by `compose`. One law serves both orders of the pair.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import pairwise, product

import numpy as np

from dpexp.accounting import pairs
from dpexp.accounting.compose import ComposedLoss, TooWide
from dpexp.accounting.curve import Side
from dpexp.accounting.functions import exp, expm1, log, normal_cells
from dpexp.accounting.gaussian import delta_of, eps_of
from dpexp.accounting.loss_grid import UNIT, Discrete, from_above, from_below
from dpexp.accounting.loss_steps import chunks

REACH, TRIMMED = 9.5, 1e-20
"""noise units beyond which a coordinate's outcomes are one atom: Phi(-9.5) = 1e-21; and mass that a combination may
push to infinity at either end"""
FINE, MOST = 32.0, 6000
"""points of the grid in a standard deviation of the loss, whose variance is misstated by 1e-3 at most; and of a grid: a
combination takes the square of it"""
LARGEST = 500.0  # loss: e^500 is a number
FINE_BELOW, MOST_BELOW = 60.0, 20_000  # as above, of an epoch's loss from below, on either side of 0
SHARES, LEAST_SHARE = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9), 1e-250
"""of delta, for the first of two steps; and the least delta of the second step"""
MOST_NOISES = 8  # laws of an epoch that are composed where noise differs: each takes a few tenths of a second


@dataclass(frozen=True)
class AtomPair:
    """Masses of Q, and from below of P, [1 or 2, A] in the cells of losses that begin at interval * (start + k).

    From above the atoms lie there, and P is e^loss Q.
    """

    side: Side
    start: int
    interval: float
    masses: np.ndarray
    p_only: float = 0.0  # mass under P where Q has none
    q_only: float = 0.0
    relative: float = 0.0  # error of every mass, from below

    @property
    def losses(self) -> np.ndarray:
        return self.interval * (self.start + np.arange(self.masses.shape[1]))

    @property
    def q(self) -> np.ndarray:
        return np.asarray(self.masses[0])

    @property
    def p(self) -> np.ndarray:
        return self.masses[1] if self.side == "below" else self.q * exp(self.losses) * (1 + 4 * UNIT)

    @property
    def removed(self) -> Discrete:
        """The loss of P against Q, from above."""
        return Discrete(self.start, self.p, self.p_only)

    @property
    def added(self) -> Discrete:
        """The loss of Q against P, from above."""
        return Discrete(-(self.start + len(self.q) - 1), self.q[::-1].copy(), self.q_only)

    def refined(self, interval: float) -> AtomPair:
        """The same atoms on a grid that is finer by a power of 2."""
        times = round(self.interval / interval)
        if times == 1:
            return self
        masses = np.zeros((len(self.masses), times * (len(self.q) - 1) + 1))
        masses[:, ::times] = self.masses
        return replace(self, start=times * self.start, interval=interval, masses=masses)

    def curve(self, eps: np.ndarray) -> np.ndarray:
        """D(eps) = sup over events of P - e^eps Q = sum of p_i (1 - e^(eps - l_i)) over l_i > eps, from below, [E]."""
        log_p, log_q = log(self.p), log(self.q)
        losses = log_p - log_q
        losses -= 4 * UNIT * (4 + np.abs(log_p) + np.abs(losses))
        order = np.argsort(losses)
        losses, p = losses[order], self.p[order]
        # with Q_k = sum of p_i e^(-l_i) over i >= k, D(eps) = D(l_k) + Q_k e^(l_k) (1 - e^(eps - l_k)) for eps in
        # [l_(k - 1), l_k]
        power = exp(losses)
        weights = np.cumsum((p / power)[::-1])[::-1] * power
        rises = weights[1:] * -expm1(losses[:-1] - losses[1:])
        at = np.concatenate([np.cumsum(rises[::-1])[::-1], [0.0]])
        k = np.minimum(np.searchsorted(losses, eps), len(losses) - 1)
        delta = at[k] + weights[k] * -expm1(np.minimum(eps - losses[k], 0.0))
        return np.asarray(delta * (1 - UNIT * (2 * len(losses) + 20)))  # two sums, one over the other


def normal(mu: float, side: Side) -> AtomPair:
    """N(mu, 1) against N(0, 1)."""
    h = _power_of_two(mu / FINE)
    cells = math.ceil(mu * (mu / 2 + REACH) / h)
    if side == "below":
        # the loss is mu (x - mu / 2); differences of neighbours lose digits where cells are narrow
        edges = h / mu * np.arange(-cells, cells + 1.0)
        masses = np.array([normal_cells(edges + mu / 2), normal_cells(edges - mu / 2)])
        return AtomPair(side, -cells - 1, h, masses, relative=8 * UNIT * (1 + mu / h))
    # from above the chords of its curve are (c), averaged over the outcomes of a cell
    curve = pairs.gaussian(h * np.arange(cells + 1.0), mu)
    # the exchanged pair is the same; five times the relative error of the curve as of all steps
    law = from_above(curve, curve, h, 3e-14 * REACH**2 * (1 + 1 / mu))
    q = law.masses * exp(-h * (law.start + np.arange(len(law.masses))))
    return AtomPair(side, law.start, h, q[np.newaxis] * (1 + 1e-12), law.unbounded, law.unbounded)


def combined(a: AtomPair, batches_a: int, b: AtomPair, batches_b: int) -> AtomPair:
    """The pair of both groups; its grid is finer where the loss is much narrower than before."""
    side, share = a.side, batches_a / (batches_a + batches_b)
    h = min(a.interval, b.interval)
    twins = a is b
    a, b = a.refined(h), b.refined(h)
    # the loss of both groups together is narrower than that of one by about the root of the larger group's share
    spread = max(_deviation(each.losses, each.q) for each in (a, b))
    narrower = math.sqrt(max(batches_a, batches_b) / (batches_a + batches_b)) * spread
    first, last = min(a.start, b.start), max(a.start + len(a.q), b.start + len(b.q))
    times = max(1, round(h / _power_of_two(max(narrower / FINE, h * (last - first) / MOST))))
    # the larger loss by log share at most, never above it
    low = first + math.floor(math.log(min(share, 1 - share)) / h) - 2
    out = np.zeros((len(a.masses), times * (last - low) + 2))
    step = h / times

    def parts(offsets: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """The cells of such losses [K], and what of their mass goes to a cell's beginning and, from above, its end."""
        cells = np.floor(offsets / step).astype(np.int64)
        if side == "below":
            return cells, [np.ones(len(cells))]  # (d)
        # (c), where the logarithm is off by so much
        ahead, slack = np.clip(offsets - cells * step, 0.0, step), 8 * UNIT * (1 + np.abs(offsets)) / step
        end = np.minimum(1.0, expm1(ahead) / math.expm1(step) + slack)
        begin = np.minimum(1.0, expm1(step - ahead) * exp(ahead) / math.expm1(step) + slack)  # 1 - end
        return cells, [begin, end]

    def put(start: int, cell: int, masses: np.ndarray) -> None:
        """Add masses on the losses h (start + j), so many cells further."""
        at = times * (start - low) + cell
        out[:, at : at + times * (masses.shape[1] - 1) + 1 : times] += masses

    def pairs_of(larger: AtomPair, share: float, other: AtomPair, nearest: int) -> None:
        """Pairs of atoms of which that of the one group is `nearest` or more steps h ahead of the other group's.

        Their loss is the larger one and a logarithm in which no power is large: (b).
        """
        ahead = np.arange(nearest, larger.start + len(larger.q) - other.start)
        cells, weights = parts(log(share + (1 - share) * exp(-h * ahead)))
        twice = np.where(ahead > 0, 2.0, 1.0) if twins else np.ones(len(ahead))
        # the numbers of steps of one cell follow each other: a convolution sums over them
        ends = np.flatnonzero(np.diff(cells, prepend=1, append=1)).tolist()
        for one, (begin, end) in product(range(len(weights)), pairwise(ends)):
            near = [np.convolve(row, (twice * weights[one])[begin:end]) for row in other.masses]
            first = int(ahead[begin]) + other.start - larger.start
            i, j = max(0, -first), max(0, first)
            count = min(len(near[0]) - i, len(larger.q) - j)
            of_other, own = np.array(near)[:, i : i + count], larger.masses[:, j : j + count]
            rows = [of_other[0] * own[0]]
            if side == "below":
                rows.append(share * own[1] * of_other[0] + (1 - share) * own[0] * of_other[1])
            put(larger.start + j, int(cells[begin]) + one, np.array(rows))

    pairs_of(a, share, b, 0)
    if not twins:
        pairs_of(b, 1 - share, a, 1)
    rounding = UNIT * (2 * max(len(a.q), len(b.q)) + 20)  # addends of a sum, and the products
    if side == "below":
        return _trimmed(AtomPair(side, times * low, step, out, relative=a.relative + b.relative + rounding))
    # where Q_B alone lies at -infinity, e^(l_B) is 0, and the loss that of A and log share
    for one, its, other in ((a, share, b), (b, 1 - share, a)):
        (cell,), weights = parts(np.array([math.log(its)]))
        for k, weight in enumerate(weights):
            put(one.start, int(cell) + k, weight * one.masses * other.q_only)
    total_a, total_b = float(a.q.sum()) + a.q_only, float(b.q.sum()) + b.q_only
    p_only = (share * a.p_only * total_b + (1 - share) * b.p_only * total_a) * (1 + 1e-12)
    # from above every rounding error enlarges a mass, since curves grow with masses
    return _trimmed(AtomPair(side, times * low, step, out * (1 + rounding), p_only, a.q_only * b.q_only))


def _trimmed(pair: AtomPair) -> AtomPair:
    """Without the ends, which have no mass to speak of."""
    p, q = pair.p, pair.q
    under, over = np.cumsum(q), np.cumsum(p[::-1])[::-1]
    right = int(np.flatnonzero(over > TRIMMED)[-1])
    first = min(int(np.searchsorted(under, TRIMMED, side="right")), right)
    masses = pair.masses[:, first : right + 1].copy()
    inner = replace(pair, start=pair.start + first, masses=masses)
    if pair.side == "below":  # (d)
        masses[:, 0] += pair.masses[:, :first].sum(axis=1)
        masses[:, -1] += pair.masses[:, right + 1 :].sum(axis=1)
        return inner
    # below the grid the rest of q becomes a loss of -infinity, above it the rest of p one of +infinity: the masses of P
    # and Q stay, as in (c)
    masses[0, 0] += float(p[:first].sum()) * math.exp(-pair.interval * (pair.start + first))
    masses[0, -1] += float(q[right + 1 :].sum())
    p_only, q_only = pair.p_only + float(p[right + 1 :].sum()), pair.q_only + float(q[:first].sum())
    return replace(inner, p_only=p_only, q_only=q_only)


def _deviation(losses: np.ndarray, masses: np.ndarray) -> float:
    total = float(masses.sum())
    mean = float((masses * losses).sum()) / total
    return math.sqrt(float((masses * (losses - mean) ** 2).sum()) / total)


def _power_of_two(bound: float) -> float:
    """The largest power of 2 that is not above."""
    return float(2.0 ** math.floor(math.log2(bound)))


def doubled(batch: AtomPair, batches: int) -> AtomPair:
    """The pair of so many batches from that of one, by binary doubling."""
    powers = [(batch, 1)]
    while 2 * powers[-1][1] <= batches:
        powers.append((combined(*powers[-1], *powers[-1]), 2 * powers[-1][1]))
    used = [power for power in powers if batches & power[1]]
    return reduce(lambda a, b: (combined(*a, *b), a[1] + b[1]), used)[0]


class EpochLoss:
    """One epoch of `batches` noisy sums; `mu` is how far one record moves its sum, in deviations of the noise.

    With the probability `left_out` the record is in none of the batches; from above that is taken to be 0.
    """

    def __init__(self, mu: float, batches: int, left_out: float = 0.0) -> None:
        if not (0 < mu < math.inf and batches >= 1 and 0 <= left_out < 1):
            raise ValueError(f"need a finite distance above 0 and a batch, not {mu} and {batches}")
        self.mu, self.batches, self.left_out = float(mu), batches, left_out
        self.finite = mu * (mu / 2 + REACH) <= LARGEST
        """whether the largest loss is small enough for its exponential to be a number"""

    def times(self, epochs: int) -> AllocatedEpochs:
        """So many of them."""
        return AllocatedEpochs([(self, epochs)])

    @cached_property
    def dominating(self) -> AtomPair:
        """The pair of one epoch, from above."""
        return doubled(normal(self.mu, "above"), self.batches)

    @cached_property
    def dominated(self) -> AtomPair:
        """The same from below; where the record may be left out, P is a mixture."""
        pair = doubled(normal(self.mu, "below"), self.batches)
        # what is left out only lowers the curve
        q, p = pair.masses[:, (pair.masses > 1e-290).all(axis=0)]
        mixture = (1 - self.left_out) * p + self.left_out * q if self.left_out else p
        return replace(pair, masses=np.array([q, mixture]), relative=pair.relative + 4 * UNIT)


epoch_loss = lru_cache(maxsize=32)(EpochLoss)  # shared by all who ask for it, so that its law is computed once


class AllocatedEpochs(tuple[tuple[EpochLoss, int], ...]):
    """Kinds of epochs, and how many of each, composed: both orders of the neighbours."""

    __slots__ = ()

    @classmethod
    def of(cls, kinds: Sequence[tuple[float, int, int]]) -> AllocatedEpochs:
        """From kinds (distance in deviations of the noise, batches, epochs).

        Of more than `MOST_NOISES`, whose batches are equally many, neighbours in the list are taken together at the
        largest distance, which can only help.
        """
        parts = chunks([kind for kind in kinds if kind[2]], MOST_NOISES)
        assert all(len({batches for _, batches, _ in part}) == 1 for part in parts), "others have other batches"
        return cls(
            (epoch_loss(max(mu for mu, _, _ in part), part[0][1]), sum(count for _, _, count in part)) for part in parts
        )

    def eps(self, delta: float) -> float:
        """Epsilon, rounded up."""
        return self._smaller(eps_of(self._shown, delta), lambda laws: max(law.eps(delta) for law in laws))

    def delta(self, eps: float) -> float:
        """Delta at epsilon >= 0, rounded up."""
        # at epsilon 0 it is the total variation distance, which is the same in either order
        orders = 1 if eps == 0 else 2
        return self._smaller(delta_of(self._shown, eps), lambda laws: max(law.delta(eps) for law in laws[:orders]))

    def eps_of_replaced(self, delta: float) -> float:
        """Epsilon where a record is replaced by any other: it is removed, then the other is added.

        From P(S) <= e^e1 Q(S) + d1 and Q(S) <= e^e2 P'(S) + d2 follows P(S) <= e^(e1 + e2) P'(S) + d1 + e^e1 d2. Every
        split of delta is valid.
        """

        def split(laws: tuple[ComposedLoss, ComposedLoss], share: float) -> float:
            first = laws[0].eps(share * delta)
            rest = (1 - share) * delta * math.exp(-first)
            return first + (laws[1].eps(rest) if rest >= LEAST_SHARE else math.inf)

        return self._smaller(eps_of(2 * self._shown, delta), lambda laws: min(split(laws, share) for share in SHARES))

    def attained(self, delta: float) -> float:
        """What the pair of one kind itself attains, rounded down; 0 where it is not known."""
        if self._finite and 0 < delta < 1:
            with contextlib.suppress(TooWide):
                return max(law.eps(delta) for law in losses_of(self, "below"))
        return 0.0

    @property
    def _shown(self) -> float:
        """mu where the batches are shown."""
        return math.sqrt(math.fsum(count * epoch.mu**2 for epoch, count in self))

    @property
    def _finite(self) -> bool:
        return any(count for _, count in self) and all(epoch.finite for epoch, _ in self)

    def _smaller(self, known: float, answer: Callable[[tuple[ComposedLoss, ComposedLoss]], float]) -> float:
        """The smaller of what holds with the batches shown, and of what the losses say where they can be written."""
        if known > 0 and self._finite:
            with contextlib.suppress(TooWide):
                return min(known, answer(losses_of(self, "above")))
        return known


@lru_cache(maxsize=64)
def losses_of(kinds: AllocatedEpochs, side: Side) -> tuple[ComposedLoss, ComposedLoss]:
    """The losses of a removed and of an added record; from below of one kind."""
    if side == "above":
        # intervals are powers of 2, so that the finest grid has the points of all others
        interval = min(epoch.dominating.interval for epoch, _ in kinds)
        fine = [(epoch.dominating.refined(interval), count) for epoch, count in kinds]
        removed, added = [(pair.removed, count) for pair, count in fine], [(pair.added, count) for pair, count in fine]
    else:
        ((epoch, count),) = kinds
        pair = epoch.dominated
        # the loss of the exchanged pair is minus that of the pair, and both use one grid
        losses = log(pair.p) - log(pair.q)
        reach = float(np.abs(losses).max())
        interval = max(_deviation(losses, pair.q) / FINE_BELOW, reach / MOST_BELOW)
        eps = interval / 2 * np.arange(2 * math.ceil(reach / interval) + 3)
        curves = pair.curve(eps), replace(pair, masses=pair.masses[::-1]).curve(eps)
        removed = [(from_below(*curves, interval, pair.relative), count)]
        added = [(from_below(*curves[::-1], interval, pair.relative), count)]
    return ComposedLoss(removed, interval, side), ComposedLoss(added, interval, side)
