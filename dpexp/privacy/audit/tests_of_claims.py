"""Two tests of a claim by runs in two worlds: at a number of runs that is fixed before, and at any time.

The docs page `attacks` derives both. The trade-off test bounds the rates of false alarms and misses at a few thresholds
of a statistic that is large where the canary is likely. The e-process bets against a claim, run by run.

(a) A fair coin Z decides the world, and an event A of the release is guessed to mean the canary. Under (eps, delta)-DP
1 + lambda (2 Z 1_A - 2 e^eps (1 - Z) 1_A - delta) has a conditional mean of at most 1 for every stake lambda, and is
not negative for lambda <= 1 / (2 e^eps + delta).
(b) Products of such factors are a nonnegative supermartingale that begins with 1, and so is an average of several.
(c) The other order of the neighbours is the same with the worlds exchanged and the complement of the event.
(d) The event follows from pilot runs, and the stake from the runs before: (a) leaves both free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpexp.accounting.curve import Curve

DELTAS = (*(10.0**-k for k in range(8, 2, -1)), 3e-3, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.65)
"""at which a bet asks a claim: most runs decide at deltas above a thousandth"""
MOST_BETS = 10
QUANTILES = (0.03, 0.12, 0.3, 0.5, 0.7, 0.88, 0.94, 0.99)
"""of the statistics of the pilot runs of both worlds together, at which thresholds are set"""


def separation(false_alarms: float, misses: float) -> float:
    """Phi^-1(1 - a) - Phi^-1(b): the mu for which a point (a, b) is on the curve of mu-GDP; inf where either is 0."""
    from scipy.special import ndtri

    a, b = np.clip([false_alarms, misses], 0.0, 1.0)
    return float(ndtri(1 - a) - ndtri(b)) if a + b < 1 else 0.0


def allowed(claim: Curve, false_alarms: float) -> float:
    """The mu of Gaussian DP that allows the same misses at this rate of false alarms: for Gaussian claims, mu."""
    return separation(false_alarms, claim.beta(false_alarms)) if claim.mu is None else claim.mu


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


def thresholds_of(pilot: np.ndarray) -> tuple[float, ...]:
    """Thresholds from runs of their own: quantiles of the statistics of both worlds together, each once."""
    return tuple(dict.fromkeys(float(np.quantile(pilot, q)) for q in QUANTILES))


def trade_off_test(
    without: np.ndarray, with_canary: np.ndarray, thresholds: Sequence[float], level: float
) -> list[Point]:
    """The test at thresholds that do not depend on these runs; the guess is "canary" above a threshold.

    `without` and `with_canary` are the statistics of independent runs in the two worlds.
    """
    # so that the upper bounds of both rates at all thresholds hold together with probability 1 - level
    each = level / (2 * len(thresholds))
    points = []
    for threshold in thresholds:
        false_alarms, misses = int(np.sum(without > threshold)), int(np.sum(with_canary <= threshold))
        rates = most(false_alarms, len(without), each), most(misses, len(with_canary), each)
        points.append(Point(float(threshold), false_alarms, misses, *rates))
    return points


def most(hits: int, trials: int, level: float) -> float:
    """The largest rate that `hits` in so many trials do not reject at a level (Clopper and Pearson); one-sided."""
    from scipy.special import betaincinv

    if hits >= trials:
        return 1.0
    return float(betaincinv(hits + 1, trials - hits, 1 - level))


@dataclass(frozen=True)
class EProcess:
    """What became of the bets."""

    values: np.ndarray
    """of the average after each run [R]"""
    level: float

    @property
    def largest(self) -> float:
        """The largest value so far."""
        return float(self.values.max(initial=1.0))

    @property
    def alarm_at(self) -> int | None:
        """The first run after which it had reached 1 / level; None if it never did."""
        reached = np.flatnonzero(self.values >= 1 / self.level)
        return int(reached[0]) + 1 if len(reached) else None


def bets_of(claim: Curve, pilot: np.ndarray, worlds: np.ndarray) -> list[tuple[float, float, float, bool]]:
    """(eps, delta, threshold, mirrored) of at most `MOST_BETS` bets: a pair of the claim, and its best event.

    Promising by pilot runs: the largest excess P1(A) - e^eps P0(A) - delta over the noise of its estimate.
    """
    bets = []
    for delta in DELTAS:
        # stakes are below e^-eps: a bet on so large an epsilon would need a billion runs to win
        if (eps := claim.eps(delta)) > 20:
            continue
        options = []
        for threshold in np.unique(np.quantile(pilot, np.linspace(0.02, 0.98, 25))):
            for mirrored in (False, True):  # (c)
                event = (pilot > threshold) ^ mirrored
                p1, p0 = (float(np.mean(event[worlds == world])) for world in (not mirrored, mirrored))
                spread = math.sqrt(p1 + math.exp(eps) ** 2 * p0 + 1e-4)
                options.append(((p1 - math.exp(eps) * p0 - delta) / spread, float(threshold), mirrored))
        best, threshold, mirrored = max(options)
        bets.append((best, (eps, delta, threshold, mirrored)))
    bets.sort(key=lambda one: -one[0])
    return [bet for _, bet in bets[:MOST_BETS]]


def e_process(
    statistics: np.ndarray, worlds: np.ndarray, bets: Sequence[tuple[float, float, float, bool]], level: float
) -> EProcess:
    """The process over runs in their order: `statistics` [R], `worlds` [R] true where the canary was there."""
    logs = [_log_wealth(statistics, worlds, *bet) for bet in bets] or [np.zeros(len(statistics))]
    with np.errstate(over="ignore"):
        return EProcess(np.exp(logs).mean(axis=0), level)  # (b)


def _log_wealth(
    statistics: np.ndarray, worlds: np.ndarray, eps: float, delta: float, threshold: float, mirrored: bool
) -> np.ndarray:
    """log of the product of one bet's factors after each run [R]."""
    scale = math.exp(eps)
    # (c), then the bracket of (a)
    event, canary = (statistics > threshold) ^ mirrored, worlds ^ mirrored
    gains = np.where(event, np.where(canary, 2.0, -2.0 * scale), 0.0) - delta
    # sums over the runs before each: a stake must not see its own run
    sums = np.concatenate([[0.0], np.cumsum(gains)[:-1]])
    squares = np.concatenate([[0.0], np.cumsum(gains**2)[:-1]])
    # with gains of mean m and second moment v the best stake is about m / v; one imagined run of each kind, in which
    # the event won and lost, keeps the first stakes small
    kelly = sums / (squares + 4.0 * (1 + scale**2))
    # at most half of what keeps factors positive
    stakes = np.clip(kelly, 0.0, 0.5 / (2 * scale + delta))
    return np.cumsum(np.log1p(stakes * gains))
