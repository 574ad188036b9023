"""A clipped loss on an interval that remembers: how much the last iterate can leak without convexity, exactly.

(a) In noise units, cells of width W = 12 have their centres at W m, m = 0 ... M. From y the loss reads m =
round((y - kappa / 2) / W) (kept in 0 ... M) and the residual r = y - W m, and moves to the centre W min(M, m +
Delta(r)), where Delta(r) counts the thresholds (i - 1/2) `step` that the privacy loss log(1 + q / (1 - q) e^(kappa r -
kappa^2 / 2)) of the residual exceeds. So m is the sum of the quantised losses of all steps so far: the last iterate
remembers them.

(b) A batch with the record moves by f + kappa in the one data set (its own drift is f + b kappa, within the clip if
max |f| + b kappa <= u, u = eta C / noise), and by f in the other, where the record is like all others.

(c) The aimed cell is a finite Markov chain, whose probabilities are differences of normal ones; noise that carries y
over the border of a cell is in them. It is followed to the next cell on either side, which stands for all beyond: those
lie about 18 deviations away and more.

(d) The last iterate is the aimed cell with fresh noise, cut at the walls -W / 2 and W M + W / 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tests.oracles.cells import Cells, EitherOrder

W = 12.0
PARTS = 120
"""intervals of a cell in which the last iterate is seen"""


@dataclass(frozen=True)
class Memory:
    """The one-sided pair on M + 1 = `states` cells, batches of fixed size with the share q."""

    q: float
    kappa: float
    step: float
    states: int
    steps: int

    @cached_property
    def thresholds(self) -> np.ndarray:
        """Residuals above which the counter moves by one more, up to the largest residual of a cell."""
        # (a): the loss exceeds a level where kappa r - kappa^2 / 2 exceeds log(e^level - 1) - log(q / (1 - q))
        most = self._quantised(W / 2 + self.kappa / 2)
        levels = (np.arange(most) + 0.5) * self.step
        rise = np.log(np.expm1(levels)) - math.log(self.q / (1 - self.q))
        return (rise + self.kappa**2 / 2) / self.kappa

    def _quantised(self, r: float) -> int:
        exponent = math.log(self.q / (1 - self.q)) + self.kappa * r - self.kappa**2 / 2
        loss = exponent if exponent > 30 else math.log1p(math.exp(exponent))
        return min(self.states, math.floor(loss / self.step + 0.5))

    @property
    def largest_drift(self) -> float:
        """At least max |f|: a whole cell for every count, and half a cell and kappa, which no residual exceeds."""
        return W * len(self.thresholds) + W / 2 + self.kappa

    @property
    def width(self) -> float:
        """Width of the set in noise units."""
        return W * self.states

    def _chain(self, shift: float) -> np.ndarray:
        """Aimed cell to aimed cell, [to, from], given the mean of the residual."""
        # a step without the record has the residual N(0, 1), one with it N(kappa, 1): only `shift` tells them apart
        count, out = self.states, np.zeros((self.states, self.states))
        low, high = -W / 2 + self.kappa / 2, W / 2 + self.kappa / 2
        # thresholds below all residuals are counted at once
        marks = np.array([b for b in self.thresholds if b > low])
        start = len(self.thresholds) - len(marks)
        for m in range(count):
            for j in (-1, 0, 1):
                # (c): noise carries y into the next cell on either side, which stands for all beyond
                if not 0 <= m + j < count:
                    continue
                # residuals of cell m + j as residuals of m; the first and the last cell reach as far as the walls
                a = -math.inf if j == -1 or (m + j == 0 and j == 0) else low + j * W
                b = math.inf if j == 1 or (m + j == count - 1 and j == 0) else high + j * W
                inner = np.clip(marks + j * W, a, b)
                # (a): i thresholds are passed, so that the aim is i cells further
                for i, p in enumerate(_between(np.concatenate([[a], inner, [b]]) - shift)):
                    out[min(count - 1, m + j + start + i), m] += p
        return out

    @cached_property
    def _aims(self) -> tuple[np.ndarray, np.ndarray]:
        """The law of the cell that the last step aims at, with and without the record."""
        free, held = self._chain(0.0), self._chain(self.kappa)
        # (b); the start is the first centre: its first step aims at cell 0
        with_record = (1 - self.q) * free + self.q * held
        one, other = (np.linalg.matrix_power(step, self.steps - 1)[:, 0] for step in (with_record, free))
        return one, other

    @cached_property
    def cells(self) -> Cells:
        """The last iterate in parts of its cells; what lies beyond a wall is at the wall."""
        masses = []
        # (d), each aimed cell with its two neighbours
        local = np.linspace(-1.5 * W, 1.5 * W, 3 * PARTS + 1)
        one = (1 - self.q) * _between(local) + self.q * _between(local - self.kappa)
        for aims, law in zip(self._aims, (one, _between(local)), strict=True):
            total = np.zeros((self.states + 2) * PARTS)
            for m, p in enumerate(aims):
                total[m * PARTS : (m + 3) * PARTS] += p * law
            total[PARTS] += total[:PARTS].sum()
            total[-PARTS - 1] += total[-PARTS:].sum()
            masses.append(total[PARTS:-PARTS])
        return Cells(masses[0], masses[1], 1e-11 + 4e-15 * self.steps)

    @property
    def pair(self) -> EitherOrder:
        """Both orders of the neighbours."""
        return EitherOrder(self.cells)


def _between(edges: np.ndarray) -> np.ndarray:
    """Masses of the normal law between edges, as differences of the smaller tails, which keep their digits."""
    from scipy.special import ndtr

    below, above = ndtr(edges), ndtr(-edges)
    return np.where(edges[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
