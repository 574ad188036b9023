"""The law of a run on a density grid with an atom at either wall, step by step.

It shares no code with `dpexp.privacy.exact.runs`, nor with `tests.oracles.node_laws`: equidistant points and the Gregory weights of fourth order between kinks, one step after
the other (more than `MANY` of the same kind as a power of one matrix), the literal sum over batch sizes by Pascal's
rule, and epsilon by bisection on delta(eps), which integrates the positive part of p - e^eps q on the grid. Meant for
checking; it is about a hundred times slower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from dpexp.privacy.exact.update import Update

WALLS = 2
MANY = 500
"""steps of the same kind from which on a power of their matrix costs less"""
_ENDS = np.array([3 / 8, 7 / 6, 23 / 24])
"""Gregory's end corrections: an integral from n + 1 >= 6 equidistant values, with an error of fourth order"""


def _points(updates: tuple[Update, ...], per_unit: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights; every piece between kinks ends in a point, which counts for both its pieces."""
    h = updates[0].half_width
    kinks = {-h, h}
    for u in updates:
        for drift in (u.others, u.record):
            if drift is not None:
                kinks |= {k for k in drift.knots if -h < k < h}
    ends = sorted(kinks)
    x, w = [], []
    for low, high in pairwise(ends):
        count = max(12, math.ceil((high - low) * per_unit))
        at = low + (high - low) * np.arange(count + 1) / count
        at[[0, -1]] += np.array([1e-10, -1e-10]) * (high - low)  # drifts may jump at the ends
        weight = np.ones(count + 1)
        weight[:3] = _ENDS
        weight[-3:] = _ENDS[::-1]
        x.append(at)
        w.append(weight * (high - low) / count)
    return np.concatenate(x), np.concatenate(w)


def _batch_sizes(others: int, q: float) -> np.ndarray:
    """P(k of the others are in the batch), one record after the other."""
    law = np.array([1.0])
    for _ in range(others):
        law = np.append(law, 0.0) * (1 - q) + np.append(0.0, law) * q
    return law


@dataclass(frozen=True)
class GridRun:
    """One neighbour's run, evolved on given points."""

    update: Update
    x: np.ndarray
    w: np.ndarray

    def _ways(self, included: bool) -> list[tuple[float, np.ndarray, float, float]]:
        """(probability, means from the points, mean from the left wall, from the right one)."""
        u, h = self.update, self.update.half_width
        y = np.concatenate([self.x, [-h, h]])
        own = u.record(y) if included and u.record is not None else 0.0 * y
        if u.sampling == "poisson":
            means = [(p, y + (k * u.others(y) + own) / u.batch_size) for k, p in enumerate(self._sizes) if p > 1e-20]
        else:
            places = u.batch_size - 1 if included else u.batch_size
            means = [(1.0, y + (places * u.others(y) + own) / u.batch_size)]
        return [(float(p), m[:-2], float(m[-2]), float(m[-1])) for p, m in means]

    @cached_property
    def _sizes(self) -> np.ndarray:
        return _batch_sizes(self.update.n - 1, self.update.q)

    @cached_property
    def _operators(self) -> tuple[np.ndarray, np.ndarray]:
        """Steps without and with the record, acting on (values of the density, left atom, right atom)."""
        from scipy.special import ndtr

        found = []
        h, size = self.update.half_width, len(self.x)
        for included in (False, True):
            step = np.zeros((size + WALLS, size + WALLS))
            for p, inner, left, right in self._ways(included):
                for columns, means, weights in (
                    (slice(0, size), inner, self.w),
                    (slice(size, None), np.array([left, right]), np.ones(2)),
                ):
                    bell = np.exp(-0.5 * np.square(self.x[:, None] - means[None, :])) / math.sqrt(2 * math.pi)
                    step[:size, columns] += p * bell * weights
                    step[size, columns] += p * ndtr(-h - means) * weights
                    step[size + 1, columns] += p * ndtr(means - h) * weights
            found.append(step)
        return found[0], found[1]

    @cached_property
    def state(self) -> np.ndarray:
        """Density at the points and the two atoms, after all steps."""
        u = self.update
        if u.sampling == "shuffled":
            orders = [GridRun(replace(u, sampling="cyclic", position=j), self.x, self.w) for j in range(u.batches)]
            return sum((run.state for run in orders), np.zeros(len(self.x) + WALLS)) / u.batches
        begin = _Start(self)
        if u.sampling == "reshuffled":
            return self._every_epoch_anew(begin)
        now: np.ndarray | None = None
        if u.sampling != "cyclic" and u.steps > MANY:
            share = u.q if u.sampling in ("fixed-size", "poisson") else 1.0
            now = (1 - share) * begin.after(None, False) + share * begin.after(None, True)
            one = (1 - share) * self._operators[0] + share * self._operators[1]
            return np.asarray(np.linalg.matrix_power(one, u.steps - 1) @ now)
        for t in range(u.steps):
            share = u.q if u.sampling in ("fixed-size", "poisson") else 1.0
            if u.sampling == "cyclic":
                share = 1.0 if t % u.batches == u.position else 0.0
            now = (1 - share) * begin.after(now, False) + share * begin.after(now, True)
        assert now is not None
        return now

    def _every_epoch_anew(self, begin: _Start) -> np.ndarray:
        """Two states: the record is still to come in this epoch, or was used; the j-th of l batches takes it with
        probability 1 / (l - j) if it is still to come."""
        u = self.update
        to_come: np.ndarray | None = None
        used = np.zeros(len(self.x) + WALLS)
        for t in range(u.steps):
            j = t % u.batches
            if j == 0 and t > 0:
                to_come, used = used, 0.0 * used
            chance = 1 / (u.batches - j)
            taken = begin.after(to_come, True) * chance
            passed = begin.after(used, False) if used.any() else used
            to_come, used = begin.after(to_come, False) * (1 - chance), passed + taken
        assert to_come is not None
        return to_come + used


@dataclass(frozen=True)
class _Start:
    """A run's first step leaves a point, later ones a density."""

    run: GridRun

    def after(self, now: np.ndarray | None, included: bool) -> np.ndarray:
        if now is not None:
            return self.run._operators[included] @ now
        point = GridRun(self.run.update, np.array([self.run.update.start]), np.ones(1))
        from scipy.special import ndtr

        x, h = self.run.x, self.run.update.half_width
        out = np.zeros(len(x) + WALLS)
        for p, means, _, _ in point._ways(included):
            out[:-2] += p * np.exp(-((x - means[0]) ** 2) / 2) / math.sqrt(2 * math.pi)
            out[-2] += p * ndtr(-h - means[0])
            out[-1] += p * ndtr(means[0] - h)
        return out


@dataclass(frozen=True)
class GridPair:
    """Both neighbours on the same points."""

    one: Update
    other: Update
    per_unit: int = 24

    @cached_property
    def _laws(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Densities at the points and atoms, of both; weights, which are 1 for the atoms."""
        x, w = _points((self.one, self.other), self.per_unit)
        laws = [GridRun(u, x, w).state for u in (self.one, self.other)]
        return laws[0], laws[1], np.append(w, [1.0, 1.0])

    @cached_property
    def _fine(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Densities on a grid twenty times finer, by cubic splines of their logarithms, weights, and the atoms."""
        from scipy.interpolate import CubicSpline

        x, _ = _points((self.one, self.other), self.per_unit)
        keep = np.append(np.diff(x) > 1e-6, True)
        p, q, _ = self._laws
        at = np.linspace(x[0], x[-1], 20 * len(x) + 1)
        weights = np.full(len(at), at[1] - at[0])
        weights[[0, -1]] /= 2
        values = [np.exp(CubicSpline(x[keep], np.log(v[:-2][keep]))(at)) for v in (p, q)]
        return (
            np.append(values[0], p[-2:]),
            np.append(values[1], q[-2:]),
            np.append(weights, [1.0, 1.0]),
        )

    def delta(self, eps: float, swapped: bool = False) -> float:
        """sup over events of p - e^eps q."""
        p, q, w = self._fine
        p, q = (q, p) if swapped else (p, q)
        gap = p - math.exp(eps) * q
        inside = np.maximum(gap, 0.0) @ w
        # trapezoids across which the sign changes are triangles
        a, b = gap[:-3], gap[1:-2]
        cross = a * b < 0
        step = w[1]
        for left, right in zip(a[cross], b[cross], strict=True):
            up = max(left, right)
            inside += step * (up * up / abs(left - right) - up) / 2
        return float(inside)

    def eps(self, delta: float) -> float:
        """Epsilon at delta, the larger of both orders, by bisection."""
        return max(self._eps(delta, False), self._eps(delta, True))

    def _eps(self, delta: float, swapped: bool) -> float:
        if self.delta(0.0, swapped) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high, swapped) > delta:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle, swapped) > delta else (low, middle)
        return low

    def renyi(self, order: float) -> float:
        """The larger of the two Renyi divergences.

        The integrand a^order b^(1 - order) is summed as logarithms, since its powers leave the range of numbers at
        large orders. A point at which a density is below every number is left out, which lowers the sum.
        """
        p, q, w = self._laws
        seen = (p > 0) & (q > 0)
        weight, one, other = (np.log(v[seen]) for v in (w, p, q))
        return max(
            float(np.logaddexp.reduce(weight + order * a + (1 - order) * b)) / (order - 1)
            for a, b in ((one, other), (other, one))
        )
