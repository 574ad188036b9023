"""Two worlds that differ in one record, the canary: the one protocol of `dpexp audit` and `dpexp check`.

An algorithm runs by its own `simulate`, in a world without and a world with the canary, and only what it
hands out is read.

(a) Records: linear losses of slope -G or G on a finite sum, whose objective shows the first coordinate of every
iterate; softmax records with one that is replaced, or that is there or not. Gradients are as long as they may be.
(b) Fresh users: the response of the first one is one of the two whose gradients lie furthest apart. Distances from a
point far away in the direction of the difference show the coordinate along it.
(c) One owner of all records: the first one is as in (b), and the estimate is handed out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.core.errors import UsageError
from dpexp.core.seeds import generator
from dpexp.core.terminal import tell
from dpexp.data.dataset import NORM
from dpexp.engine.lanes.elementwise import Value, where
from dpexp.engine.linear.designs import ErrorShape, RowShape
from dpexp.engine.linear.linear_pass import PassModel
from dpexp.engine.result import Passed
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.privacy.analyses.composition import composition_of_runs
from dpexp.privacy.audit.scores import audit_runs
from dpexp.privacy.budgets import Budget
from dpexp.problems.canaries import Canaries, LinearCanaries
from dpexp.problems.linear_predictor import LinearPredictorProblem

DELTA = 1e-5
"""at which the tightest analysis is chosen"""
FAR_AWAY = 1e4
"""of the point from which distances are measured, in units of the noise"""
COIN = 2**31
"""the part of a replicate's streams that decides its world, and nothing else"""
FAR = 4.0
"""length of a record over the clip"""
PILOT, PASS = 1000, 1000
"""runs by which thresholds and bets are chosen, and which no test counts; runs between two words of progress"""
Row = dict[str, Any]
"""The result of one audit, with the keys of `dpexp audit --json`: `lower_bound` of mu of Gaussian DP, `claimed` mu, or
the mu that allows the same misses at the reported threshold, and `alarm` whether the runs contradict the claim"""


class NothingShown(UsageError):
    """The algorithm hands out nothing that could be looked at."""


@dataclass(frozen=True)
class TwoWorlds:
    """What an algorithm hands out of two neighbouring problems, without the canary and with it."""

    setting: Any
    """the algorithm with its parameters"""
    problems: tuple[Any, Any]
    schedule: Any
    budget: Budget
    steps: np.ndarray
    """checkpoints"""
    protects: str
    label: str = ""
    size: str = ""
    canary_budget: Budget | None = None
    """the canary's own, where users have several"""
    together: int = 1
    """replicates that are seen together"""

    @property
    def statistic(self) -> str:
        return "message" if self.canary_budget else "joint ratio"

    @property
    def released(self) -> str:
        """The last iterate where there is no other estimator, at one checkpoint or with parameters; else all."""
        last = len(self.setting.estimators) == 1 and (len(self.steps) == 1 or isinstance(self.problems[0], Canaries))
        return LAST if last else ALL

    @cached_property
    def claim(self) -> Analysis | None:
        """The tightest analysis that covers what is seen, if there is one."""
        budget = self.canary_budget or self.budget
        mechanism = self.setting.mechanism(self.problems[0], self.schedule, budget, int(self.steps[-1]))
        covering = [a for a in mechanism.upper_bounds() if a.valid and a.released in (ALL, self.released)]
        best = min(covering, key=lambda a: a.eps(DELTA), default=None)
        return composition_of_runs([(best, self.together)]) if best and self.together > 1 else best

    def observe(self, seed: int, replicates: range) -> tuple[np.ndarray, np.ndarray]:
        """What these replicates release, [R, k], and the world of each, bool [R], by its number and the seed."""
        # batches, order and noise are the same in both worlds
        canary = np.array([generator(seed, r, "data", COIN).random() < 0.5 for r in replicates])
        rows = dict[int, np.ndarray]()
        for world, problem in enumerate(self.problems):
            own = np.flatnonzero(canary == world)
            lanes = [self.together * replicates[int(k)] + j for k in own for j in range(self.together)]
            if lanes:
                passed = self.setting.simulate(problem, [(self.schedule, self.budget)], self.steps, seed, lanes)
                rows |= zip(own.tolist(), _handed_out(problem, passed).reshape(len(own), -1), strict=True)
        return np.array([rows[k] for k in range(len(canary))]), canary


def _handed_out(problem: Any, passed: Passed) -> np.ndarray:
    """What shows the canary, with the replicates first."""
    measured = {name: passed.values[0, :, :, m] for m, name in enumerate(passed.metrics)}
    # an owner's fit measures nothing; of fresh users the records of all change with the first one's
    if isinstance(problem, LinearPredictorProblem) and measured:
        if "param_distance_sq" not in measured:
            raise NothingShown("`simulate` measures no `param_distance_sq`, which shows where an iterate is")
        # (b): after the first user
        return np.moveaxis(np.sqrt(measured["param_distance_sq"][:, :1]), 2, 0)
    if isinstance(problem, LinearCanaries) and "objective" in measured:
        # (a)
        return np.moveaxis(measured["objective"], 2, 0) * problem.count / problem.slope
    if passed.parameters is not None:
        return np.moveaxis(np.asarray(passed.parameters[0], float), 1, 0)
    raise NothingShown("`simulate` hands out no parameters, nor the metric `objective` of a finite sum")


def audit(
    audited: TwoWorlds, runs: int, level: float, seed: int, deltas: Sequence[float] = (), pilot: int | None = None
) -> Row:
    """So many runs, and a pilot before them; a true claim is contradicted with probability `level` at most."""
    claim, pilot = audited.claim, PILOT if pilot is None else pilot
    assert claim is not None
    parts, total = [], pilot + runs
    for first in range(0, total, PASS):
        tell(f"{audited.label}: run {first:,} of {total:,}")
        parts.append(audited.observe(seed, range(first, min(first + PASS, total))))
    releases, canary = (np.concatenate(column) for column in zip(*parts, strict=True))
    # thresholds and bets must not have seen the replicates of the tests
    result = audit_runs(releases, canary, pilot, claim, level)
    (point, claimed), process = result.nearest, result.process
    assert process is not None
    return {
        "algorithm": audited.setting.name, "mechanism": audited.label, "claimed": claimed,
        "lower_bound": point.separation, "unit": "mu at this false positive rate" if claim.mu is None else "mu",
        "confidence": 1 - level, "method": "trade-off test", "releases": audited.released,
        "protects": audited.protects, "statistic": audited.statistic, "analysis": claim.name, "source": claim.source,
        "audited": audited.size, "runs": runs, "alarm": result.contradicts,
        "false_positive_rate": point.most_false_alarms,
        "eps": [{"delta": d, "claimed": claim.eps(d), "lower_bound": result.eps(d)} for d in deltas],
        "e_process": {"largest": process.largest, "alarm_at_run": process.alarm_at},
        "thresholds": [vars(point) for point in result.points],
    }  # fmt: skip


def linear_pair(records: int, width: int, smoothness: float = 1.0) -> tuple[LinearCanaries, LinearCanaries]:
    """(a): the last record of a finite sum."""
    first = LinearCanaries(N=records, d=width, slope=-1.0, stated_smoothness=smoothness)
    return first, first.model_copy(update={"slope": 1.0})


def softmax_pair(replaced: bool, clip: float, small: float = 0.5, **parameters: Any) -> tuple[Canaries, Canaries]:
    """(a): the first record of a table, whose class is replaced, or which alone has features.

    A step size that follows from the smoothness is `small` over the larger of 1 and the squared clip.
    """
    # a record without features has no gradient: it is as one that is absent
    absent = 0 if replaced else None
    if math.isfinite(clip):
        parameters |= {"length": FAR * clip, "slope_limit": max(1.0, clip) ** 2 / (2 * small)}
    present = Canaries(canary=1, others=absent, **{"length": NORM, **parameters})
    return present.model_copy(update={"canary": absent}), present


def owner_pair(problem: LinearPredictorProblem) -> tuple[Any, Any]:
    """(c): the records of one owner, whose first one has either of the two responses."""

    class Owned(type(problem)):  # type: ignore[misc]
        """A table whose first record is known."""

        canary: float

        def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
            x, y = super().sample(rng, size)
            x[0], y[0] = _row(self.d), self.canary
            return x, y

    low, high = furthest_responses(problem, np.asarray)
    return Owned(**problem.model_dump(), canary=low), Owned(**problem.model_dump(), canary=high)


def user_worlds(problem: LinearPredictorProblem, algorithm: Any) -> tuple[Any, tuple[Any, Any]]:
    """(b): an algorithm on fresh users, and its problem in both worlds."""
    one_pass = isinstance(algorithm, OnePassAlgorithm)
    sent, own = (algorithm.rule().sent, algorithm.messages(problem)) if one_pass else (np.asarray, problem)
    low, high = furthest_responses(own, sent)
    start, x = own.start()[None], _row(problem.d)[None]
    first, second = (sent(own.gradient(start, x, np.array([y])))[0] for y in (low, high))
    far = problem.start() + FAR_AWAY * problem.noise_sensitivity() * (second - first) / np.linalg.norm(second - first)
    if own is not problem:
        # the canary is the user of the problem whose gradients are sent
        watched = type("Watched", (type(algorithm),), {"messages": lambda self, world: world.sent})
        algorithm = watched(**algorithm.model_dump())
    return algorithm, (_first_user(problem, own, low, low, far), _first_user(problem, own, high, low, far))


def _row(d: int) -> np.ndarray:
    """A record with |x|^2 = 2, where w(x) |x| is largest."""
    return np.array([1.0, 1.0, *[0.0] * (d - 1)])


def canary_response(t: Value, e: Value, k: np.ndarray) -> Value:
    """The response at the end of the constants."""
    return where(e > 0.0, k[-1], k[-1])


def _first_user(problem: Any, own: Any, response: float, other: float, far: np.ndarray) -> Any:
    """The problem with a first user whose record is known; `own` is the one whose gradients are sent."""
    base: type[Any] = type(problem)
    begun: dict[int, np.random.Generator] = {}

    class FirstUser(base):  # type: ignore[misc]
        """A law of data without chance; only the first user of a run is looked at."""

        def model(self) -> PassModel:
            model: PassModel = super().model()
            design = model.law.design._replace(a=np.zeros(self.d), b=_row(self.d)[1:])
            law = model.law._replace(k=np.array([*model.law.k, response]), design=design)
            shifted, errors = RowShape(columns=(("normal", self.d),)), ErrorShape(self.response_noise)
            shape = model.shape._replace(response=canary_response, design=shifted, errors=errors)
            return model._replace(shape=shape, law=law)

        def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
            responses = np.full(size, other)
            if id(rng) not in begun:
                begun[id(rng)] = rng
                responses[0] = response
            return np.tile(_row(self.d), (size, 1)), responses

        @property
        def sent(self) -> Any:
            return self if own is problem else _first_user(own, own, response, other, far)

        def optimum(self) -> np.ndarray:
            return far

        def look(self, theta: np.ndarray) -> Any:
            return (np.sum((theta - far[:, None]) ** 2, axis=1),) * 3

    return FirstUser(**problem.model_dump())


def furthest_responses(
    problem: LinearPredictorProblem, send: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float]:
    """The two responses whose gradients at the start lie furthest apart, for a record with |x|^2 = 2."""
    _, sample = problem.sample(np.random.default_rng(0), 4000)
    x, theta, tried = _row(problem.d), problem.start(), np.unique(sample)
    # a problem with two responses has just these; others are tried from far below to far above the prediction
    if len(tried) > 2:
        offsets = np.geomspace(1e-2, 1e6, 120)
        tried = float(x @ theta[: problem.d + 1]) + np.concatenate([-offsets[::-1], offsets])
    points = np.broadcast_to(theta, (len(tried), len(theta))), np.broadcast_to(x, (len(tried), len(x)))
    sent = send(problem.gradient(*points, tried))
    distances = np.linalg.norm(sent[:, None] - sent[None], axis=2)
    # among pairs that are as far apart the widest: its scores stay at their ends when theta moves
    apart = np.where(distances >= distances.max() * (1 - 1e-9), np.abs(tried[:, None] - tried[None]), -1.0)
    a, b = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return float(tried[min(a, b)]), float(tried[max(a, b)])
