"""An audit from scores of one's own: numbers of runs without and with a canary, larger where it seems to be there.

    from dpexp.privacy.audit.scores import audit_scores
    found = audit_scores(without, with_canary, mu=1.0)
    found.mu, found.eps(1e-5), found.contradicts

(a) Runs are independent, and a score says nothing but what a release shows. The first runs of either world choose
thresholds and bets, and are not counted. (b) The e-process needs a fair coin before each run: coins of our own decide
from which world the next score is taken, until one of them is used up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.privacy.audit.claim import Claim, gaussian_claim
from dpexp.privacy.audit.tests_of_claims import EProcess, TradeOff, bets_of, e_process, thresholds_of, trade_off_test

PILOT = 0.2
"""share of the runs that choose thresholds and bets"""
FEWEST = 50
"""runs in either world"""


@dataclass(frozen=True)
class ScoresAudit:
    """Lower bounds on the privacy loss, which hold together with the stated confidence."""

    test: TradeOff
    process: EProcess | None
    """of the claim; None where nothing is claimed"""
    claim: Claim | None
    confidence: float

    @property
    def mu(self) -> float:
        """The lower bound of mu of Gaussian DP: the largest of all thresholds."""
        return max(point.separation for point in self.test.points)

    def eps(self, delta: float) -> float:
        """The lower bound of epsilon at delta."""
        return self.test.eps(delta)

    @property
    def contradicts(self) -> bool:
        """Whether the runs contradict the claim: of a true one with probability at most 1 - confidence."""
        if self.claim is None or self.process is None:
            return False
        points = self.test.points
        exceeded = any(point.most_misses < self.claim.misses(point.most_false_alarms) for point in points)
        return exceeded or self.process.alarm_at is not None


def audit_scores(
    without: Sequence[float],
    with_canary: Sequence[float],
    *,
    mu: float | None = None,
    eps: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.999,
    seed: int = 0,
) -> ScoresAudit:
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
    claim = gaussian_claim(mu) if mu is not None else Claim(None, ((eps, delta),)) if eps is not None else None
    # (a)
    first = [math.ceil(PILOT * len(scores)) for scores in worlds]
    pilot = np.concatenate([scores[:k] for scores, k in zip(worlds, first, strict=True)])
    which = np.repeat([False, True], first)
    rest = [scores[k:] for scores, k in zip(worlds, first, strict=True)]
    # with a claim either test has half of what may go wrong
    level = (1 - confidence) / (1 if claim is None else 2)
    test = trade_off_test(rest[0], rest[1], thresholds_of(pilot), level)
    if claim is None:
        return ScoresAudit(test, None, None, confidence)
    # (b)
    coins = np.random.default_rng(seed).random(sum(map(len, rest))) < 0.5
    used = np.array([np.cumsum(~coins), np.cumsum(coins)])
    coins = coins[: int(np.sum((used[0] <= len(rest[0])) & (used[1] <= len(rest[1]))))]
    scores = np.empty(len(coins))
    for world in (False, True):
        scores[coins == world] = rest[int(world)][: int(np.sum(coins == world))]
    process = e_process(scores, coins, bets_of(claim, pilot, which), level)
    return ScoresAudit(test, process, claim, confidence)
