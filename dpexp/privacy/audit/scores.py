"""Both tests of a claim from runs in two worlds, and an audit from scores of one's own.

(a) Runs are independent, and a score says nothing but what a release shows. The first runs choose thresholds and bets,
and are not counted. (b) The e-process needs a fair coin before each run: coins of our own decide from which world the
next score is taken, until one of them is used up.
(c) The score of several releases is the likelihood ratio of the two normal laws that pilot runs have shown. With means
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
from dpexp.privacy.audit.tests_of_claims import (
    EProcess,
    Point,
    allowed,
    bets_of,
    e_process,
    thresholds_of,
    trade_off_test,
)

PILOT, FEWEST = 0.2, 50
"""share of the runs that choose thresholds and bets; runs in either world"""
RIDGE = 1e-9
"""added to the variances of releases of variance 1: rounding to float32 is far below its root"""


@dataclass(frozen=True)
class Audit:
    """Lower bounds on the privacy loss, which hold together with the stated confidence."""

    points: Sequence[Point]
    """of the trade-off test"""
    process: EProcess | None
    """of the claim; None where nothing is claimed"""
    claim: Curve | None

    @property
    def mu(self) -> float:
        """The lower bound of mu of Gaussian DP: the largest of all thresholds."""
        return max(point.separation for point in self.points)

    def eps(self, delta: float) -> float:
        """The lower bound of epsilon at delta."""
        return max(point.eps(delta) for point in self.points)

    @property
    def nearest(self) -> tuple[Point, float]:
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
    points = trade_off_test(without, with_canary, thresholds_of(scores[first]), level)
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
    # (b)
    coins = np.random.default_rng(seed).random(sum(map(len, worlds))) < 0.5
    used = np.array([np.cumsum(~coins), np.cumsum(coins)])
    coins = coins[: int(np.sum((used[0] <= len(worlds[0])) & (used[1] <= len(worlds[1]))))]
    scores = np.empty(len(coins))
    for world in (False, True):
        scores[coins == world] = worlds[int(world)][: int(np.sum(coins == world))]
    # (a)
    return audit_runs(scores, coins, math.ceil(PILOT * len(coins)), claim, 1 - confidence)


def of_normal_releases(pilot: np.ndarray, worlds: np.ndarray, releases: np.ndarray) -> np.ndarray:
    """(c) of the releases [R, k], by a pilot [P, k] and its worlds, bool [P]; [R]."""
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
