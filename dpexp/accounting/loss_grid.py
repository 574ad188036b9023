"""A privacy loss on a grid that is certainly worse, or certainly better, than that of a given hockey-stick curve.

(a) Write gamma = e^eps and f(gamma) = sup over events of p - gamma r. A measure with mass m_k on the losses l_k has the
curve h(gamma) = sum of m_k (1 - gamma e^(-l_k))_+. If h >= f for all gamma >= 0, T such losses in a row are at least
as bad as T steps of f, and if h <= f they are at most as bad: replace one factor of the product at a time, because the
curve of a product is the average of one factor's curve over the other factor's loss. Measures of total mass below 1
are allowed from below, and mass that is never bounded from above.
(b) From above, h is the polygon through points of f on the grid: chords of a convex function lie above it
(connect-the-dots, Doroshenko et al., 2022).
(c) From below (ours), the polygon is sunk until no chord is above f, and its convex hull is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpexp.accounting.functions import exp, expm1, log

UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Discrete:
    """Masses on the losses interval * (start + k), and the mass that is never bounded."""

    start: int
    masses: np.ndarray
    unbounded: float

    @cached_property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """Where on the grid masses are not 0, and the logarithms of these: of one law, however often it is tilted."""
        used = np.flatnonzero(self.masses)
        return self.start + used.astype(np.float64), log(self.masses[used])


def from_above(curve: np.ndarray, exchanged: np.ndarray, interval: float, accuracy: float) -> Discrete:
    """The law whose curve is the chords' of the given one; it dominates the step.

    Curves are heights at eps = interval * (0 .. cells), [cells + 1]; they are raised by `accuracy`, relatively.
    Masses are second differences of the curve over its least value (1 - gamma)_+, which is gamma times the exchanged
    pair's curve at 1 / gamma for gamma < 1: so the mass of far losses keeps its relative accuracy, and nothing grows
    over 10^9 steps. Where rounding makes a mass negative it is set to 0, which raises the curve.
    """
    excess, unbounded = _excess(curve, exchanged, interval)
    # (b): the chords' law has as masses the changes of their slope
    masses = _masses(excess * (1 + accuracy), np.arange(len(excess)), interval)
    return _trimmed(1 - len(curve), np.maximum(masses, 0.0), unbounded * (1 + accuracy))


def from_below(curve: np.ndarray, exchanged: np.ndarray, interval: float, accuracy: float) -> Discrete:
    """A measure whose curve is nowhere above the given one, [2 cells + 1] at half intervals: what it composes to is
    attained.

    (d) Let a cell lie between grid points a and b with the midpoint c, and let the masses of the chords on the grid of
    half the interval be m_a, m_c, m_b. f is convex, so in [a, c] it is above the chord that ends in a and above the
    chord that begins in c, both extended. With rho = e^(interval / 2) the chord [a, b] is above these two by at most
        depth = A (g + B w) / (A + B),  A = m_a + m_c / (1 + rho),  B = m_c / (rho (1 + rho)),
        g = m_c (rho - 1) / (1 + rho)  (chord over f at c),   w = rho - 1   (in units of gamma_a, as A and B):
    the first line rises from a with slope A, the second falls to g at c with slope B; likewise from b.
    (e) Sinking each grid point by the greater depth of its two cells puts the polygon below f: on each cell by at least
    the cell's own depth. The depth is 3/16 f'' (width)^2 where f is smooth, half as much again as the chord's true
    height.
    (f) At both ends the excess over (1 - gamma)_+ is set to 0 one point further in than it is positive: the polygon
    falls, and (1 - gamma)_+ <= f.
    (g) Grid points at which the polygon is not convex are dropped, which lowers it.
    """
    excess, _ = _excess(curve, exchanged, interval / 2)
    cells = len(curve) // 2
    # rounding can leave a second difference of a convex curve below 0
    fine = np.maximum(_masses(excess, np.arange(len(excess)), interval / 2), 0.0)
    sunk = excess[::2] * (1 - accuracy)
    depth = _depths(fine, interval)  # (d)
    # (e)
    sunk[:-1] -= np.concatenate([depth[:1], np.maximum(depth[:-1], depth[1:])])
    sunk[-1] -= depth[-1]
    # (f)
    left, right = np.flatnonzero(sunk[:cells] <= 0), np.flatnonzero(sunk[cells:] <= 0)
    sunk[: (left[-1] if len(left) else -1) + 2] = 0.0
    sunk[cells + (right[0] if len(right) else len(sunk) - cells) - 1 :] = 0.0
    if not sunk.any():
        return Discrete(0, np.zeros(1), 0.0)
    return _trimmed(-cells, _convex(sunk, cells, interval), 0.0)  # (g)


def _excess(curve: np.ndarray, exchanged: np.ndarray, interval: float) -> tuple[np.ndarray, float]:
    """f - (1 - gamma)_+ at eps = interval * (-cells .. cells), [2 cells + 1], and f at the last."""
    # curves fall, up to rounding; for gamma < 1 what is over 1 - gamma is gamma times the exchanged curve at 1 / gamma
    above = np.minimum.accumulate(np.clip(curve, 0.0, 1.0))
    below = exp(-interval * np.arange(1, len(curve))) * np.minimum.accumulate(np.clip(exchanged[1:], 0.0, 1.0))
    return np.concatenate([below[::-1], above]), float(above[-1])


def _depths(fine: np.ndarray, interval: float) -> np.ndarray:
    """By how much at most each cell's chord is above the curve, from masses on the grid of half the interval."""
    rho = math.exp(interval / 2)
    start, middle, end = fine[:-2:2], fine[1:-1:2], fine[2::2]
    gap = middle * (rho - 1) / (1 + rho)
    rise, fall = start + middle / (1 + rho), middle / (rho * (1 + rho))  # A and B of (d), and those from b
    back_rise, back_fall = end / rho**2 + middle / (rho * (1 + rho)), middle / (1 + rho)
    with np.errstate(invalid="ignore"):
        forward = rise / (rise + fall) * (gap + fall * (rho - 1))  # in this order nothing underflows
        backward = back_rise / (back_rise + back_fall) * (gap + back_fall * rho * (rho - 1))
    return np.nan_to_num(np.maximum(forward, backward))  # 0 / 0: no mass, no depth


def _convex(excess: np.ndarray, middle: int, interval: float) -> np.ndarray:
    """Masses of the convex hull from below of a polygon, by dropping points; grid as in `_masses`.

    All points at which the polygon bends down are dropped at once: over a run of them it is concave, so that the chord
    over the run is below it. Only beside what was dropped it then bends otherwise, and is looked at again: the points
    left are those of passes over all of them.
    """
    points, masses = _ends(excess, middle, interval), np.zeros(len(excess))
    before, after, kept = np.zeros(len(excess), int), np.zeros(len(excess), int), np.zeros(len(excess), bool)
    before[points[1:]], after[points[:-1]], kept[points] = points[:-1], points[1:], True
    down = points[_masses(excess, points, interval) < 0]
    while len(down):
        kept[down], left, right = False, before[down], after[down]
        left, right = left[kept[left]], right[kept[right]]
        after[left], before[right] = right, left
        beside = np.unique(np.concatenate([left[left > points[0]], right[right < points[-1]]]))
        chain = np.unique(np.concatenate([points[[0, -1]], before[beside], beside, after[beside]]))
        down = beside[_masses(excess, chain, interval)[np.searchsorted(chain, beside)] < 0]
    points = np.flatnonzero(kept)
    masses[points] = _masses(excess, points, interval)
    return masses


def _masses(excess: np.ndarray, points: np.ndarray, interval: float) -> np.ndarray:
    """gamma times the change of the polygon's slope at the points that are kept, [kept]: masses where positive.

    Gamma is 1 in the middle of the grid.
    """
    gaps, falls, middle = interval * np.diff(points), -np.diff(excess[points]), len(excess) // 2
    # up to gamma = 1 heights are over the line 1 - gamma: the chord that leaves it falls by the rest of the line too
    last = int(np.searchsorted(points, middle, side="right")) - 1
    falls[last] -= expm1(interval * (points[last] - middle))
    bends = np.zeros(len(points))
    bends[0] = -excess[points[0]]
    # a fall of x over a chord from gamma_i to gamma_j puts -gamma_i x / (gamma_j - gamma_i) on i and gamma_j x / (..)
    # on j
    bends[1:] += falls / -expm1(-gaps)
    bends[:-1] -= falls / expm1(gaps)
    bends[last] += exp(interval * (points[last] - middle))
    return bends


def _ends(excess: np.ndarray, middle: int, interval: float) -> np.ndarray:
    """The points left by the first and the last chord of the convex hull: the lowest chords from where it leaves 0."""
    positive = np.flatnonzero(excess)
    first, last = int(positive[0]) - 1, int(positive[-1]) + 1
    at = np.arange(first + 1, last)
    eps = interval * (at - middle)
    line = np.maximum(expm1(eps), 0.0) if first < middle else 0.0  # 1 - gamma is left at gamma_first, from 1 on it is 0
    foot = int(at[np.argmin((excess[at] + line) / (exp(eps) * -expm1(interval * (first - at))))])
    height = excess[at] + np.maximum(-expm1(eps), 0.0)
    head = int(at[np.argmin(height / -expm1(-interval * (last - at)))])  # divided by gamma_last - gamma
    # equal but for rounding where one point remains
    inner = np.arange(foot, max(foot, head) + 1)
    return np.concatenate([np.arange(first + 1), inner, np.arange(last, len(excess))])


def _trimmed(start: int, masses: np.ndarray, unbounded: float) -> Discrete:
    """Without the zeros at both ends."""
    used = np.flatnonzero(masses)
    if len(used) == 0:
        return Discrete(0, np.zeros(1), unbounded)
    return Discrete(start + int(used[0]), masses[used[0] : used[-1] + 1], unbounded)
