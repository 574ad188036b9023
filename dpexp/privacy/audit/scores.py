"""Two tests of a claim from runs in two worlds, at a fixed number of runs and at any time; and audits from own scores.

The docs page `attacks` derives both. The trade-off test bounds the rates of false alarms and misses at a few thresholds
of a statistic that is large where the canary is likely. The e-process bets against a claim, run by run.

(a) A fair coin Z decides the world, and an event A of the release is guessed to mean the canary. Under (eps, delta)-DP
1 + lambda (2 Z 1_A - 2 e^eps (1 - Z) 1_A - delta) has a conditional mean of at most 1 for every stake lambda, and is
not negative for lambda <= 1 / (2 e^eps + delta).
(b) Products of such factors are a nonnegative supermartingale that begins with 1, and so is an average of several.
(c) The other order of the neighbours is the same with the worlds exchanged and the complement of the event.
(d) The event follows from pilot runs, which are not counted, and the stake from the runs before: (a) leaves both free.
(e) The e-process needs a fair coin before each run: of own scores coins decide from which world the next one is taken,
until one of them is used up.
(f) The score of several releases is the likelihood ratio of the two normal laws that pilot runs have shown. With means
m_w and covariances S_w in the worlds w = 0 (without the canary) and 1, up to a constant

    l(x) = [(x - m_0)' S_0^-1 (x - m_0) - (x - m_1)' S_1^-1 (x - m_1)] / 2.

It decides the power of a test and never its validity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import eps_of
from dpexp.core.errors import UsageError

PILOT, FEWEST = 0.2, 50
"""share of the runs that choose thresholds and bets; runs in either world"""
RIDGE = 1e-9
"""added to the variances of releases of variance 1: rounding to float32 is far below its root"""
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
class ThresholdCounts:
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


def trade_off_test(
    without: np.ndarray, with_canary: np.ndarray, thresholds: Sequence[float], level: float
) -> list[ThresholdCounts]:
    """The test at thresholds that do not depend on these runs; the guess is "canary" above a threshold.

    `without` and `with_canary` are the statistics of independent runs in the two worlds.
    """
    # so that the upper bounds of both rates at all thresholds hold together with probability 1 - level
    each = level / (2 * len(thresholds))
    points = []
    for threshold in thresholds:
        false_alarms, misses = int(np.sum(without > threshold)), int(np.sum(with_canary <= threshold))
        rates = largest_rate(false_alarms, len(without), each), largest_rate(misses, len(with_canary), each)
        points.append(ThresholdCounts(float(threshold), false_alarms, misses, *rates))
    return points


def largest_rate(hits: int, trials: int, level: float) -> float:
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
    bets, events = [], []
    for threshold in np.unique(np.quantile(pilot, np.linspace(0.02, 0.98, 25))):
        for mirrored in (False, True):  # (c)
            event = (pilot > threshold) ^ mirrored
            p1, p0 = (float(np.mean(event[worlds == world])) for world in (not mirrored, mirrored))
            events.append((p1, p0, float(threshold), mirrored))
    for delta in DELTAS:
        # stakes are below e^-eps: a bet on so large an epsilon would need a billion runs to win
        if (eps := claim.eps(delta)) > 20:
            continue
        e, options = math.exp(eps), []
        for p1, p0, threshold, mirrored in events:
            options.append(((p1 - e * p0 - delta) / math.sqrt(p1 + e**2 * p0 + 1e-4), threshold, mirrored))
        best, threshold, mirrored = max(options)
        bets.append((best, (eps, delta, threshold, mirrored)))
    return [bet for _, bet in sorted(bets, key=lambda one: -one[0])[:MOST_BETS]]


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


@dataclass(frozen=True)
class Audit:
    """Lower bounds on the privacy loss, which hold together with the stated confidence."""

    points: Sequence[ThresholdCounts]
    """of the trade-off test"""
    process: EProcess | None
    """of the claim; None without a claim"""
    claim: Curve | None

    @property
    def mu(self) -> float:
        """The lower bound of mu of Gaussian DP: the largest of all thresholds."""
        return max(point.separation for point in self.points)

    def eps(self, delta: float) -> float:
        """The lower bound of epsilon at delta."""
        return max(point.eps(delta) for point in self.points)

    @property
    def nearest(self) -> tuple[ThresholdCounts, float]:
        """The threshold at which the claim is most nearly or most clearly exceeded, and the mu that it allows."""
        assert self.claim is not None
        both = [(point, allowed(self.claim, point.most_false_alarms)) for point in self.points]
        return max(both, key=lambda pair: pair[0].separation - pair[1])

    @property
    def contradicts(self) -> bool:
        """Whether the runs contradict the claim: of a true one with probability at most 1 - confidence."""
        if self.claim is None or self.process is None:
            return False
        point, claimed = self.nearest
        return point.separation > claimed or self.process.alarm_at is not None


def audit_runs(releases: np.ndarray, canary: np.ndarray, pilot: int, claim: Curve | None, level: float) -> Audit:
    """Both tests, jointly at `level`, of a score [R], or of several releases [R, k] of each run, and its world [R].

    The first `pilot` runs choose the statistic, thresholds and bets.
    """
    first, rest = slice(pilot), slice(pilot, None)
    scores = releases if releases.ndim == 1 else of_normal_releases(releases[first], canary[first], releases)
    without, with_canary = (scores[rest][canary[rest] == world] for world in (False, True))
    # with a claim either test has half of what may go wrong
    level = level if claim is None else level / 2
    thresholds = np.unique(np.quantile(scores[first], QUANTILES)).tolist()
    points = trade_off_test(without, with_canary, thresholds, level)
    if claim is None:
        return Audit(points, None, None)
    # what is staked may depend on the pilot alone
    bets = bets_of(claim, scores[first], canary[first])
    return Audit(points, e_process(scores[rest], canary[rest], bets, level), claim)


def audit_scores(
    without: Sequence[float],
    with_canary: Sequence[float],
    *,
    mu: float | None = None,
    eps: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.999,
    seed: int = 0,
) -> Audit:
    """Lower bounds from scores of independent runs, and whether a claim of mu-GDP or (eps, delta)-DP is contradicted.

    Raises UsageError for fewer than 50 runs in a world, scores that are no numbers, and two claims at once.
    """
    worlds = [np.asarray(scores, dtype=float).ravel() for scores in (without, with_canary)]
    if min(map(len, worlds)) < FEWEST or not all(np.isfinite(scores).all() for scores in worlds):
        raise UsageError(f"scores are finite numbers, of at least {FEWEST} runs in either world")
    if mu is not None and eps is not None:
        raise UsageError("one claim at a time: mu=1, or eps=1 with delta=1e-5")
    if not 0.5 <= confidence < 1:
        raise UsageError(f"confidence is a number from 0.5 to below 1, not {confidence:g}")
    claim = None if eps is None else Curve(lambda at: eps if at >= delta else math.inf)
    claim = claim if mu is None else Curve(partial(eps_of, mu), mu=mu)
    # (e)
    coins = np.random.default_rng(seed).random(sum(map(len, worlds))) < 0.5
    used = np.array([np.cumsum(~coins), np.cumsum(coins)])
    coins = coins[: int(np.sum((used[0] <= len(worlds[0])) & (used[1] <= len(worlds[1]))))]
    scores = np.empty(len(coins))
    for world in (False, True):
        scores[coins == world] = worlds[int(world)][: int(np.sum(coins == world))]
    # (d)
    return audit_runs(scores, coins, math.ceil(PILOT * len(coins)), claim, 1 - confidence)


def of_normal_releases(pilot: np.ndarray, worlds: np.ndarray, releases: np.ndarray) -> np.ndarray:
    """(f) of the releases [R, k], by a pilot [P, k] and its worlds, bool [P]; [R]."""
    # in units of the pilot's deviations, so that one ridge serves all
    spread = pilot.std(axis=0)
    spread[spread == 0] = 1.0
    own, new = (np.asarray((x - pilot.mean(axis=0)) / spread, float) for x in (pilot, releases))
    scores = np.zeros(len(releases))
    for world, sign in ((False, 0.5), (True, -0.5)):
        sample = own[worlds == world]
        covariance = np.cov(sample, rowvar=False).reshape(2 * (own.shape[1],)) + RIDGE * np.eye(own.shape[1])
        centred = new - sample.mean(axis=0)
        # noise that cancels between releases leaves a direction of next to no variance, and there this is large: by
        # the means where what is free of noise moves with the canary, by the covariances where it moves in one world
        # alone
        scores += sign * np.sum(centred * np.linalg.solve(covariance, centred.T).T, axis=1)
    return scores
