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
(c) above (`OnGrid`): an atom between g and g + h becomes two, with the masses (1 - y) q and y q under Q and e^g (1 - y)
  q and e^(g + h) y q under P, where y = (e^(l - g) - 1) / (e^h - 1). P and Q keep their masses, and merging the two
  gives the atom back.
(d) below (`Atoms`): the atoms of a cell are merged into one, which is a channel for any cells.
(e) Epochs are independent: their losses are summed by `compose`. One law serves both orders of the pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from dpexp.accounting import pairs
from dpexp.accounting.compose import ComposedLoss, TooWide
from dpexp.accounting.curve import Side
from dpexp.accounting.functions import exp, expm1, log, normal_cells
from dpexp.accounting.gaussian import delta_of, eps_of
from dpexp.accounting.loss_grid import UNIT, Discrete, from_above, from_below

REACH, TRIMMED = 9.5, 1e-20
"""noise units beyond which a coordinate's outcomes are one atom: Phi(-9.5) = 1e-21; and mass that a combination may
push to infinity at either end"""
FINE, MOST = 32.0, 6000
"""points of the grid in a standard deviation of the loss, whose variance is overstated by 1e-3 at most; and of a
grid: a combination takes the square of it"""
ATOMS, CELLS = 1000, 4000  # from below, and cells of one coordinate
LARGEST = 500.0  # loss: e^500 is a number
FINE_BELOW, MOST_BELOW = 60.0, 20_000  # as above, of an epoch's loss from below, on either side of 0
SHARES, LEAST_SHARE = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9), 1e-250
"""of delta, for the first of two steps; and the least delta of the second step"""
MOST_NOISES = 8  # laws of an epoch that are composed where noise differs: each takes a few tenths of a second
Law = TypeVar("Law", "OnGrid", "Atoms")


@dataclass(frozen=True)
class OnGrid:
    """A dominating pair: masses q [A] of Q on the losses interval * (start + k), those of P are e^loss q."""

    start: int
    interval: float
    q: np.ndarray
    p_only: float  # mass under P where Q has none
    q_only: float

    @property
    def losses(self) -> np.ndarray:
        return self.interval * (self.start + np.arange(len(self.q)))

    @property
    def p(self) -> np.ndarray:
        return self.q * exp(self.losses) * (1 + 4 * UNIT)

    @property
    def removed(self) -> Discrete:
        """The loss of P against Q."""
        return Discrete(self.start, self.p, self.p_only)

    @property
    def added(self) -> Discrete:
        """The loss of Q against P."""
        return Discrete(-(self.start + len(self.q) - 1), self.q[::-1].copy(), self.q_only)

    def refined(self, interval: float) -> OnGrid:
        """The same atoms on a grid that is finer by a power of 2."""
        times = round(self.interval / interval)
        if times == 1:
            return self
        q = np.zeros(times * (len(self.q) - 1) + 1)
        q[::times] = self.q
        return OnGrid(times * self.start, interval, q, self.p_only, self.q_only)


def normal_above(mu: float) -> OnGrid:
    """N(mu, 1) against N(0, 1), from above: its chords are (c), averaged over the outcomes of a cell."""
    h = _power_of_two(mu / FINE)
    curve = pairs.gaussian(h * np.arange(math.ceil(mu * (mu / 2 + REACH) / h) + 1.0), mu)
    # the exchanged pair is the same; five times the relative error of the curve as of all steps
    law = from_above(curve, curve, h, 3e-14 * REACH**2 * (1 + 1 / mu))
    q = law.masses * exp(-h * (law.start + np.arange(len(law.masses))))
    return OnGrid(law.start, h, q * (1 + 1e-12), law.unbounded, law.unbounded)


def combined(a: OnGrid, batches_a: int, b: OnGrid, batches_b: int) -> OnGrid:
    """The pair of both groups, from above; its grid is finer where the loss is much narrower than before."""
    share = batches_a / (batches_a + batches_b)
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
    out = np.zeros(times * (last - low) + 2)
    step = h / times

    def put(offset: float, start: int, masses: np.ndarray) -> None:
        """Add masses on the losses h (start + k) + offset, each divided between two points of the grid: (c)."""
        cell = math.floor(offset / step)
        ahead = min(max(offset - cell * step, 0.0), step)
        slack = 8 * UNIT * (1 + abs(offset)) / step  # the logarithm is off by so much
        y = min(1.0, math.expm1(ahead) / math.expm1(step) + slack)
        z = min(1.0, math.expm1(step - ahead) * math.exp(ahead) / math.expm1(step) + slack)  # 1 - y
        at = times * (start - low) + cell
        end = at + times * (len(masses) - 1) + 1
        out[at:end:times] += z * masses
        out[at + 1 : end + 1 : times] += y * masses

    # (b), pairs of atoms k apart: their loss is that of the larger and a logarithm in which no power is large
    shift = b.start - a.start
    for k in range(0 if twins else shift - len(a.q) + 1, shift + len(b.q)):
        i, j = max(0, shift - k), max(0, k - shift)
        count = min(len(a.q) - i, len(b.q) - j)
        masses = a.q[i : i + count] * b.q[j : j + count]
        if twins and k:
            masses = 2 * masses
        if k > 0:
            put(math.log(1 - share + share * math.exp(-k * h)), b.start + j, masses)
        else:
            put(math.log(share + (1 - share) * math.exp(k * h)), a.start + i, masses)
    # where Q_B alone lies at -infinity, e^(l_B) is 0, and the loss that of A and log share
    put(math.log(share), a.start, a.q * b.q_only)
    put(math.log(1 - share), b.start, b.q * a.q_only)
    total_a, total_b = float(a.q.sum()) + a.q_only, float(b.q.sum()) + b.q_only
    p_only = (share * a.p_only * total_b + (1 - share) * b.p_only * total_a) * (1 + 1e-12)
    # from above every rounding error enlarges a mass, since curves grow with masses
    rounding = UNIT * (2 * max(len(a.q), len(b.q)) + 20)  # addends of a sum, and the products
    return _trimmed(OnGrid(times * low, step, out * (1 + rounding), p_only, a.q_only * b.q_only))


def _trimmed(pair: OnGrid) -> OnGrid:
    """Without the ends, which have no mass to speak of."""
    p, q = pair.p, pair.q
    under, over = np.cumsum(q), np.cumsum(p[::-1])[::-1]
    first = int(np.searchsorted(under, TRIMMED, side="right"))
    right = int(np.flatnonzero(over > TRIMMED)[-1])
    first = min(first, right)
    masses = q[first : right + 1].copy()
    # below the grid the rest of q becomes a loss of -infinity, above it the rest of p one of +infinity: the masses of P
    # and Q stay, as in (c)
    masses[0] += float(p[:first].sum()) * math.exp(-pair.interval * (pair.start + first))
    masses[-1] += float(q[right + 1 :].sum())
    p_only, q_only = pair.p_only + float(p[right + 1 :].sum()), pair.q_only + float(q[:first].sum())
    return OnGrid(pair.start + first, pair.interval, masses, p_only, q_only)


@dataclass(frozen=True)
class Atoms:
    """A pair that is dominated: masses [A], by increasing p / q."""

    p: np.ndarray
    q: np.ndarray
    relative: float  # relative error of every mass

    @property
    def swapped(self) -> Atoms:
        """The pair in the other order."""
        return Atoms(self.q[::-1], self.p[::-1], self.relative)

    def curve(self, eps: np.ndarray) -> np.ndarray:
        """D(eps) = sup over events of P - e^eps Q = sum of p_i (1 - e^(eps - l_i)) over l_i > eps, from below, [E]."""
        losses = log(self.p) - log(self.q)
        losses -= 4 * UNIT * (4 + np.abs(log(self.p)) + np.abs(losses))
        losses = np.minimum.accumulate(losses[::-1])[::-1]  # in order, also where rounding exchanged two of them
        # with Q_k = sum of p_i e^(-l_i) over i >= k, D(eps) = D(l_k) + Q_k e^(l_k) (1 - e^(eps - l_k)) for eps in
        # [l_(k - 1), l_k]
        power = exp(losses)
        weights = np.cumsum((self.p / power)[::-1])[::-1] * power
        rises = weights[1:] * -expm1(losses[:-1] - losses[1:])
        at = np.concatenate([np.cumsum(rises[::-1])[::-1], [0.0]])
        k = np.minimum(np.searchsorted(losses, eps), len(losses) - 1)
        delta = at[k] + weights[k] * -expm1(np.minimum(eps - losses[k], 0.0))
        return np.asarray(delta * (1 - UNIT * (2 * len(losses) + 20)))  # two sums, one over the other


def normal_below(mu: float) -> Atoms:
    """N(mu, 1) against N(0, 1), from below: outcomes merged in cells of equal width."""
    x = np.linspace(-mu / 2 - REACH, mu / 2 + REACH, CELLS + 1)
    p, q = normal_cells(x - mu / 2), normal_cells(x + mu / 2)
    # a difference of neighbours loses digits where the cells are narrow
    return _merged(p, q, 8 * UNIT * (1 + 1 / float(x[1] - x[0])))


def mixed(a: Atoms, batches_a: int, b: Atoms, batches_b: int) -> Atoms:
    """The pair of both groups, from below."""
    # from below the relative error of the masses is carried along, and taken off in the end
    relative = a.relative + b.relative + 8 * UNIT
    share = batches_a / (batches_a + batches_b)
    q = np.outer(a.q, b.q).ravel()
    # (b)
    p = (share * np.outer(a.p, b.q) + (1 - share) * np.outer(a.q, b.p)).ravel()
    return _merged(p, q, relative)


def _merged(p: np.ndarray, q: np.ndarray, relative: float) -> Atoms:
    """Atoms of similar losses as one (d)."""
    # (d): far atoms, found on a coarse scan, are one at either end, and the others go to cells of equal width
    losses = log(np.maximum(p, 1e-300) / np.maximum(q, 1e-300))
    scan = np.linspace(float(losses.min()), float(losses.max()), 500)
    cell = np.minimum(((losses - scan[0]) * (499 / ((scan[-1] - scan[0]) or 1.0))).astype(np.int64), 499)
    under, over = np.cumsum(np.bincount(cell, q, 500)), np.cumsum(np.bincount(cell, p, 500)[::-1])[::-1]
    low = float(scan[max(0, int(np.searchsorted(under, TRIMMED)) - 1)])
    high = float(scan[min(499, int(np.flatnonzero(over > TRIMMED)[-1]) + 1)])
    cell = np.clip((losses - low) * (ATOMS / ((high - low) or 1.0)), 0, ATOMS).astype(np.int64)
    kept_p, kept_q = np.bincount(cell, p), np.bincount(cell, q)
    # what is left out only lowers the curve
    positive = (kept_p > 1e-290) & (kept_q > 1e-290)
    error = relative + UNIT * (int(np.bincount(cell).max()) + 4)
    return Atoms(kept_p[positive], kept_q[positive], error)


def _deviation(losses: np.ndarray, masses: np.ndarray) -> float:
    total = float(masses.sum())
    mean = float((masses * losses).sum()) / total
    return math.sqrt(float((masses * (losses - mean) ** 2).sum()) / total)


def _power_of_two(bound: float) -> float:
    """The largest power of 2 that is not above."""
    return float(2.0 ** math.floor(math.log2(bound)))


def _doubled(batch: Law, batches: int, join: Callable[[Law, int, Law, int], Law]) -> Law:
    """The pair of so many batches from that of one, by binary doubling; `join` takes two groups and their sizes."""
    power, size = batch, 1
    total: tuple[Law, int] | None = None
    while True:
        if batches & size:
            total = (power, size) if total is None else (join(*total, power, size), total[1] + size)
        if 2 * size > batches:
            return total[0] if total else power
        power, size = join(power, size, power, size), 2 * size


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

    def eps(self, epochs: int, delta: float) -> float:
        """Epsilon of so many epochs, rounded up, both orders of the neighbours."""
        return epochs_eps([(self.mu, self.batches, epochs)], delta)

    def delta(self, epochs: int, eps: float) -> float:
        """Delta of so many epochs at epsilon >= 0, rounded up, both orders of the neighbours."""
        # at epsilon 0 it is the total variation distance, which is the same in either order
        orders = 1 if eps == 0 else 2
        known = delta_of(self.mu * math.sqrt(epochs), eps)
        return _smaller(((self, epochs),), known, lambda laws: max(law.delta(eps) for law in laws[:orders]))

    def eps_of_replaced(self, epochs: int, delta: float) -> float:
        """Epsilon where a record is replaced by any other: it is removed, then the other is added.

        From P(S) <= e^e1 Q(S) + d1 and Q(S) <= e^e2 P'(S) + d2 follows P(S) <= e^(e1 + e2) P'(S) + d1 + e^e1 d2. Every
        split of delta is valid.
        """

        def split(laws: tuple[ComposedLoss, ComposedLoss], share: float) -> float:
            first = laws[0].eps(share * delta)
            rest = (1 - share) * delta * math.exp(-first)
            return first + (laws[1].eps(rest) if rest >= LEAST_SHARE else math.inf)

        known = eps_of(2 * self.mu * math.sqrt(epochs), delta)
        kinds = ((self, epochs),) if 0 < delta < 1 else ()
        return _smaller(kinds, known, lambda laws: min(split(laws, share) for share in SHARES))

    def attained(self, epochs: int, delta: float) -> float:
        """What the pair itself attains, rounded down; 0 where it is not known."""
        if epochs == 0 or not self.finite or not 0 < delta < 1:
            return 0.0
        try:
            return max(law.eps(delta) for law in losses_of(((self, epochs),), "below"))
        except TooWide:
            return 0.0

    @cached_property
    def dominating(self) -> OnGrid:
        """The pair of one epoch, from above."""
        return _doubled(normal_above(self.mu), self.batches, combined)

    @cached_property
    def dominated(self) -> Atoms:
        """The same from below."""
        pair = _doubled(normal_below(self.mu), self.batches, mixed)
        # where the record may be left out the order of p / q stays
        p = (1 - self.left_out) * pair.p + self.left_out * pair.q
        return Atoms(p, pair.q, pair.relative + 4 * UNIT) if self.left_out else pair


EpochKinds = tuple[tuple[EpochLoss, int], ...]  # and how many of each
epoch_loss = lru_cache(maxsize=32)(EpochLoss)  # shared by all who ask for it, so that its law is computed once


@lru_cache(maxsize=64)
def losses_of(kinds: EpochKinds, side: Side) -> tuple[ComposedLoss, ComposedLoss]:
    """The losses of a removed and of an added record; from below of one kind."""
    if side == "above":
        # intervals are powers of 2, so that the finest grid has the points of all others
        interval = min(epoch.dominating.interval for epoch, _ in kinds)
        fine = [(epoch.dominating.refined(interval), count) for epoch, count in kinds]
        laws = [(pair.removed, count) for pair, count in fine], [(pair.added, count) for pair, count in fine]
    else:
        ((epoch, count),) = kinds
        pair = epoch.dominated
        # the loss of the exchanged pair is minus that of the pair, and both use one grid
        losses = log(pair.p) - log(pair.q)
        reach = float(np.abs(losses).max())
        interval = max(_deviation(losses, pair.q) / FINE_BELOW, reach / MOST_BELOW)
        eps = interval / 2 * np.arange(2 * math.ceil(reach / interval) + 3)
        removed, added = pair.curve(eps), pair.swapped.curve(eps)
        both = (from_below(*heights, interval, pair.relative) for heights in ((removed, added), (added, removed)))
        laws = [(next(both), count)], [(next(both), count)]
    return ComposedLoss(laws[0], interval, side), ComposedLoss(laws[1], interval, side)


def _smaller(kinds: EpochKinds, known: float, answer: Callable[[tuple[ComposedLoss, ComposedLoss]], float]) -> float:
    """The smaller of what holds with the batches shown, and of what the losses say where they can be written down."""
    if not any(count for _, count in kinds) or not all(epoch.finite for epoch, _ in kinds):
        return known
    try:
        return min(known, answer(losses_of(kinds, "above")))
    except TooWide:
        return known


def epochs_eps(kinds: Sequence[tuple[float, int, int]], delta: float) -> float:
    """Epsilon of epochs of several kinds, rounded up, both orders of the neighbours.

    A kind is (distance in deviations of the noise, batches, epochs). Of more than `MOST_NOISES` kinds, whose batches
    are equally many, neighbours in the list are taken together at the largest distance, which can only help.
    """
    size = -(-len(kinds) // MOST_NOISES)
    assert size <= 1 or len({batches for _, batches, _ in kinds}) == 1, "kinds that are merged have as many batches"
    parts = [kinds[k : k + size] for k in range(0, len(kinds), max(size, 1))]
    few = [(max(mu for mu, _, _ in part), part[0][1], sum(count for _, _, count in part)) for part in parts]
    known = eps_of(math.sqrt(math.fsum(count * mu**2 for mu, _, count in few)), delta)
    epochs = tuple((epoch_loss(mu, batches), count) for mu, batches, count in few if count and 0 < delta < 1)
    return _smaller(epochs, known, lambda laws: max(law.eps(delta) for law in laws))
