"""How much convex steps of random length contract: the law of the total noise that hides a distance.

(a) Two chains start at most `width` noise units apart, share their batches, and step t has Lipschitz constant c_t,
drawn independently. To bring them together, shifts a_t >= 0 are paid: z_0 = width, z_t = c_t z_{t-1} - a_t, z_R = 0, so
that sum_t a_t prod_{s > t} c_s = width prod_s c_s. By Cauchy-Schwarz the least sum of squares is width^2 / X_R with X_R
= sum_t prod_{s <= t} c_s^-2, and shifts inside Gaussian noise compose to one Gaussian (shifted interpolation; Bok, Su
and Altschuler, 2024).

(b) Hockey-stick divergences are jointly convex, so that over random c

    eta_e(K^R) <= E theta_e(width / sqrt(X_R)),    X_R = a_R (1 + X_{R-1}),    X_0 = 0,    a_t = c_t^-2,

the last in law, as the c_t are exchangeable. Blocks of steps multiply.

The law of X is written on a grid without ever stating less. (c) As a function of X, f = theta_e(width / sqrt X)
decreases, is concave up to X* and convex from there on; a tangent in the concave part makes it a convex function
F >= f. (d) A mean-preserving split of X between two points of the grid can only raise the mean of a convex function,
and every map X -> a (1 + X) is affine in X and in a, so that F stays convex and decreasing under it. Hence X, and a
itself, may be split at every step.

(e) Many steps are gathered: over s of them X becomes sum_j prod_{i <= j} a_i + (prod a_i) X. In units of s this is
again bounded by one affine map a step, and smaller X is on the safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpexp.accounting.binomials import poisson_sizes
from dpexp.accounting.functions import exp, log
from dpexp.accounting.gaussian import delta_of, deltas_of
from dpexp.privacy.analyses.hybrid import Contracted, blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LEVELS = 48
"""values of a that are kept: the split between two of them adds about 1% to the variance of a"""
_FINE, _WHOLE, _RATIO = 8, 400, 1.01
"""X is on eighths up to 8, on whole numbers up to 400 and on a geometric grid above"""
_HIGHEST = 1e8
"""X over width^2 above which the grid ends: theta_0 is 4e-5 there"""
_MOST = 1600
"""gathered steps of the longest block"""
_TANGENTS = (1.0, 0.7, 0.5, 0.35, 0.2)
"""places of the tangent in parts of X*, the best is used: the smaller ones for steps that hardly contract"""
_GROWTH, _LOSS = 0.05, 0.1
"""mean growth and loss of log X within gathered steps, up to which the two inequalities above lose a few percent"""


@dataclass(frozen=True)
class Factors:
    """A law of factors: values [A], increasing, and probabilities [A] (which need not add up to 1)."""

    values: np.ndarray
    masses: np.ndarray

    def times(self, other: Factors) -> Factors:
        """The law of the product of two independent factors, on few values."""
        return few(np.outer(self.values, other.values).ravel(), np.outer(self.masses, other.masses).ravel())

    def power(self, count: int) -> Factors:
        """The law of the product of `count` >= 1 independent factors, on few values."""
        total, square = Factors(np.ones(1), np.ones(1)), self
        while True:
            if count & 1:
                total = total.times(square)
            count >>= 1
            if not count:
                return total
            square = square.times(square)


def few(values: np.ndarray, masses: np.ndarray) -> Factors:
    """The law on about `_LEVELS` of its values, masses split between neighbours with the mean kept: (d) for a."""
    points, place = np.unique(values, return_inverse=True)
    weights = np.bincount(place, weights=masses, minlength=len(points))
    if len(points) <= _LEVELS:
        return Factors(points, weights)
    # half of the levels are even in the values, half in the probability, so that neither tail nor bulk is coarse
    share = np.cumsum(weights) / weights.sum()
    even = np.linspace(0, len(points) - 1, _LEVELS // 2).round().astype(int)
    likely = np.searchsorted(share, np.linspace(0.01, 0.99, _LEVELS // 2)).clip(max=len(points) - 1)
    # 1 is kept, so that (e) can tell steps that do not expand from others
    places = set(even) | set(likely) | set(np.flatnonzero(points == 1))
    levels = points[sorted(places)]
    return Factors(levels, _split(points, weights, levels))


def _split(points: np.ndarray, weights: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Masses on the increasing `grid` [B] with the mean of every point kept."""
    place, right = _shares(points, grid)
    out = np.bincount(place, weights=weights * (1 - right), minlength=len(grid))
    # what lies beyond the grid moves down to its end: F decreases, so that its mean can only rise
    return out + np.bincount(np.minimum(place + 1, len(grid) - 1), weights=weights * right, minlength=len(grid))


def _shares(points: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the grid point below, and the share of the one above."""
    place = np.clip(np.searchsorted(grid, points, side="right") - 1, 0, len(grid) - 2)
    # all of a point beyond the end is at the end
    return place, np.clip((points - grid[place]) / (grid[place + 1] - grid[place]), 0.0, 1.0)


@dataclass(frozen=True)
class RandomContraction:
    """Steps on Poisson batches from `records` records, on a set `width` noise units wide."""

    width: float
    records: int
    q: float
    least: float
    """eta m / b: what one record of a batch contributes to 1 - c"""
    largest: float
    """eta M / b"""

    def log_contraction(self, eps: float) -> Contracted:
        """R -> log of a bound on eta_eps(K^R)."""
        lengths, laws = self._laws
        x = self._gathered * self._grid
        with np.errstate(divide="ignore"):
            thetas = deltas_of(self.width / np.sqrt(x), eps)
        # (c): F for several tangents; (b): the least of their means is a bound too
        majorants = (np.maximum(thetas, _tangent(eps, self.width, x, share)) for share in _TANGENTS)
        means = np.min([(laws * majorant).sum(axis=1) for majorant in majorants], axis=0)
        # the factor covers the rounding of some thousand positive sums
        logs = log(np.clip(means * (1 + 1e-9), 1e-300, 1.0))
        return blocks(lengths * self._gathered, logs)

    @cached_property
    def _factors(self) -> Factors:
        """The law of a = c^-2 of one step."""
        sizes = poisson_sizes(self.records, self.q)
        # k records make a step of length eta k / b, with the Lipschitz constant max(|1 - m_k|, |1 - M_k|) for
        # m_k = eta m k / b, M_k = eta M k / b: an empty batch does not contract, and a large one can expand
        c = np.maximum(np.abs(1 - self.least * sizes.counts), np.abs(1 - self.largest * sizes.counts))
        with np.errstate(divide="ignore", over="ignore"):
            # a (1 + X) >= a: beyond the grid's end in any case, where (d) moves it; an expanding step (c > 1) needs no
            # special case, since its a is below 1
            values = np.minimum(1 / (c * c), self._top)
        # sizes that were left out count as infinite expansions, a = 0, which contract nothing
        return few(np.append(values, 0.0), np.append(sizes.masses, sizes.dropped))

    @property
    def _top(self) -> float:
        return min(max(_HIGHEST * self.width * self.width, 1e4), 1e60)

    @cached_property
    def _gathered(self) -> int:
        """Steps that are gathered: as many as keep the loss small and the block lengths that matter below `_MOST`."""
        # (e) loses what the product grows by within s steps, or what it shrinks by: s times the mean log of either side
        a, p = self._factors.values, self._factors.masses
        growth = float((p * log(np.maximum(a, 1.0))).sum())
        loss = -float((p * log(np.clip(a, 1e-6, 1.0))).sum())
        limits = (self.width**2 / _WHOLE, _GROWTH / max(growth, 1e-30), _LOSS / max(loss, 1e-30), 1e15)
        return max(1, int(min(limits)))

    @cached_property
    def _grid(self) -> np.ndarray:
        """X in units of the gathered steps."""
        top = self._top / self._gathered
        count = max(2, math.ceil(math.log(top / _WHOLE) / math.log(_RATIO))) if top > _WHOLE else 2
        geometric = _WHOLE * exp(math.log(_RATIO) * np.arange(1, count + 1))
        return np.concatenate([np.arange(0, _FINE, 1 / _FINE), np.arange(_FINE, _WHOLE + 1.0), geometric])

    @cached_property
    def _laws(self) -> tuple[np.ndarray, np.ndarray]:
        """Block lengths in gathered steps [B] and the laws of X after them [B, N]."""
        step = self._transition()
        lengths = np.unique(np.geomspace(1, _MOST, 72).round().astype(np.int64))
        # X_0 = 0, and (b) step by step
        law, done, laws = np.zeros(len(self._grid)), 0, []
        law[0] = 1.0
        for length in lengths:
            for _ in range(int(length) - done):
                law = step @ law
            done = int(length)
            laws.append(law)
            # all of X is at the end of the grid: longer blocks gain nothing
            if law[-1] > 1 - 1e-15:
                break
        return lengths[: len(laws)], np.array(laws)

    def _transition(self) -> csr_array:
        """One (gathered) step of the masses of X [N], whose images are split as in (d)."""
        from scipy.sparse import coo_array

        x, law, s = self._grid, self._factors, self._gathered
        if s == 1:
            maps = [(p, a * (1 + x)) for a, p in zip(law.values, law.masses, strict=True)]  # (b)
        else:  # (e), with x = X / s: 1 + (prod a) x without expansion, A (1 + x) otherwise
            shrinks = law.values >= 1
            never = float(law.masses[shrinks].sum()) ** s  # no expansion in s steps
            # every product of factors is at least 1 there, which leaves at least s + (prod a) X
            grown = Factors(law.values[shrinks], law.masses[shrinks]).power(s) if never > 0 else few(x[:0], x[:0])
            # otherwise every product is at least A = prod min(1, a_i), which leaves at least A (s + X)
            lost = few(np.minimum(law.values, 1.0), law.masses).power(s)
            rest = lost.masses.copy()
            # A = 1 without expansion is the other case, and was counted there
            rest[lost.values == 1] -= never
            maps = [(p, 1 + a * x) for a, p in zip(grown.values, grown.masses, strict=True)]
            maps += [(p, a * (1 + x)) for a, p in zip(lost.values, np.maximum(rest, 0), strict=True)]
        rows, columns, entries = [], [], []
        # (d): each image is split between its two neighbours on the grid
        for p, image in maps:
            if p == 0:
                continue
            place, right = _shares(image, x)
            rows += [place, place + 1]
            columns += [np.arange(len(x))] * 2
            entries += [p * (1 - right), p * right]
        places = np.concatenate(rows), np.concatenate(columns)
        step: csr_array = coo_array((np.concatenate(entries), places), shape=(len(x), len(x))).tocsr()
        return step


def _tangent(eps: float, width: float, x: np.ndarray, share: float) -> np.ndarray:
    """At X [A] >= 0, the line with which theta_eps(width / sqrt X) has a larger value that is convex and decreases.

    theta is concave below X* = width^2 / (4 (3/2 + sqrt(9/4 + eps^2 / 4))) and convex above.
    """
    # with r = width / sqrt X the derivative of theta is -(width / 2) X^{-3/2} phi(r / 2 - eps / r), whose size grows
    # while width^2 / 8 - 3 X / 2 - eps^2 X^2 / (2 width^2) > 0, that is up to X*, and falls from there on
    # the tangent at X0 = `share` X* <= X* lies above theta up to X*, and crosses it at most once beyond, from above:
    # the larger of the two is convex
    at = share * width * width / (4 * (1.5 + math.sqrt(2.25 + eps * eps / 4)))
    r = width / math.sqrt(at)
    density = math.exp(-((r / 2 - eps / r) ** 2) / 2) / math.sqrt(2 * math.pi)
    return delta_of(r, eps) + density * r / (2 * at) * (at - x)


random_contraction = lru_cache(maxsize=64)(RandomContraction)
"""shared by all callers, so that its laws are computed once"""
