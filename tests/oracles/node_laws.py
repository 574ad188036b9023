"""The law of a run on Gauss-Legendre nodes with an atom at either wall, and what a pair attains by unions of intervals.

It shares no code with `dpexp.privacy.exact.runs`. Between the walls the law has a smooth density; a step is a positive
matrix acting on masses at nodes of panels which end at every kink of the drift, and at the two walls. Steps are taken
one after the other. The last one is taken exactly: the mass of an interval is an average of normal probabilities over
the state before it, and intervals are divided where the ratio crosses a level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from dpexp.privacy.exact.outcome import Cells, EitherOrder
from dpexp.privacy.exact.update import PARTITIONED, Update

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

Moves = list[tuple[float, np.ndarray]]
"""(probability, means after the drift [Y]) of a step from places [Y]"""


def _moves(update: Update, y: np.ndarray, included: bool) -> Moves:
    """Means of a step from y, given whether the record is in the batch; probabilities sum to 1 (or 1 - dropped)."""
    b, f = update.batch_size, update.others(y)
    own = update.record(y) / b if included and update.record is not None else np.zeros_like(y)
    if update.sampling == "poisson":
        if update.others.largest == 0:
            return [(1.0, y + own)]
        return [(p, y + k / b * f + own) for k, p in _sizes(update.n - 1, update.q)]
    return [(1.0, y + (1 - 1 / b if included else 1.0) * f + own)]


@lru_cache(maxsize=64)
def _sizes(others: int, q: float) -> tuple[tuple[int, float], ...]:
    """(k, P(Bin(others, q) = k)) of the sizes that are not dropped; every step of a run asks for the same ones."""
    if q == 1:
        return ((others, 1.0),)
    log_p = [
        math.lgamma(others + 1)
        - math.lgamma(k + 1)
        - math.lgamma(others - k + 1)
        + k * math.log(q)
        + (others - k) * math.log1p(-q)
        for k in range(others + 1)
    ]
    return tuple((k, math.exp(v)) for k, v in enumerate(log_p) if v > math.log(DROPPED))


@dataclass(frozen=True)
class Before:
    """Places before the last step, with the masses that meet it without and with the record in the batch."""

    y: np.ndarray
    without: np.ndarray
    within: np.ndarray


@dataclass(frozen=True)
class Mesh:
    """Nodes and weights inside the walls, common to both neighbours."""

    x: np.ndarray
    w: np.ndarray


def mesh(updates: Sequence[Update], panel: float = PANEL) -> Mesh:
    """Panels that end at every kink of every drift, over each of which a step's mean moves by `panel` at most."""
    h = updates[0].half_width
    drifts = list(dict.fromkeys(d for u in updates for d in (u.others, u.record) if d is not None))
    inner = sorted({k for d in drifts for k in d.knots if -h < k < h})  # kinks and jumps
    x, w = np.polynomial.legendre.leggauss(POINTS)
    nodes, weights = [], []
    for a, b in pairwise([-h, *inner, h]):
        near, far = a + (b - a) / 4, b - (b - a) / 4
        steep = max(_steepness(u, near, far) for u in updates)
        ends = np.linspace(a, b, max(1, math.ceil((b - a) * max(1.0, steep) / panel)) + 1)
        half = np.diff(ends)[:, None] / 2
        nodes.append((ends[:-1, None] + half * (1 + x)).ravel())
        weights.append((half * w).ravel())
    return Mesh(np.concatenate(nodes), np.concatenate(weights))


def _steepness(update: Update, near: float, far: float) -> float:
    """Largest slope of a step's mean between two places without a kink between them."""
    y = np.array([near, far])
    means = [m for included in (False, True) for p, m in _moves(update, y, included) if p > SEEN]
    return max(abs(float(m[1] - m[0])) for m in means) / (far - near)


@dataclass(frozen=True)
class NodeLaw:
    """The law of the last iterate of a run."""

    update: Update
    mesh: Mesh

    @property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return self.mesh.x, self.mesh.w

    @cached_property
    def places(self) -> np.ndarray:
        """Nodes, then the two walls."""
        h = self.update.half_width
        return np.append(self._nodes[0], [-h, h])

    def _kernel(self, y: np.ndarray, included: bool) -> np.ndarray:
        """Masses at `places` after a step from y, [N + 2, Y]; columns sum to 1."""
        from scipy.special import ndtr

        x, w = self._nodes
        h = self.update.half_width
        out = np.zeros((len(x) + 2, len(y)))
        for p, mean in _moves(self.update, y, included):
            out[:-2] += (p / math.sqrt(2 * math.pi)) * np.exp(-((x[:, None] - mean) ** 2) / 2)
            out[-2] += p * ndtr(-h - mean)
            out[-1] += p * ndtr(mean - h)
        out[:-2] *= w[:, None]
        return out / out.sum(axis=0)

    @cached_property
    def before(self) -> Before:
        """The state before the last step, one step after the other; the start is a place of its own, left at once."""
        u, y = self.update, np.append(self.places, self.update.start)
        free, held = (np.vstack([self._kernel(y, included), np.zeros(len(y))]) for included in (False, True))
        begin = np.append(np.zeros(len(y) - 1), 1.0)
        if u.sampling == "reshuffled":
            return self._every_epoch_anew(y, free, held, begin)
        positions = range(u.batches) if u.sampling == "shuffled" else [u.position]
        without, within = np.zeros(len(y)), np.zeros(len(y))
        for position in positions:
            state = begin
            for t in range(u.steps):
                share = float(t % u.batches == position) if u.sampling in PARTITIONED else u.q
                if t < u.steps - 1:
                    state = (1 - share) * (free @ state) + share * (held @ state)
            without += (1 - share) * state / len(positions)
            within += share * state / len(positions)
        return Before(y, without, within)

    def _every_epoch_anew(self, y: np.ndarray, free: np.ndarray, held: np.ndarray, begin: np.ndarray) -> Before:
        """The record is still to come in this epoch, or was used; each batch that is left is its own alike."""
        u, to_come, used = self.update, begin, 0 * begin
        for t in range(u.steps):
            if t % u.batches == 0:
                to_come, used = to_come + used, 0 * used
            chance = 1 / (u.batches - t % u.batches)
            passed, taken = (1 - chance) * to_come, chance * to_come
            if t < u.steps - 1:
                to_come, used = free @ passed, free @ used + held @ taken
        return Before(y, passed + used, taken)

    @cached_property
    def masses(self) -> np.ndarray:
        """Masses at nodes and walls after the last step."""
        state = self.before
        out = self._kernel(state.y, False) @ state.without if state.without.any() else 0.0
        if state.within.any():
            out = out + self._kernel(state.y, True) @ state.within
        return np.asarray(out)

    def intervals(self, edges: np.ndarray) -> np.ndarray:
        """Masses between consecutive edges [E] inside the walls, without the atoms: [E - 1]."""
        from scipy.special import ndtr

        out = np.zeros(len(edges) - 1)
        state = self.before
        for mass, included in ((state.without, False), (state.within, True)):
            seen = mass > UNSEEN
            if not seen.any():
                continue
            weight = mass[seen]
            for p, mean in _moves(self.update, state.y[seen], included):
                near = (mean > edges[0] - FAR) & (mean < edges[-1] + FAR)
                away = edges[:, None] - mean[near]
                tail = ndtr(-np.abs(away))  # differences of tails keep their digits
                part = np.where(away[:-1] * away[1:] < 0, 1 - tail[:-1] - tail[1:], np.abs(tail[1:] - tail[:-1]))
                out += p * (part @ weight[near])
        return out


@dataclass(frozen=True)
class NodePair:
    """The two neighbours' laws on the same set."""

    one: NodeLaw
    other: NodeLaw

    @property
    def relative(self) -> float:
        """Relative error of the masses: of the nodes, and of rounding in powers, which grows with the steps."""
        return 1e-10 + 4e-15 * self.one.update.steps

    @cached_property
    def cells(self) -> Cells:
        """Intervals of a tenth of a noise unit, and the walls."""
        h = self.one.update.half_width
        return self._cells(np.linspace(-h, h, max(8, math.ceil(2 * h * SIDES)) + 1))

    def _cells(self, edges: np.ndarray) -> Cells:
        p = np.append(self.one.intervals(edges), self.one.masses[-2:])
        q = np.append(self.other.intervals(edges), self.other.masses[-2:])
        return Cells(p, q, self.relative)

    @cached_property
    def _known(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {}

    def _divided(self, k: int, left: float, right: float) -> tuple[np.ndarray, np.ndarray]:
        """Masses of both laws in the parts of interval k; both orders of the neighbours divide much the same ones."""
        if k not in self._known:
            fine = np.linspace(left, right, DIVIDED + 1)
            self._known[k] = self.one.intervals(fine), self.other.intervals(fine)
        return self._known[k]

    def at(self, delta: float, swapped: bool) -> float:
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
        h = self.one.update.half_width
        edges = np.linspace(-h, h, len(inner_p) + 1)
        p, q = [np.delete(cells.p, critical)], [np.delete(cells.q, critical)]
        for k in critical:
            a, b = self._divided(int(k), float(edges[k]), float(edges[k + 1]))
            p.append(b if swapped else a)
            q.append(a if swapped else b)
        return max(eps, Cells(np.concatenate(p), np.concatenate(q), self.relative).eps(delta))

    def eps(self, delta: float) -> float:
        """A lower bound of epsilon at delta, both orders of the neighbours."""
        return max(self.at(delta, False), self.at(delta, True))

    def renyi(self, order: float) -> float:
        """The larger Renyi divergence of the two orders, from masses at the nodes."""
        return EitherOrder(Cells(self.one.masses, self.other.masses, self.relative)).renyi(order)

    @property
    def variation(self) -> float:
        """Total variation distance, from below."""
        return EitherOrder(self.cells).variation


def pair(one: Update, other: Update, panel: float = PANEL) -> NodePair:
    """The pair's laws, on a common set."""
    if one.half_width != other.half_width or one.steps != other.steps:
        raise ValueError("neighbours differ in one record alone")
    common = mesh((one, other), panel)
    return NodePair(NodeLaw(one, common), NodeLaw(other, common))
