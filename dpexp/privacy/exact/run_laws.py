"""The laws of two neighbours' runs, by the one program of `dpexp.privacy.exact.walk`, for every sampling scheme.

(a) Where all steps are alike a run is a walk: batches of fixed size, Poisson batches and full ones.
(b) Batches of a partition are steps of two walks, without the record and with it: epochs are products of their
matrices, and many epochs powers by repeated squaring. The record's place is known, or a mean over the places is taken:
over whole runs where one secret order is repeated, and within each epoch where the order is drawn anew.
(c) The last step is taken exactly, from the masses before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise

import numpy as np

from dpexp.accounting.binomials import poisson_sizes
from dpexp.accounting.sampling import ONCE_AN_EPOCH
from dpexp.privacy.exact.update import Update
from dpexp.privacy.exact.walk import HockeyStick, Move, Walk, WalkLaw, renyi

PANEL = 4.0
"""noise units by which a mean moves along a panel at most, as in a walk of slope 1"""
Moves = tuple[tuple[float, Move], ...]


@dataclass(frozen=True)
class RunPair:
    """What the two neighbours' runs attain, in the better order."""

    one: Update
    other: Update
    laws: tuple[WalkLaw, WalkLaw]
    """after the last step, on the same places"""

    def eps(self, delta: float) -> float:
        """Epsilon at delta, rounded down."""
        # P(S) >= (1 - l) P'(S) and Q(S) <= (1 - l) Q'(S) + l, for the laws P', Q' given that no batch size that is left
        # out is drawn, and the probability l that one is
        left_out = poisson_sizes(self.one.n - 1, self.one.q).dropped if _mixes_sizes(self.one) else 0.0
        lost = min(1.0, self.one.steps * left_out)
        return max(stick.eps(delta, lost) for stick in self._sticks)

    def renyi(self, order: float) -> float:
        """The larger of the two divergences."""
        return max(renyi(stick.p, stick.q, order) for stick in self._sticks)

    @property
    def variation(self) -> float:
        """Total variation distance; it is the same in either order."""
        return self._sticks[0](0.0)

    @cached_property
    def _sticks(self) -> tuple[HockeyStick, HockeyStick]:
        return HockeyStick(*self.laws), HockeyStick(*self.laws[::-1])


@lru_cache(maxsize=2)
def pair(one: Update, other: Update, finer: int = 1) -> RunPair:
    """The pair's laws, on common places; with every panel divided into so many."""
    if one.half_width != other.half_width or one.steps != other.steps:
        raise ValueError("neighbours differ in one record alone")
    ends = _ends(one, other, finer)
    return RunPair(one, other, (_law(one, ends), _law(other, ends)))


def _law(update: Update, ends: tuple[float, ...]) -> WalkLaw:
    alike = replace(update, steps=1, start=0.0)  # runs of any length from any start are walks of the same steps
    # (b)
    if update.sampling in ONCE_AN_EPOCH:
        walk, held = (_walk(alike, share, ends) for share in (0.0, 1.0))
        return PartitionedLaw(walk, update.steps, update.start, update=update, held=held)
    # (a); the record is in a batch with probability q, or in all of them
    return WalkLaw(_walk(alike, 1.0 if update.sampling == "full-batch" else update.q, ends), update.steps, update.start)


@lru_cache(maxsize=4)
def _walk(update: Update, share: float, ends: tuple[float, ...]) -> Walk:
    """The steps of a run whose batches hold the record with that probability."""
    return Walk(update.half_width, _moves(update, share), ends, PANEL)


@dataclass(frozen=True, kw_only=True)
class PartitionedLaw(WalkLaw):
    """The law of a run whose batches are parts of an epoch; `walk` has the steps without the record."""

    update: Update
    held: Walk
    """the steps with the record in the batch"""

    @cached_property
    def _parts(self) -> list[tuple[Walk, np.ndarray, np.ndarray]]:
        """The last step, without and with the record: walk, places before it, and their masses."""
        y, *masses = self._split
        total = sum(m.sum() for m in masses)  # 1 but for quadrature and rounding
        masses = [m / total for m in masses]
        return [(walk, y, m) for walk, m in zip((self.walk, self.held), masses, strict=True) if m.any()]

    @cached_property
    def masses(self) -> np.ndarray:
        # (c); the start is the last of the places, if it is one of them
        after = sum(walk.matrix @ m[: len(walk.matrix)] + self._begun(walk) * m[len(walk.matrix) :].sum()
                    for walk, _, m in self._parts)  # fmt: skip
        return np.asarray(after / np.sum(after))

    def density(self, x: np.ndarray) -> np.ndarray:
        """Density inside, at x [A]."""
        return np.asarray(sum(np.vecdot(walk.step_density(x, y), m) for walk, y, m in self._parts))

    def tails(self, x: np.ndarray) -> np.ndarray:
        """P(Y < x) and P(Y > x) for x inside, the atoms included, [2, A]."""
        return np.asarray(sum(np.vecdot(walk.step_tails(x, y), m) for walk, y, m in self._parts))

    def _begun(self, walk: Walk) -> np.ndarray:
        """Masses after a step from the start."""
        return walk.masses(1, self.start)

    @cached_property
    def _split(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places before the last step, with the masses that meet it without and with the record in the batch.

        The start is a place of its own, which is left at once. Whole epochs come first, then the steps of the last one
        but for the last step.
        """
        u, batches = self.update, self.update.batches
        epochs, rest = divmod(self.steps - 1, batches)
        y = np.append(self.walk.places, self.start)
        free, held = (np.zeros((len(y), len(y))) for _ in range(2))
        # the start need not be one of the places, so it has a column of its own, to which no step leads
        for step, walk in ((free, self.walk), (held, self.held)):
            step[:-1, :-1], step[:-1, -1] = walk.matrix, self._begun(walk)
        begin = np.zeros(len(y))
        begin[-1] = 1.0
        if u.sampling == "reshuffled":
            return y, *_fresh_order(begin, free, held, batches, epochs, rest)
        # (b), for one order in all epochs
        positions = [u.position] if u.sampling == "cyclic" else range(batches)
        without, within = np.zeros(len(y)), np.zeros(len(y))
        for position in positions:
            before, after = (np.linalg.matrix_power(free, k) for k in (position, batches - 1 - position))
            state = _power(after @ (held @ before), epochs, begin) if epochs else begin
            for k in range(rest):
                state = (held if k == position else free) @ state
            (within if rest == position else without)[:] += state / len(positions)
        return y, without, within


def _fresh_order(
    begin: np.ndarray, free: np.ndarray, held: np.ndarray, batches: int, epochs: int, rest: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same where the record's batch is drawn anew in every epoch."""
    # (b), after k steps of an epoch: `spared` without the record, `used` with it in one of them, summed over which
    spared, used = np.eye(len(begin)), np.zeros(free.shape)
    at_left = (spared, used)
    for k in range(batches if epochs else rest):
        spared, used = free @ spared, free @ used + held @ spared
        if k + 1 == rest:
            at_left = (spared, used)
    state = _power(used / batches, epochs, begin) if epochs else begin
    # of the places that are left one is the last step, and all others come after it
    to_come, done = at_left[0] @ state, at_left[1] @ state
    return (done + (batches - rest - 1) * to_come) / batches, to_come / batches


def _power(step: np.ndarray, times: int, state: np.ndarray) -> np.ndarray:
    """The state after so many steps, by repeated squaring; columns are kept at sum 1."""
    while times > 0:
        if times & 1:
            state = step @ state
            state = state / state.sum()
        times >>= 1
        if times:
            squared = step @ step
            squared = squared / squared.sum(axis=0)
            if np.allclose(squared, step, rtol=1e-13, atol=0):
                return squared @ state  # the walk has forgotten where it was
            step = squared
    return state


def _moves(update: Update, share: float) -> Moves:
    """(probability, map) of a step: with the record, which has this share, or without it, and with how many others."""
    b = update.batch_size
    drawn: list[tuple[float, float, bool]]
    if _mixes_sizes(update):
        sizes = poisson_sizes(update.n - 1, update.q)
        drawn = [(p * mass, k, included) for mass, k in zip(sizes.masses.tolist(), sizes.counts.tolist(), strict=True)
                 for p, included in ((1 - share, False), (share, True))]  # fmt: skip
    else:
        drawn = [(1 - share, b, False), (share, b - 1, True)]
    return tuple((p, partial(_moved, update, k, included)) for p, k, included in drawn if p > 0)


def _mixes_sizes(update: Update) -> bool:
    """Whether it matters to a step how many others are in its batch."""
    return update.sampling == "poisson" and update.others.largest > 0


def _moved(update: Update, others: float, included: bool, y: np.ndarray) -> np.ndarray:
    """The mean after a step from y [Y] whose batch holds so many others, and the record or not."""
    own = update.record(y) if included and update.record is not None else 0.0
    return np.asarray(y + (others * update.others(y) + own) / update.batch_size)


def _ends(one: Update, other: Update, finer: int) -> tuple[float, ...]:
    """Ends of panels: all knots, and places between them where a step would move the mean by more than `PANEL`."""
    h = one.half_width
    moves = [move for update in (one, other) for share in (0.0, 1.0) for _, move in _moves(update, share)]
    knots = {k for u in (one, other) for drift in (u.others, u.record) if drift is not None for k in drift.knots}
    edges: list[float] = []
    for a, b in pairwise(sorted({-h, h, *(k for k in knots if -h < k < h)})):
        # drifts are linear between knots, so that a half of the piece moves by half as much as all of it
        near, far = a + (b - a) / 4, b - (b - a) / 4  # drifts may jump at the ends
        moved = max(float(np.ptp(move(np.array([near, far])))) for move in moves) * 2
        count = max(1, math.ceil(max(moved, b - a) / PANEL))
        edges += np.linspace(a, b, 1 + finer * count).tolist()
    return tuple(edges)


def count_of_sizes(n: int, q: float) -> int:
    """About how many batch sizes a step of Poisson sampling mixes: what it costs."""
    return 1 if q == 1 else min(n, math.ceil(20 * math.sqrt(n * q * (1 - q)) + 20))
