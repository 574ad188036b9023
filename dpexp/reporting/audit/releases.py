"""Two worlds for algorithms on few records: everything that several replicates hand out, seen together.

A copy is audited: the config's algorithm with all its settings but size, on few records, for few steps, with noise for
a larger target, by its own `simulate`. The losses of finite sums are linear, so that gradients are as long as they may
be, the same at all iterates, and the objective shows the canary's coordinate of every iterate. Of softmax regression
the parameters are seen: after two steps the last iterate and the average are all iterates.
A central fit is run as it is, on few records of which one is replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.central_newton import CentralNewton
from dpexp.algorithms.dp_sgd import DpSgd
from dpexp.algorithms.dp_sgld import DpSgld
from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm
from dpexp.config.cells import Cell
from dpexp.core.seeds import generator
from dpexp.core.text import counted
from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.analyses.composition_of_runs import composition_of_runs
from dpexp.privacy.budgets import Budget, Target
from dpexp.problems.canaries import PREPARED, Canaries, LinearCanaries
from dpexp.problems.finite_sum import FiniteSum
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.softmax import Softmax
from dpexp.reporting.audit.users import furthest_responses
from dpexp.reporting.audit.worlds import Look, Seen, coins

RECORDS, BATCH, WIDTH, FAR = 8, 2, 2, 4.0
"""of a copy: records, records in a batch, features, and the length of a record over the clip"""
SUM_RECORDS, SUM_STEPS, SUM_WIDTH, RATE = 6, 12, 4, 0.25
"""of a copy on a finite sum: records, steps, coordinates, and the rate of Poisson samples where there are any"""
TARGET = 8.0
"""epsilon of a copy: noise of a wrong size is told from the right one by the fewest runs"""
SMALL_STEP = 1e-3
"""of a step of DP-SGD: its noise follows from the clip, and the smaller the step, the less does the canary fade"""
FIT_RECORDS = 400
DELTA = 1e-5
"""of the copy's target, where the config gives a mu"""


class Way(NamedTuple):
    """How a copy of DP-SGD is run."""

    steps: int
    replicates: int = 1


WAYS = (Way(2, 2), Way(12))
"""in two steps noise that is missing somewhere, or is shared, is a large part of all; in twelve batches repeat"""


class ReleasesAudit:
    """What an algorithm hands out of two neighbouring problems."""

    def __init__(
        self, cell: Cell, copy: Any, problems: tuple[Any, Any], schedule: Any, budget: Budget, steps: int, size: str,
        protects: str, replicates: int = 1,
    ) -> None:  # fmt: skip
        self.algorithm, self.copy, self.problems, self.protects = cell.algorithm.name, copy, problems, protects
        self.schedule, self.budget, self.steps, self.replicates = schedule, budget, steps, replicates
        self.label = f"{self.algorithm} on {cell.problem.name}{_settings(cell.algorithm)}"
        self.size = size + (f", {counted(replicates, 'replicate')} seen together" if replicates > 1 else "")

    @cached_property
    def looks(self) -> Sequence[Look]:
        mechanism = self.copy.mechanism(self.problems[0], self.schedule, self.budget, self.steps)
        last = len(self.copy.estimators) == 1 and not isinstance(self.copy, FiniteSumAlgorithm)
        covering = [a for a in mechanism.upper_bounds() if a.valid and (a.released == ALL or last)]
        best = min(covering, key=lambda a: a.eps(DELTA))
        claim = composition_of_runs([(best, self.replicates)])
        return [Look(LAST if last else ALL, self.protects, "joint ratio", claim)]

    def observe(self, seed: int, replicates: range) -> Sequence[Seen]:
        canary = coins(seed, replicates)
        rows: list[np.ndarray | None] = [None] * len(replicates)
        for there, problem in enumerate(self.problems):
            own = np.flatnonzero(canary == there)
            # runs of one world in one pass
            lanes = [self.replicates * replicates[int(k)] + j for k in own for j in range(self.replicates)]
            passed = self.copy.simulate(
                problem, [(self.schedule, self.budget)], np.arange(1, self.steps + 1), seed, lanes
            ) if lanes else None  # fmt: skip
            found = np.empty((0, 1)) if passed is None else _handed_out(problem, passed)
            for k, row in zip(own, found.reshape(len(own), -1), strict=True):
                rows[int(k)] = row
        return [Seen(np.stack(cast("list[np.ndarray]", rows)), canary)]


def _handed_out(problem: Any, passed: Any) -> np.ndarray:
    """The parameters that `simulate` returns, or the first coordinate of every iterate on linear losses, [R, k]."""
    if passed.parameters is not None:
        found = np.moveaxis(np.asarray(passed.parameters[0], float), 1, 0)
    else:
        objective = passed.values[0, :, :, passed.metrics.index("objective")]
        found = np.moveaxis(objective, 2, 0) * problem.count / problem.slope
    return found.reshape(len(found), -1)


class FitAudit:
    """The estimate of a central fit; one of its records has either of the two responses of the furthest gradients."""

    def __init__(self, cell: Cell, algorithm: CentralNewton, problem: LinearPredictorProblem, mu: float) -> None:
        from dpexp.inference.fitting import plan_central

        self.algorithm, n = algorithm.name, min(FIT_RECORDS, cell.run.n)
        self.planned, self.mu = plan_central(algorithm.model(problem, cell.privacy.mu), n), mu
        x, y = problem.sample(np.random.default_rng(0), n)
        x[0, 1:] = 0.0
        x[0, 1] = 1.0
        self.tables = [(x[:, 1:], np.concatenate([[one], y[1:]])) for one in furthest_responses(problem, np.asarray)]
        self.label, self.size = f"{algorithm.name} on {problem.name}, mu = {mu:g}", f"a copy: {n} records"
        stated = algorithm.mechanism(problem, cell.schedule, cell.privacy.mu, n).upper_bounds()
        self.looks = [Look("estimate", "a record that is replaced", "joint ratio", stated[0])]

    def observe(self, seed: int, replicates: range) -> Sequence[Seen]:
        from dpexp.inference.fitting import fit_central

        canary = coins(seed, replicates)
        draws = [generator(seed, r, "noise").standard_normal for r in replicates]
        found = [fit_central(self.planned, *self.tables[int(one)], self.mu, draw).theta
                 for one, draw in zip(canary, draws, strict=True)]  # fmt: skip
        return [Seen(np.clip(np.nan_to_num(np.stack(found)), -1e6, 1e6), canary)]


def audits_of_batches(cell: Cell) -> Sequence[ReleasesAudit] | str | None:
    """A copy of DP-SGD or DP-SGLD for each of its ways."""
    problem, algorithm = cell.problem, cell.algorithm
    if not (isinstance(algorithm, DpSgd | DpSgld) and isinstance(problem, Softmax)):
        return None
    full = algorithm.batch_size == problem.n
    stated = algorithm.mechanism(problem, cell.schedule, cell.privacy.mu, cell.run.n)
    replaces = stated.neighboring_relation == "replace-one"
    return [_of_batches(cell, problem, algorithm, replaces, full, way) for way in WAYS]


def _of_batches(
    cell: Cell, problem: Softmax, algorithm: DpSgd | DpSgld, replaces: bool, full: bool, way: Way
) -> ReleasesAudit:
    # full batches stay full, and a config whose groups are used whole keeps that
    records = BATCH if full else RECORDS
    whole = algorithm.groups is not None and algorithm.groups * algorithm.batch_size == problem.n
    groups = None if algorithm.groups is None else records // BATCH if whole else 2
    copy = algorithm.model_copy(update={"batch_size": BATCH, "epochs": 1, "groups": groups})
    clip = algorithm.clip if isinstance(algorithm, DpSgd) else math.inf
    clipped, long = math.isfinite(clip), max(1.0, clip) ** 2
    schedule = cell.schedule
    if isinstance(algorithm, DpSgd) and schedule.name == "constant":
        schedule = schedule.model_copy(update={"eta": SMALL_STEP / long})
    there = Canaries(
        regulariser=problem.regulariser,
        records=records,
        classes=2 if clipped else 10,
        width=WIDTH,
        length=FAR * clip if clipped else PREPARED,
        slope_limit=long / (2 * SMALL_STEP) if clipped else problem.smoothness,
        # where neighbours replace a record, all others are alike but for the canary's class
        canary=1 if replaces else 0,
        others=0 if replaces else None,
    )
    delta = (cell.privacy.mu.target or (0.0, DELTA))[1]
    size = f"a copy: {records} records, batches of {BATCH}, {counted(way.steps, 'step')}, eps = {TARGET:g}"
    who = "a record that is replaced" if replaces else "a record that is added or removed"
    budget = Target(eps=TARGET, delta=delta)
    problems = there.model_copy(update={"canary": 0 if replaces else None}), there
    return ReleasesAudit(cell, copy, problems, schedule, budget, way.steps, size, who, way.replicates)


def audits_of_sums(cell: Cell) -> Sequence[ReleasesAudit] | str | None:
    """A copy of an algorithm on a finite sum."""
    problem, algorithm = cell.problem, cell.algorithm
    if not (isinstance(algorithm, FiniteSumAlgorithm) and isinstance(problem, FiniteSum)):
        return None
    if cell.schedule.name == "prescribed":
        return f"{algorithm.name}: a prescribed schedule fixes the size; path-length or constant steps are audited"
    if not algorithm.noise:
        return f"{algorithm.name}, noise: false: no privacy is claimed"
    sampled = float(algorithm.model_dump().get("sampling_rate", 1.0)) < 1
    copy = algorithm.model_copy(update={"epochs": None, **({"sampling_rate": RATE} if sampled else {})})
    first = LinearCanaries(
        records_count=SUM_RECORDS, width=SUM_WIDTH, slope=-1.0, canary=SUM_RECORDS - 1, stated_smoothness=1.0
    )
    # the change of a gradient over one epoch, over its length, is the config's: noise for small changes rests on it
    eta, own = cell.schedule.step_size(SUM_STEPS), cell.schedule.step_size(cell.run.n)
    ratio = problem.smoothness * own * algorithm.passes(problem) / problem.lipschitz
    first = first.model_copy(update={"stated_smoothness": ratio / (eta * algorithm.passes(first))})
    delta = cell.privacy.mu.target[1] if cell.privacy.mu.target else DELTA
    rate = f", sampling_rate {RATE:g}" if sampled else ""
    size = f"a copy: {SUM_RECORDS} records of linear losses{rate}, {SUM_STEPS} steps, eps = {TARGET:g}"
    problems, budget = (first, first.model_copy(update={"slope": 1.0})), Target(eps=TARGET, delta=delta)
    return [ReleasesAudit(cell, copy, problems, cell.schedule, budget, SUM_STEPS, size, "a record that is replaced")]


def audits_of_fits(cell: Cell) -> Sequence[FitAudit] | str | None:
    """The estimate of a central fit."""
    if isinstance(cell.algorithm, CentralNewton) and isinstance(cell.problem, LinearPredictorProblem):
        return [FitAudit(cell, cell.algorithm, cell.problem, cast(float, cell.privacy.mu.constant))]
    return None


def _settings(algorithm: Algorithm) -> str:
    """What of an algorithm differs from its defaults and is kept in a copy."""
    changed = ("name", "epochs", "batch_size", "groups", "sampling_rate")
    kept = algorithm.model_dump(exclude_defaults=True)
    return "".join(f", {key} = {value}" for key, value in kept.items() if key not in changed)


AUDITS: tuple[Callable[[Cell], Sequence[ReleasesAudit | FitAudit] | str | None], ...] = (
    audits_of_batches,
    audits_of_sums,
    audits_of_fits,
)
