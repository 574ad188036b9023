"""Two worlds for private regression: each user holds one of two records, by a coin, and sends a gradient or a Hessian.

`tests.oracles.watched_messages` runs `staged-newton` with such users, and chooses their records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from dpexp.accounting.gaussian import eps_of
from dpexp.algorithms.staged_newton_coverage import StagedNewton
from dpexp.config.cells import Cell
from dpexp.engine.lanes.vectors import LANES
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.audit.audit_cells import budgets_of
from dpexp.reporting.audit.worlds import Seen
from tests.oracles.watched_messages import Sent, Watched

ROUNDED = 1e-12
"""the engine has 1 / mu, whose inverse may differ from mu in a last digit"""


class RegressionAudit:
    """Messages of one kind of `staged-newton`, of users with one budget."""

    released = ALL

    def __init__(self, watched: Watched, label: str, size: str, kind: str, mu: float, claim: Analysis) -> None:
        self.algorithm, self.watched, self.label, self.size = "staged-newton", watched, label, size
        self.statistic, self.mu, self.claim = kind, mu, claim
        self.protects = f"a user with mu = {mu:g}"

    def observe(self, seed: int, replicates: range) -> Seen:
        found = []
        for first in range(replicates.start, replicates.stop, LANES):
            lanes = range(first, min(first + LANES, replicates.stop))
            found.append(self._chosen(runs_of(self.watched, seed, lanes), self.statistic, self.mu, lanes))
        releases, canary = (np.concatenate(part) for part in zip(*found, strict=True))
        return releases, canary

    def _chosen(self, sent: Sequence[Sent], kind: str, budget: float, lanes: range) -> Seen:
        """In every run one user of the class, by the number of the run: a choice that knows neither coins nor noise."""
        of_kind, statistics, canary = [user for user in sent if user.kind == kind], [], []
        for lane, replicate in enumerate(lanes):
            # a run in which nobody of the class was asked says nothing of it
            able = [user for user in of_kind if math.isclose(user.mu[lane], budget, rel_tol=ROUNDED)]
            if not able:
                continue
            # both gradients at the iterate of this run, where the user was asked
            user = able[replicate % len(able)]
            zero, other = (self.watched.clean(user, lane, record) for record in (0, 1))
            here = slice(lane, lane + 1)
            statistics.append(of_projection(user.message[here], zero, other - zero, user.noise[here]))
            canary.append(user.canary[here])
        return np.concatenate([np.empty(0), *statistics]), np.concatenate([np.empty(0, dtype=bool), *canary])


@lru_cache(2000)
def runs_of(watched: Watched, seed: int, lanes: range) -> list[Sent]:
    """What watched users send in eight runs, which all kinds of messages are looked at in."""
    return list(watched.run(seed, lanes))


def of_a_user(stated: Sequence[Analysis], mu: float) -> Analysis:
    """What the best of these analyses states of one user with this budget."""
    best = min((one for one in stated if one.valid), key=lambda one: math.inf if one.mu is None else one.mu)
    return replace(best, mu=mu, eps=partial(eps_of, mu))


def of_projection(released: np.ndarray, without: np.ndarray, effect: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The log likelihood ratio (<X - a, d> - |d|^2 / 2) / s^2 of N(a + d, s^2 I) and N(a, s^2 I), of each run [R]."""
    along = np.sum((released - without) * effect, axis=1)
    return np.asarray((along - np.sum(effect**2, axis=1) / 2) / noise**2)


def audits_of_regression(cell: Cell) -> Sequence[RegressionAudit] | str | None:
    """Audits of a private regression whose users send Gaussian messages: of every budget and kind of message."""
    problem, algorithm, budget, n = cell.problem, cell.algorithm, cell.privacy.mu, cell.run.n
    if isinstance(algorithm, StagedNewton) and budget.pure_eps is not None:
        return f"{algorithm.name} with delta = 0: their exact law is that of dpexp privacy --mechanism cap-sampling"
    if not (isinstance(algorithm, StagedNewton) and isinstance(problem, LinearPredictorProblem)):
        return None
    stated = algorithm.mechanism(problem, cell.schedule, budget, n).upper_bounds()
    watched = Watched(problem, algorithm, budget, n)
    label = f"{algorithm.name} on {problem.name}, mu = {budget.label}"
    size = f"a copy with {watched.users} users, and the steps of {n:,}"
    return [
        RegressionAudit(watched, label, size, kind, mu, of_a_user(stated, mu))
        for mu in budgets_of(budget)
        for kind in watched.kinds
    ]
