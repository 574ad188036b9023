"""Epsilon of a pair of walks at a given delta, and its gradient in the others' drift and the start, by adjoints.

(a) The law is a vector of masses at Gauss-Legendre nodes and the two walls, and in the end in cells: R A^(T-2) v, v the
law after the first step from a point and R the last step.

(b) Epsilon is the largest over events.

(c) For a function of the law whose gradient before the last step is g, the gradient in A is X = sum over t < n of
(A')^(n-1-t) g (A^t v)', n = T - 2; with B = A', C = g v' and Y_m = sum over t < m of B^(m-1-t) C B^t,

    Y_(2m) = B^m Y_m + Y_m B^m,    Y_(m+1) = B Y_m + C B^m,

so that X = Y_n takes O(log T) products of matrices.

It is what a search needs, and no more. What the found pair attains is computed by `dpexp.privacy.pairs.stated`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpexp.core.gauss_legendre import gauss_legendre
from dpexp.privacy.accounting.binomials import likely_counts
from dpexp.privacy.exact.projected_run import Pair, ProjectedRun

NODES = 8
"""of a panel"""
PANEL = 2.0
"""noise units: widest panel"""
MOVE = 3.0
"""farthest that a step's mean may move along a panel, in noise units"""
STRONGEST = 6.0
"""noise units: a stronger pull tells nothing more, since leaving a trap has to stay possible"""
CELL = 0.125
"""noise units: width of the cells in which the last iterate is seen"""
UNLIKELY = 1e-13
"""batch sizes less probable than this are left out"""
LISTED = 40
"""more batch sizes than this are replaced by a Gauss rule for a normal law of their mean and variance"""
RULE = 9
"""of so many nodes"""


@dataclass(frozen=True)
class Way:
    """With some probability the mean of a step is y + share f(y) + own record / b."""

    probability: float
    share: float
    own: float


def ways(run: ProjectedRun, present: bool) -> list[Way]:
    """The literal update of the sampling; `present`: the data set has the record."""
    # as in `exact.update`: with the record a batch of fixed size has b - 1 others, and a Poisson batch the k it draws
    b, q = run.batch_size, run.q if present else 0.0
    if run.sampling == "full-batch":
        return [Way(1.0, 1 - 1 / b, 1.0 if present else 0.0)]
    if run.sampling == "fixed-size":
        return [w for w in (Way(1 - q, 1.0, 0.0), Way(q, 1 - 1 / b, 1.0)) if w.probability > 0]
    sizes = _sizes(run.n - 1, run.q)
    found = [Way(p * (1 - q), k / b, 0.0) for k, p in sizes if q < 1]
    return found + [Way(p * q, k / b, 1.0) for k, p in sizes if q > 0]


def _sizes(others: int, q: float) -> list[tuple[float, float]]:
    """Numbers of other records in a batch with their probabilities."""
    if q == 1 or others == 0:
        return [(float(others), 1.0)]
    mean, deviation = others * q, math.sqrt(others * q * (1 - q))
    # a rule with the moments of the normal law is enough for a search; what is found is certified with all sizes
    if deviation > 5 and 16 * deviation > LISTED:
        nodes, weights = np.polynomial.hermite_e.hermegauss(RULE)
        at = mean + deviation * nodes
        return [(float(k), float(p)) for k, p in zip(at, weights / weights.sum(), strict=True)]
    counts, logs = likely_counts(others, q, math.log(UNLIKELY))
    return list(zip(counts.tolist(), np.exp(logs).tolist(), strict=True))


@dataclass(frozen=True)
class Stage:
    """A step from some places: masses [X, Y], and their derivatives in the drift there and in the places themselves."""

    masses: np.ndarray
    by_drift: np.ndarray
    by_place: np.ndarray


@dataclass(frozen=True)
class Law:
    """The law after all steps, with what its gradient needs: a step from the start, those between, and the last one."""

    first: Stage
    step: Stage | None
    """None for a single step, which is the first and the last"""
    last: Stage | None
    before: np.ndarray
    """masses at the places before the last step [N]"""
    state: np.ndarray
    """masses of the cells after it [C]"""


class Landscape:
    """Epsilon at `delta` as a function of K drift values and the start: the objective of a search."""

    def __init__(self, run: ProjectedRun, delta: float, knots: int, record: float = 1.0, swapped: bool = False) -> None:
        self.run, self.delta, self.record, self.swapped = run, delta, record, swapped
        self.knots = np.linspace(-run.half_width, run.half_width, knots)
        self.box = min(run.reach, STRONGEST)
        self.ways = (ways(run, True), ways(run, run.replaced))

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Places and weights inside the walls, on panels that end at the knots."""
        # between two knots the mean moves by the spacing and by the drift's change, which is 2 box at most
        spacing = float(self.knots[1] - self.knots[0])
        count = max(1, math.ceil(spacing / PANEL), math.ceil((spacing + 2 * self.box) / MOVE))
        ends = np.linspace(self.knots[0], self.knots[-1], count * (len(self.knots) - 1) + 1)
        x, w = gauss_legendre(NODES)
        half = np.diff(ends)[:, None] / 2
        return (ends[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()

    @cached_property
    def places(self) -> np.ndarray:
        h = self.run.half_width
        return np.append(self.nodes[0], [-h, h])

    def hats(self, y: np.ndarray) -> np.ndarray:
        """Weights of the values at the knots in the drift at y: [Y, K]."""
        return np.array([np.interp(y, self.knots, row) for row in np.eye(len(self.knots))]).T

    @cached_property
    def _hats(self) -> np.ndarray:
        return self.hats(self.places)

    @cached_property
    def _edges(self) -> np.ndarray:
        h = self.run.half_width
        return np.linspace(-h, h, max(8, math.ceil(2 * h / CELL)) + 1)

    def _at_walls(self, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Masses that the walls gather from the means [Y], and their derivatives: [2, Y] each."""
        from scipy.special import ndtr

        h = self.run.half_width
        left, right = (np.exp(-0.5 * (end - mean) ** 2) / math.sqrt(2 * math.pi) for end in (-h, h))
        return np.array([ndtr(-h - mean), ndtr(mean - h)]), np.array([-left, right])

    def _at_nodes(self, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Masses at the nodes after noise around the means [Y], and their derivatives in the means: [N, Y] each."""
        x, w = self.nodes
        away = x[:, None] - mean
        inside = (w / math.sqrt(2 * math.pi))[:, None] * np.exp(-0.5 * away * away)
        return inside, inside * away

    def _in_cells(self, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for the masses of cells."""
        from scipy.special import ndtr

        # an event of cells is an event, whatever their width
        away = self._edges[:, None] - mean
        # differences of tails keep their digits
        tail = ndtr(-np.abs(away))
        part = np.where(away[:-1] * away[1:] < 0, 1 - tail[:-1] - tail[1:], np.abs(tail[1:] - tail[:-1]))
        return part, -np.diff(np.exp(-0.5 * away * away), axis=0) / math.sqrt(2 * math.pi)

    def _stage(self, y: np.ndarray, drift: np.ndarray, which: int, last: bool) -> Stage:
        """A step from y [Y] with these drifts to nodes, or to cells if it is the last; columns have sum 1."""
        own = (self.record if which == 0 else -self.record) * self.run.reach / self.run.batch_size
        size = 2 + (len(self._edges) - 1 if last else len(self.nodes[0]))
        total, by_drift, by_place = (np.zeros((size, len(y))) for _ in range(3))
        for way in self.ways[which]:
            mean = y + way.share * drift + way.own * own
            inside, walls = self._in_cells(mean) if last else self._at_nodes(mean), self._at_walls(mean)
            masses, slopes = (np.concatenate(both) for both in zip(inside, walls, strict=True))
            total += way.probability * masses
            by_drift += way.probability * way.share * slopes
            by_place += way.probability * slopes
        # what quadrature misses of the mass 1 is made up for, and so are the derivatives
        sums = total.sum(axis=0)
        total /= sums
        return Stage(total, *((d - total * d.sum(axis=0)) / sums for d in (by_drift, by_place)))

    def law(self, x: np.ndarray, which: int) -> Law:
        """Of one data set; x has the drift's values over the box, then the start over h."""
        # (a)
        drift, start = self.box * x[:-1], np.array([self.run.half_width * x[-1]])
        steps, at_places = self.run.steps, self._hats @ drift
        first = self._stage(start, self.hats(start) @ drift, which, steps == 1)
        if steps == 1:
            return Law(first, None, None, np.ones(1), first.masses[:, 0])
        step, last = (self._stage(self.places, at_places, which, cells) for cells in (False, True))
        before = _powered(step.masses, steps - 2, first.masses[:, 0])
        return Law(first, step, last, before, last.masses @ before)

    def value(self, x: np.ndarray) -> float:
        """Epsilon at delta, or a negative number that increases with what an attacker tells where epsilon is 0."""
        return _attained(*self._ordered(x), self.delta)[0]

    def _ordered(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, q = self.law(x, 0).state, self.law(x, 1).state
        return (q, p) if self.swapped else (p, q)

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """`value` and its derivatives in x."""
        laws = self.law(x, 0), self.law(x, 1)
        p, q = (law.state for law in (laws[::-1] if self.swapped else laws))
        # (b): to first order a change of the law moves epsilon as if the best event stayed
        value, by_p, by_q = _attained(p, q, self.delta)
        gradients = (by_q, by_p) if self.swapped else (by_p, by_q)
        return value, sum((self._pulled(law, g, x) for law, g in zip(laws, gradients, strict=True)), np.zeros(len(x)))

    def _pulled(self, law: Law, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The gradient g in the masses after all steps, as one in x."""
        # of the last step, of all between by (c), and of the first
        by_drift, by_first = np.zeros(len(self.knots)), g
        if law.step is not None and law.last is not None:
            at_places = (g @ law.last.by_drift) * law.before
            back = g @ law.last.masses
            by_step, by_first = _adjoint(law.step.masses, back, law.first.masses[:, 0], self.run.steps - 2)
            # column y of the matrix depends on the drift at y alone, so that its entries add up to the gradient there
            at_places += np.einsum("ij,ij->j", by_step, law.step.by_drift)
            # the drift is linear between knots
            by_drift = self._hats.T @ at_places
        # the start moves its own step by its place, and by the drift there
        at_start, moved = float(by_first @ law.first.by_drift[:, 0]), float(by_first @ law.first.by_place[:, 0])
        h, start = self.run.half_width, np.array([self.run.half_width * x[-1]])
        by_drift = by_drift + at_start * self.hats(start)[0]
        # the slope of the drift where the start is
        k = int(np.clip(np.searchsorted(self.knots, start[0], side="right") - 1, 0, len(self.knots) - 2))
        bend = self.box * (x[k + 1] - x[k]) / (self.knots[k + 1] - self.knots[k])
        return np.append(self.box * by_drift, h * (moved + at_start * bend))

    def pair(self, x: np.ndarray) -> Pair:
        """What x stands for."""
        values = np.clip(x[:-1] * (self.box / self.run.reach), -1, 1)
        knots = np.linspace(-1, 1, len(values))
        start = min(1.0, max(-1.0, float(x[-1])))
        return Pair(tuple(map(float, knots)), tuple(map(float, values)), start, self.record, self.delta)


def _attained(p: np.ndarray, q: np.ndarray, delta: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Epsilon at delta, with its gradients in p and q: the largest log((P(S) - delta) / Q(S)) over events S.

    Where no event gives a positive epsilon, the value is delta(0) / delta - 1, which is negative.
    """
    ratio = p / np.maximum(q, 1e-300)
    order = np.argsort(-ratio, kind="stable")
    # the best events are the first cells by falling ratio, and each has the epsilon log((P - delta) / Q)
    above, below = np.cumsum(p[order]) - delta, np.maximum(np.cumsum(q[order]), 1e-300)
    eps = np.where(above > 0, np.log(np.maximum(above, 1e-300)) - np.log(below), -np.inf)
    best = int(np.argmax(eps))
    by_p, by_q = np.zeros(len(p)), np.zeros(len(q))
    if eps[best] > 0:
        event = order[: best + 1]
        by_p[event], by_q[event] = 1 / above[best], -1 / below[best]
        return float(eps[best]), by_p, by_q
    # no event gives a positive epsilon: the total variation still tells which way is up
    likelier = p > q
    by_p[likelier], by_q[likelier] = 1 / delta, -1 / delta
    return float((p - q)[likelier].sum() / delta - 1), by_p, by_q


def _powered(step: np.ndarray, times: int, state: np.ndarray) -> np.ndarray:
    while times > 0:
        if times & 1:
            state = step @ state
        times >>= 1
        if times:
            step = step @ step
    return state


def _adjoint(step: np.ndarray, g: np.ndarray, v: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of g' A^times v in A and in v, for a fixed g."""
    back = step.T
    total, power, left = np.zeros_like(step), np.eye(len(step)), v.copy()
    for bit in bin(times)[2:] if times else "":
        # (c): power = B^m, total = Y_m, left = v' B^m, m the digits of n so far
        total = power @ total + total @ power
        power, left = power @ power, left @ power
        if bit == "1":
            total = back @ total + np.outer(g, left)
            power, left = back @ power, left @ back
    return total, power @ g
