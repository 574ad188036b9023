"""The laws of two neighbours' runs, by the one program of `dpexp.privacy.exact.walk`.

(a) Where all steps are alike a run is a walk: batches of fixed size, Poisson batches and full ones.
(b) Batches of a public partition are steps of two walks, without the record and with it: epochs are products of their
matrices, and many epochs powers by repeated squaring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise

import numpy as np

from dpexp.accounting.binomials import poisson_sizes
from dpexp.privacy.exact.update import Update
from dpexp.privacy.exact.walk import PANEL, HockeyStick, Move, Powers, Walk, WalkLaw, renyi

Moves = tuple[tuple[float, Move], ...]


@dataclass(frozen=True)
class RunPair:
    """What the two neighbours' runs attain, in the better order."""

    first: Update
    second: Update
    laws: tuple[WalkLaw, WalkLaw]
    """after the last step, on the same places"""

    def eps(self, delta: float) -> float:
        """Epsilon at delta, rounded down."""
        # P(S) >= (1 - l) P'(S) and Q(S) <= (1 - l) Q'(S) + l, for the laws P', Q' given that no batch size that is left
        # out is drawn, and the probability l that one is
        left_out = poisson_sizes(self.first.n - 1, self.first.q).dropped if _mixes_sizes(self.first) else 0.0
        lost = min(1.0, self.first.steps * left_out)
        return max(stick.eps(delta, lost) for stick in self._sticks[: 1 if self.laws[1].mirror else 2])

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
def pair(first: Update, second: Update, finer: int = 1) -> RunPair:
    """The pair's laws, on common places; with every panel divided into so many."""
    ends = _ends(first, second, finer)
    laws = _law(first, ends), _law(second, ends)
    record = first.record and first.record.mirrored
    turned = replace(first, others=first.others.mirrored, record=record, start=-first.start)
    if second == turned and first.sampling != "cyclic":
        laws = laws[0], replace(laws[1], mirror=laws[0])
    return RunPair(first, second, laws)


def _law(update: Update, ends: tuple[float, ...]) -> WalkLaw:
    alike = replace(update, steps=1, start=0.0)  # runs of any length from any start are walks of the same steps
    if update.sampling == "cyclic":
        walks = tuple(_walk(alike, share, ends) for share in (0.0, 1.0))
        return CyclicLaw(walks[update.holds(update.steps - 1)], update.steps, update.start, update=update, walks=walks)
    # (a); the record is in the batch with probability q, or in all of them
    return WalkLaw(_walk(alike, 1.0 if update.sampling == "full-batch" else update.q, ends), update.steps, update.start)


@lru_cache(maxsize=4)
def _walk(update: Update, share: float, ends: tuple[float, ...]) -> Walk:
    """The steps of a run whose batches hold the record with that probability."""
    return Walk(update.half_width, _moves(update, share), ends)


@dataclass(frozen=True, kw_only=True)
class CyclicLaw(WalkLaw):
    """The law of a run whose batches are parts of an epoch, in a public order; `walk` has the last step."""

    update: Update
    walks: tuple[Walk, ...]
    """the steps without the record in the batch, and with it"""

    @cached_property
    def _before(self) -> tuple[np.ndarray, np.ndarray]:
        if self.steps == 1:
            return super()._before
        u, (free, within) = self.update, (walk.matrix for walk in self.walks)
        state = self.walks[u.holds(0)].masses(1, self.start)
        epochs, rest = divmod(self.steps - 2, u.batches)
        # (b): an epoch that begins with the second step has so many steps before the one with the record
        before = (u.position - 1) % u.batches
        first, last = (np.linalg.matrix_power(free, k) for k in (before, u.batches - 1 - before))
        state = Powers(last @ (within @ first)).after(epochs, state) if epochs else state
        for k in range(rest):
            state = (within if k == before else free) @ state
        return self.walk.places, state / state.sum()


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


def _ends(first: Update, second: Update, finer: int) -> tuple[float, ...]:
    """Ends of panels: all knots, and places between them where a step would move the mean by more than `PANEL`."""
    h = first.half_width
    moves = [move for update in (first, second) for share in (0.0, 1.0) for _, move in _moves(update, share)]
    knots = {k for u in (first, second) for drift in (u.others, u.record) if drift is not None for k in drift.knots}
    edges: list[float] = []
    for a, b in pairwise(sorted({-h, h, *(k for k in knots if -h < k < h)})):
        # drifts are linear between knots, so that a half of the piece moves by half as much as all of it
        near, far = a + (b - a) / 4, b - (b - a) / 4  # drifts may jump at the ends
        moved = max(float(np.ptp(move(np.array([near, far])))) for move in moves) * 2
        count = max(1, math.ceil(max(moved, b - a) / PANEL))
        edges += np.linspace(a, b, 1 + finer * count).tolist()
    return tuple(edges)
