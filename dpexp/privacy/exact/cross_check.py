"""A run's law by the program of `dpexp.privacy.attained.walk`: what a pair is checked against before it is stated.

It shares no code with `nodes`: panels and their nodes, powers of a step, tails of normal laws and the search for the
best event are its own. It serves runs whose steps are all alike: batches of fixed size, Poisson batches and full ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from dpexp.privacy.attained.walk import HockeyStick, Law, Move, Walk, renyi
from dpexp.privacy.exact.update import Update

ALIKE = ("fixed-size", "poisson", "full-batch")
PANEL = 4.0
"""noise units by which a mean moves along a panel at most, as in a walk of slope 1"""
LEAST = 1e-22
"""numbers of other records less probable than this are left out"""


@dataclass(frozen=True)
class WalkPair:
    """Both neighbours' laws, on the same places."""

    one: Law
    other: Law

    def eps(self, delta: float) -> float:
        """Epsilon at delta, both orders, rounded down."""
        return max(stick.eps(delta) for stick in self._sticks)

    def renyi(self, order: float) -> float:
        """The larger of the two divergences."""
        return max(renyi(p, q, order) for p, q in self._orders)

    @cached_property
    def _sticks(self) -> list[HockeyStick]:
        return [HockeyStick(p, q) for p, q in self._orders]

    @property
    def _orders(self) -> tuple[tuple[Law, Law], tuple[Law, Law]]:
        return (self.one, self.other), (self.other, self.one)


def walk_pair(one: Update, other: Update) -> WalkPair:
    """The two runs as walks. Raises ValueError where steps differ from each other."""
    if one.sampling not in ALIKE:
        raise ValueError(f"steps of {one.sampling} batches are not alike")
    moves = [_moves(update) for update in (one, other)]
    ends = _ends(one, other, [move for own in moves for _, move in own])
    first, second = (Law(Walk(one.half_width, own, ends, PANEL), one.steps, one.start) for own in moves)
    return WalkPair(first, second)


def _moves(update: Update) -> tuple[tuple[float, Move], ...]:
    """(probability, map) of a step: with or without the record, and beside how many others."""
    b, q = update.batch_size, 1.0 if update.sampling == "full-batch" else update.q
    drawn: list[tuple[float, int, bool]]
    if update.sampling == "poisson":
        sizes = _sizes(update.n - 1, q) if update.others.largest > 0 else [(1.0, 0)]
        drawn = [(p * mass, k, included) for mass, k in sizes for p, included in ((1 - q, False), (q, True))]
    else:
        drawn = [(1 - q, b, False), (q, b - 1, True)]
    return tuple((p, partial(_moved, update, k, included)) for p, k, included in drawn if p > 0)


def _sizes(others: int, q: float) -> list[tuple[float, int]]:
    """(P(Bin(others, q) = k), k), by the ratio of two neighbours from the mode on, and scaled to the sum 1."""
    if q == 1:
        return [(1.0, others)]
    mode = min(others, int((others + 1) * q))
    found = {mode: 1.0}
    for step in (1, -1):
        k = mode
        while 0 <= k + step <= others and found[k] > LEAST:
            up, down = (others - k) * q, k * (1 - q)
            found[k + step] = found[k] * (up / ((k + 1) * (1 - q)) if step > 0 else down / ((others - k + 1) * q))
            k += step
    total = math.fsum(found.values())
    return [(mass / total, k) for k, mass in sorted(found.items())]


def _moved(update: Update, others: int, included: bool, y: np.ndarray) -> np.ndarray:
    """The mean after a step from y [Y] whose batch holds so many others, and the record or not."""
    own = update.record(y) if included and update.record is not None else 0.0
    return np.asarray(y + (others * update.others(y) + own) / update.batch_size)


def _ends(one: Update, other: Update, moves: list[Move]) -> tuple[float, ...]:
    """Ends of panels: all knots, and places between them where a step would move the mean by more than `PANEL`."""
    h = one.half_width
    knots = {k for u in (one, other) for drift in (u.others, u.record) if drift is not None for k in drift.knots}
    found: list[float] = []
    for a, b in pairwise(sorted({-h, h, *(k for k in knots if -h < k < h)})):
        near, far = a + (b - a) / 4, b - (b - a) / 4  # drifts may jump at the ends
        moved = max(abs(float(np.ptp(move(np.array([near, far]))))) for move in moves) * 2
        found += np.linspace(a, b, 1 + max(1, math.ceil(moved / PANEL))).tolist()
    return tuple(found)
