"""The law of a run on a density grid with an atom at either wall, step by step.

It shares no code with `dpexp.privacy.exact.run_laws`, nor with `tests.oracles.node_laws`: equidistant points and the Gregory
weights of fourth order between kinks, one step after the other, the literal sum over batch sizes by Pascal's rule, and
epsilon by bisection on delta(eps), which integrates the positive part of p - e^eps q on the grid. Meant for checking; it
is about a hundred times slower.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import ndtr

from dpexp.privacy.exact.update import Update

_ENDS = np.array([3 / 8, 7 / 6, 23 / 24])
"""Gregory's end corrections: an integral from n + 1 >= 6 equidistant values, with an error of fourth order"""


def _points(updates: tuple[Update, ...], per_unit: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights; every piece between kinks ends in a point, which counts for both its pieces."""
    h = updates[0].half_width
    drifts = [drift for u in updates for drift in (u.others, u.record) if drift is not None]
    x, w = [], []
    for low, high in pairwise(sorted({-h, h, *(k for drift in drifts for k in drift.knots if -h < k < h)})):
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


class GridRun:
    """One neighbour's run; a state is the density at the points, then the atoms at the left and at the right wall."""

    def __init__(self, update: Update, x: np.ndarray, w: np.ndarray) -> None:
        self.update, self.x, self.w = update, x, w
        walls = np.array([-update.half_width, update.half_width])
        everywhere, weights = np.append(x, walls), np.append(w, [1.0, 1.0])
        # a run's first step leaves a point, later ones a state; each without and with the record
        self.begun = [self._moved(np.array([update.start]), included)[:, 0] for included in (False, True)]
        self.steps = [self._moved(everywhere, included) * weights for included in (False, True)]

    def _moved(self, y: np.ndarray, included: bool) -> np.ndarray:
        """What one step makes of a mass at each of the places y, [N + 2, Y]."""
        u, h, out = self.update, self.update.half_width, np.zeros((len(self.x) + 2, len(y)))
        own = u.record(y) if included and u.record is not None else 0.0 * y
        sizes = {u.batch_size - included: 1.0}
        if u.sampling == "poisson":
            sizes = {k: float(p) for k, p in enumerate(_batch_sizes(u.n - 1, u.q)) if p > 1e-20}
        for k, p in sizes.items():
            means = y + (k * u.others(y) + own) / u.batch_size
            out[:-2] += p * np.exp(-0.5 * np.square(self.x[:, None] - means)) / math.sqrt(2 * math.pi)
            out[-2] += p * ndtr(-h - means)
            out[-1] += p * ndtr(means - h)
        return out

    def _after(self, now: np.ndarray | None, included: bool) -> np.ndarray:
        return self.begun[included] if now is None else self.steps[included] @ now

    @cached_property
    def state(self) -> np.ndarray:
        """After all steps."""
        u, now = self.update, None
        if u.sampling == "shuffled":
            orders = [GridRun(replace(u, sampling="cyclic", position=j), self.x, self.w) for j in range(u.batches)]
            return sum((run.state for run in orders), np.zeros(len(self.x) + 2)) / u.batches
        if u.sampling == "reshuffled":
            return self._every_epoch_anew()
        for t in range(u.steps):
            share = u.q if u.sampling in ("fixed-size", "poisson") else 1.0
            if u.sampling == "cyclic":
                share = 1.0 if t % u.batches == u.position else 0.0
            now = (1 - share) * self._after(now, False) + share * self._after(now, True)
        assert now is not None
        return now

    def _every_epoch_anew(self) -> np.ndarray:
        """Two states: the record is still to come in this epoch, or was used; the j-th of l batches takes it with
        probability 1 / (l - j) if it is still to come."""
        u, to_come, used = self.update, None, np.zeros(len(self.x) + 2)
        for t in range(u.steps):
            if t % u.batches == 0 and t > 0:
                to_come, used = used, 0.0 * used
            chance = 1 / (u.batches - t % u.batches)
            taken = self._after(to_come, True) * chance
            passed = self._after(used, False) if used.any() else used
            to_come, used = self._after(to_come, False) * (1 - chance), passed + taken
        assert to_come is not None
        return to_come + used


class GridPair:
    """Both neighbours on the same points."""

    def __init__(self, one: Update, other: Update, per_unit: int = 24) -> None:
        self.x, self.w = _points((one, other), per_unit)
        self.laws = [GridRun(update, self.x, self.w).state for update in (one, other)]

    @cached_property
    def _fine(self) -> list[np.ndarray]:
        """Densities on a grid twenty times finer, by cubic splines of their logarithms, and the atoms."""
        keep = np.append(np.diff(self.x) > 1e-6, True)
        at = np.linspace(self.x[0], self.x[-1], 20 * len(self.x) + 1)
        splines = [CubicSpline(self.x[keep], np.log(law[:-2][keep])) for law in self.laws]
        return [np.append(np.exp(spline(at)), law[-2:]) for spline, law in zip(splines, self.laws, strict=True)]

    def delta(self, eps: float, swapped: bool = False) -> float:
        """sup over events of p - e^eps q."""
        p, q = self._fine[::-1] if swapped else self._fine
        gap = p - math.exp(eps) * q
        step = (self.x[-1] - self.x[0]) / (len(gap) - 3)
        up = np.maximum(gap, 0.0)
        inside = step * (up[:-2].sum() - (up[0] + up[-3]) / 2) + up[-2:].sum()
        # trapezoids across which the sign changes are triangles
        a, b = gap[:-3], gap[1:-2]
        cross = a * b < 0
        top = np.maximum(a, b)[cross]
        return float(inside + (step * (top * top / np.abs(a - b)[cross] - top) / 2).sum())

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
        p, q = self.laws
        seen = (p > 0) & (q > 0)
        weight, one, other = (np.log(v[seen]) for v in (np.append(self.w, [1.0, 1.0]), p, q))
        return max(
            float(np.logaddexp.reduce(weight + order * a + (1 - order) * b)) / (order - 1)
            for a, b in ((one, other), (other, one))
        )
