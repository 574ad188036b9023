"""Exact output laws of Langevin SGD on a quadratic, which judge Theorem 3.1 of `dp-sgld` and every other bound.

l(theta, x) = lambda/2 theta^2 - x theta with |x| <= B in one dimension; one record is +B in the one data set and -B
(replaced) or 0 (removed) in the other, all other records are 0. With c = 1 - eta lambda and inclusion bits b_k, theta_K
is Gaussian given the bits, with mean +-(eta B / m) sum_k c^{K-1-k} b_k and variance
c^{2K} start + 2 eta sigma^2 (1 - c^{2K}) / (1 - c^2), so each law is a Gaussian mixture over the bits. Lengths are in
units of one step's noise sqrt(2 eta) sigma: the bit of the last step moves the mean by +-shift / 2, where
shift = 2 eta B / (m sqrt(2 eta) sigma) is the distance by which replacing the record moves one step. Inclusion bits are
independent with probability q = m / n: batches drawn anew in every step. No projection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpexp.accounting.mixtures import GaussianMixture, renyi_of
from dpexp.accounting.search import root

ENUMERATED = 12
"""up to this many steps the bits are enumerated; with more, the law of their weighted sum is put on a grid"""
LANGEVIN_ORDERS = (1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""orders at which the sheet of measurements looked for a failure"""
MOST_POINTS = 40_000
"""above this the grid is cut where the mass is below e^-700, and made coarser if that is not enough"""


@dataclass(frozen=True)
class QuadraticLangevin:
    """The pair of laws, in noise units. `start_variance` None is the prescribed one, 2 sigma^2 / lambda."""

    eta_lambda: float  # in (0, 1)
    steps: int
    q: float  # probability that the record is in a batch
    shift: float  # replace-one shift of one step: (2 eta B / m) / (sqrt(2 eta) sigma)
    start_variance: float | None = (
        None  # variance of theta_0 over that of one step's noise; prescribed: 1 / (eta lambda)
    )
    resolution: int = 400  # grid points in the smaller of one bit's shift and one standard deviation

    def __post_init__(self) -> None:
        if not (0 < self.eta_lambda < 1 and self.steps >= 1 and 0 < self.q <= 1 and self.shift >= 0):
            raise ValueError("needs 0 < eta lambda < 1, steps >= 1, 0 < q <= 1 and shift >= 0")

    @property
    def variance(self) -> float:
        """Variance of theta_K given the bits."""
        c2 = (1 - self.eta_lambda) ** 2
        start = 1 / self.eta_lambda if self.start_variance is None else self.start_variance
        factor = c2**self.steps
        return factor * start + (1 - factor) / (1 - c2)

    @cached_property
    def law(self) -> GaussianMixture:
        """The law with the record at +B; the law with -B is its mirror image."""
        moves = self.shift / 2 * (1 - self.eta_lambda) ** np.arange(self.steps)
        if self.q == 1 or self.shift == 0:
            return GaussianMixture(np.array([math.fsum(moves)]), np.zeros(1), self.variance)
        if self.steps <= ENUMERATED:
            return GaussianMixture(*_enumerate(moves, self.q), self.variance)
        total = float(moves.sum())
        finest = min(self.shift / 2, math.sqrt(self.variance), total / 25) / self.resolution
        # a fine grid of far atoms would not fit: what is beyond has a mass below e^-700
        if total > finest * MOST_POINTS:
            total = min(total, _far(moves, self.q))
        # the last bit, the largest, moves by a whole number of points
        spacing = self.shift / 2 / math.ceil(self.shift / 2 / max(finest, total / MOST_POINTS))
        points = math.ceil(total / spacing) + self.steps + 1
        return GaussianMixture(*_on_grid(moves, self.q, spacing, points), self.variance)

    def renyi(self, order: float) -> float:
        """D_order(law with +B || law with -B); the pair is symmetric."""
        return renyi_of(self.law, self.law.mirrored, order)

    def delta(self, eps: float, removed: bool = False) -> float:
        """Smallest delta of (eps, delta) for the pair +B, -B (or, removed, +B against 0, which of both is larger)."""
        if not removed:
            # the likelihood ratio is monotone, so the best event is a half line
            return _hockey_stick(self.law, self.law.mirrored, eps)
        other = GaussianMixture(np.zeros(1), np.zeros(1), self.variance)
        # removed and added differ, and the larger one is the guarantee
        return max(_hockey_stick(self.law, other, eps), _hockey_stick(other.mirrored, self.law.mirrored, eps))

    def eps(self, delta: float, removed: bool = False) -> float:
        """Smallest eps >= 0 at which the pair is (eps, delta)-close, to 1e-10 relative."""
        if self.delta(0.0, removed) <= delta:
            return 0.0
        high = 1.0
        while self.delta(high, removed) > delta:
            high *= 2
        return root(lambda e: self.delta(e, removed) - delta, 0.0, high, xtol=1e-10, rtol=1e-10)

    def claimed_slope(self) -> float:
        """eps(order) / order of Theorem 3.1 with L = B: 2 (q shift)^2 / (eta lambda) (1 - exp(-eta lambda K / 2))."""
        return 2 * (self.q * self.shift) ** 2 / self.eta_lambda * -math.expm1(-self.eta_lambda * self.steps / 2)

    def ratio(self, order: float) -> float:
        """Exact divergence over the one that Theorem 3.1 claims; above 1 the theorem is false."""
        return self.renyi(order) / (order * self.claimed_slope())


def _hockey_stick(p: GaussianMixture, q: GaussianMixture, eps: float) -> float:
    """sup over events of p - e^eps q, where log p / q increases: the half line from where it comes to eps."""

    def excess(x: float) -> float:
        at = np.array([x])
        return float(p.log_density(at)[0] - q.log_density(at)[0]) - eps

    width = math.sqrt(p.variance)
    low, high = -width, width
    while excess(high) < 0:
        high *= 2
        if high > 1e12 * width:
            return 0.0
    while excess(low) > 0 and low > -1e12 * width:
        low *= 2
    t = low if excess(low) > 0 else root(excess, low, high, xtol=1e-13 * width, rtol=1e-14)
    # P - e^eps Q = -P (e^(eps + log Q - log P) - 1): nothing is subtracted from a nearly equal number
    log_p = p.log_above(t)
    return max(0.0, -math.exp(log_p) * math.expm1(q.log_above(t) + eps - log_p))


def _enumerate(moves: np.ndarray, q: float) -> tuple[np.ndarray, np.ndarray]:
    """Sums over all subsets of `moves` and the logarithms of their probabilities, [2^K] each."""
    sums, logs = np.zeros(1), np.zeros(1)
    for move in moves:
        sums = np.concatenate([sums, sums + move])
        logs = np.concatenate([logs + math.log1p(-q), logs + math.log(q)])
    return sums, logs


def _far(moves: np.ndarray, q: float) -> float:
    """A length that sum b_k moves_k exceeds with probability below e^-700, by Chernoff's bound."""
    # Chernoff's bound holds at every rate, and the best of some is near the best of all
    rates = np.geomspace(0.1, 100, 31) / moves[0]
    return float(min((float(np.log1p(q * np.expm1(t * moves)).sum()) + 700) / t for t in rates))


def _on_grid(moves: np.ndarray, q: float, spacing: float, points: int) -> tuple[np.ndarray, np.ndarray]:
    """The law of sum b_k moves_k on the first `points` multiples of `spacing`, as points and log probabilities.

    The error is of second order in the spacing.
    """
    # log probabilities hold the far atoms that a Renyi divergence of high order sees
    logs = np.full(points, -np.inf)
    logs[0], top = 0.0, 0
    for move in moves / spacing:
        points_moved = math.floor(move + 1e-9)
        part = max(0.0, move - points_moved)
        end = min(points - 1, top + points_moved + (part > 0))
        grown = logs[: end + 1] + math.log1p(-q)
        # a move between two points is split over both in proportion, which keeps the mean
        for offset, share in ((points_moved, 1 - part), (points_moved + 1, part)):
            if share > 0:
                width = min(top + 1, points - offset)
                over = np.logaddexp.reduce(logs[width : top + 1], initial=-np.inf)
                place = grown[offset : offset + width]
                np.logaddexp(place, logs[:width] + math.log(q * share), out=place)
                # mass above the last point is put on it
                grown[-1] = np.logaddexp(grown[-1], over + math.log(q * share))
        logs[: end + 1], top = grown, end
    finite = np.isfinite(logs)
    return np.arange(points)[finite] * spacing, logs[finite]
