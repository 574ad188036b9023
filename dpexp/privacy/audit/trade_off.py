"""The trade-off test: rates of false alarms and misses at a few thresholds, bounded together, held against a claim.

A statistic is large where the canary is likely. At each of J thresholds, fixed before these runs, both rates get an
upper confidence bound of Clopper and Pearson at level level / (2 J), so that all 2 J bounds hold together with
probability 1 - level. A point (a, b) of the true rates with a <= A and b <= B contradicts the claim if B < beta(A),
since beta decreases. Nothing else is assumed: the statistic decides the power of the test and never its validity.

The same bounds say how much is given away at least, at every threshold and so at the best of them:

    mu    >= Phi^-1(1 - A) - Phi^-1(B)                                        (in terms of Gaussian DP)
    eps   >= log max((1 - B - delta) / A, (1 - A - delta) / B)                (at a given delta)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpexp.privacy.audit.claim import Claim, separation

QUANTILES = (0.03, 0.12, 0.3, 0.5, 0.7, 0.88, 0.94, 0.99)
"""of the statistics of the pilot runs of both worlds together, at which thresholds are set"""


@dataclass(frozen=True)
class Point:
    """One threshold: what was counted, and the upper confidence bounds of both rates."""

    threshold: float
    false_alarms: int
    misses: int
    most_false_alarms: float
    """A, the upper bound of the rate of false alarms"""
    most_misses: float
    """B, the upper bound of the rate of misses"""

    @property
    def separation(self) -> float:
        """The lower bound of mu at this threshold."""
        return max(0.0, separation(self.most_false_alarms, self.most_misses))

    def eps(self, delta: float) -> float:
        """The lower bound of epsilon at delta at this threshold."""
        a, b = self.most_false_alarms, self.most_misses
        ratio = max((1 - b - delta) / a, (1 - a - delta) / b)
        return math.log(ratio) if ratio > 1 else 0.0


@dataclass(frozen=True)
class TradeOff:
    """The outcome of a test."""

    points: tuple[Point, ...]
    runs: tuple[int, int]
    """without the canary, with it"""
    level: float

    def nearest(self, claim: Claim) -> Point:
        """The point that comes closest to the claim, or exceeds it most: by its lower bound of mu."""
        return max(self.points, key=lambda point: point.separation - claim.separation(point.most_false_alarms))

    def eps(self, delta: float) -> float:
        """The lower bound of epsilon at delta."""
        return max(point.eps(delta) for point in self.points)


def thresholds_of(pilot: np.ndarray) -> tuple[float, ...]:
    """Thresholds from runs of their own: quantiles of the statistics of both worlds together, each once."""
    return tuple(dict.fromkeys(float(np.quantile(pilot, q)) for q in QUANTILES))


def trade_off_test(without: np.ndarray, with_canary: np.ndarray, thresholds: Sequence[float], level: float) -> TradeOff:
    """The test at thresholds that do not depend on these runs; the guess is "canary" above a threshold.

    `without` and `with_canary` are the statistics of independent runs in the two worlds.
    """
    each = level / (2 * len(thresholds))
    points = []
    for threshold in thresholds:
        false_alarms, misses = int(np.sum(without > threshold)), int(np.sum(with_canary <= threshold))
        rates = most(false_alarms, len(without), each), most(misses, len(with_canary), each)
        points.append(Point(float(threshold), false_alarms, misses, *rates))
    return TradeOff(tuple(points), (len(without), len(with_canary)), level)


def most(hits: int, trials: int, level: float) -> float:
    """The largest rate that `hits` in so many trials do not reject at a level (Clopper and Pearson); one-sided."""
    from scipy.special import betaincinv

    if hits >= trials:
        return 1.0
    return float(betaincinv(hits + 1, trials - hits, 1 - level))
