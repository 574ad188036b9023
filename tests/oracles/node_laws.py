"""The law of a run on Gauss-Legendre nodes with an atom at either wall, and what a pair attains by unions of intervals.

It shares no code with `dpexp.privacy.exact.run_laws`. Between the walls the law has a smooth density; a step is a positive
matrix acting on masses at nodes of panels which end at every kink of the drift, and at the two walls. Steps are taken
one after the other. The last one is taken exactly: the mass of an interval is an average of normal probabilities over
the state before it, and intervals are divided where the ratio crosses a level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtr

from dpexp.privacy.exact.update import Update
from tests.oracles.cells import Cells, EitherOrder

POINTS = 16
"""nodes of a panel"""
PANEL = 3.0
"""widest panel over which a step's mean moves, in noise units: 16 nodes then integrate a normal density to 1e-12"""
DROPPED = 1e-22
"""numbers of other records in a batch less probable than this are left out"""
SEEN = 1e-12
"""batch sizes less probable than this do not make the panels narrower: a small part of so little"""
UNSEEN = 1e-60
"""a mass below this before the last step adds nothing to an interval"""
FAR = 39.0
"""noise units beyond which a normal law has less mass than any number: 1e-332"""
SIDES = 4
"""intervals of one noise unit; those at which the ratio crosses its level are divided, others lose nothing"""
DIVIDED = 100
"""into so many"""


def _moves(update: Update, y: np.ndarray, included: bool) -> list[tuple[float, np.ndarray]]:
    """(probability, means [Y]) of a step from y, given whether the record is in the batch; probabilities sum to 1."""
    b, f = update.batch_size, update.others(y)
    own = update.record(y) / b if included and update.record is not None else np.zeros_like(y)
    if update.sampling == "poisson" and update.others.largest > 0:
        return [(p, y + k / b * f + own) for k, p in _sizes(update.n - 1, update.q)]
    if update.sampling == "poisson":
        return [(1.0, y + own)]
    return [(1.0, y + (1 - 1 / b if included else 1.0) * f + own)]


@lru_cache(maxsize=64)
def _sizes(others: int, q: float) -> tuple[tuple[int, float], ...]:
    """(k, P(Bin(others, q) = k)) of the sizes that are not dropped; every step of a run asks for the same ones."""
    if q == 1:
        return ((others, 1.0),)
    ways = [math.lgamma(others + 1) - math.lgamma(k + 1) - math.lgamma(others - k + 1) for k in range(others + 1)]
    log_p = [way + k * math.log(q) + (others - k) * math.log1p(-q) for k, way in enumerate(ways)]
    return tuple((k, math.exp(v)) for k, v in enumerate(log_p) if v > math.log(DROPPED))


def mesh(updates: Sequence[Update], panel: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of panels that end at every kink of every drift, over each of which a step's mean moves by
    `panel` at most."""
    h = updates[0].half_width
    drifts = [d for u in updates for d in (u.others, u.record) if d is not None]
    x, w = np.polynomial.legendre.leggauss(POINTS)
    nodes, weights = [], []
    for a, b in pairwise(sorted({-h, h, *(k for d in drifts for k in d.knots if -h < k < h)})):  # kinks and jumps
        steep = max(_steepness(u, a + (b - a) / 4, b - (b - a) / 4) for u in updates)
        ends = np.linspace(a, b, max(1, math.ceil((b - a) * max(1.0, steep) / panel)) + 1)
        half = np.diff(ends)[:, None] / 2
        nodes.append((ends[:-1, None] + half * (1 + x)).ravel())
        weights.append((half * w).ravel())
    return np.concatenate(nodes), np.concatenate(weights)


def _steepness(update: Update, near: float, far: float) -> float:
    """Largest slope of a step's mean between two places without a kink between them."""
    y = np.array([near, far])
    means = [m for included in (False, True) for p, m in _moves(update, y, included) if p > SEEN]
    return max(abs(float(m[1] - m[0])) for m in means) / (far - near)


class NodeLaw:
    """The law of the last iterate of a run, with masses at nodes x of weights w, and at the walls."""

    def __init__(self, update: Update, x: np.ndarray, w: np.ndarray) -> None:
        self.update, self.x, self.w = update, x, w
        self.y = np.append(x, [-update.half_width, update.half_width, update.start])
        """places before a step: the start is one of its own, left at once"""

    def _kernel(self, included: bool) -> np.ndarray:
        """Masses at nodes and walls after a step from each place, [N + 2, N + 3]; columns sum to 1."""
        h, out = self.update.half_width, np.zeros((len(self.x) + 2, len(self.y)))
        for p, mean in _moves(self.update, self.y, included):
            out[:-2] += (p / math.sqrt(2 * math.pi)) * np.exp(-((self.x[:, None] - mean) ** 2) / 2)
            out[-2] += p * ndtr(-h - mean)
            out[-1] += p * ndtr(mean - h)
        out[:-2] *= self.w[:, None]
        return out / out.sum(axis=0)

    @cached_property
    def before(self) -> tuple[np.ndarray, np.ndarray]:
        """Masses before the last step that meet it without and with the record in the batch, one step after the other."""
        u, size = self.update, len(self.y)
        free, held = (np.vstack([self._kernel(included), np.zeros(size)]) for included in (False, True))
        state = np.append(np.zeros(size - 1), 1.0)
        for t in range(u.steps):
            share = float(t % u.batches == u.position) if u.sampling == "cyclic" else u.q
            if t < u.steps - 1:
                state = (1 - share) * (free @ state) + share * (held @ state)
        return (1 - share) * state, share * state

    @cached_property
    def masses(self) -> np.ndarray:
        """Masses at nodes and walls after the last step."""
        parts = [self._kernel(included) @ state for included, state in enumerate(self.before) if state.any()]
        return np.sum(parts, axis=0)

    def intervals(self, edges: np.ndarray) -> np.ndarray:
        """Masses between consecutive edges [E] inside the walls, without the atoms: [E - 1]."""
        out = np.zeros(len(edges) - 1)
        for included, mass in enumerate(self.before):
            seen = mass > UNSEEN
            for p, mean in _moves(self.update, self.y[seen], bool(included)) if seen.any() else ():
                near = (mean > edges[0] - FAR) & (mean < edges[-1] + FAR)
                away = edges[:, None] - mean[near]
                tail = ndtr(-np.abs(away))  # differences of tails keep their digits
                part = np.where(away[:-1] * away[1:] < 0, 1 - tail[:-1] - tail[1:], np.abs(tail[1:] - tail[:-1]))
                out += p * (part @ mass[seen][near])
        return out


class NodePair:
    """The two neighbours' laws on the same set."""

    def __init__(self, one: NodeLaw, other: NodeLaw) -> None:
        self.laws, h = (one, other), one.update.half_width
        self.relative = 1e-10 + 4e-15 * one.update.steps
        """relative error of the masses: of the nodes, and of rounding, which grows with the steps"""
        self.edges = np.linspace(-h, h, max(8, math.ceil(2 * h * SIDES)) + 1)
        self._known: dict[int, list[np.ndarray]] = {}

    @cached_property
    def cells(self) -> Cells:
        """Intervals of a quarter of a noise unit, and the walls."""
        p, q = (np.append(law.intervals(self.edges), law.masses[-2:]) for law in self.laws)
        return Cells(p, q, self.relative)

    def _divided(self, k: int) -> list[np.ndarray]:
        """Masses of both laws in the parts of interval k; both orders of the neighbours divide much the same ones."""
        if k not in self._known:
            fine = np.linspace(self.edges[k], self.edges[k + 1], DIVIDED + 1)
            self._known[k] = [law.intervals(fine) for law in self.laws]
        return self._known[k]

    def _at(self, delta: float, swapped: bool) -> float:
        """A lower bound of epsilon at delta of the pair, or of it swapped."""
        cells = self.cells.swapped if swapped else self.cells
        eps = cells.eps(delta)
        if eps == 0:
            return 0.0
        # only where the log ratio crosses eps do finer intervals tell more
        inner_p, inner_q = cells.p[:-2], cells.q[:-2]
        above = inner_p > math.exp(min(eps, 600.0)) * inner_q
        turns = np.flatnonzero(above[1:] != above[:-1])
        # and beside the walls, where there is no neighbour to see a crossing by
        critical = np.unique(np.concatenate([turns, turns + 1, [0, len(inner_p) - 1]]))
        parts = [self._divided(int(k))[:: -1 if swapped else 1] for k in critical]
        p, q = (
            np.concatenate([np.delete(whole, critical), *(part[i] for part in parts)])
            for i, whole in enumerate((cells.p, cells.q))
        )
        return max(eps, Cells(p, q, self.relative).eps(delta))

    def eps(self, delta: float) -> float:
        """A lower bound of epsilon at delta, both orders of the neighbours."""
        return max(self._at(delta, False), self._at(delta, True))

    def renyi(self, order: float) -> float:
        """The larger Renyi divergence of the two orders, from masses at the nodes."""
        return EitherOrder(Cells(*(law.masses for law in self.laws), self.relative)).renyi(order)


def pair(one: Update, other: Update, panel: float = PANEL) -> NodePair:
    """The pair's laws, on a common set."""
    if one.half_width != other.half_width or one.steps != other.steps:
        raise ValueError("neighbours differ in one record alone")
    common = mesh((one, other), panel)
    return NodePair(NodeLaw(one, *common), NodeLaw(other, *common))
