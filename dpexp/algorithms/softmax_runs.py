"""What the algorithms on softmax regression share: their common random numbers, metrics, and numbers of steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpexp.algorithms.algorithm import Algorithm, Member, Settings
from dpexp.algorithms.finite_sum_run import MOST_STEPS
from dpexp.algorithms.schedules import Schedule
from dpexp.core.parameters import Count
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.engine.softmax import batches as drawn
from dpexp.engine.softmax import softmax_loop as engine
from dpexp.privacy.analyses.analysis import ALL
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.langevin import LangevinRun
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.samplings import RELATIONS, BatchSampling, Epochs
from dpexp.problems.softmax import Softmax

_CALIBRATION = Lock()
"""held while noise is calibrated, which is remembered"""


class BatchNoise(NamedTuple):
    """How one setting differs from plain SGD."""

    clip: float = math.inf
    """bound on a record's gradient norm"""
    scale: np.ndarray | None = None
    """standard deviation of each step's noise on the parameter [K]"""
    start: float = 0.0
    """sigma of the prescribed start N(0, (2 sigma^2 / lambda) I); 0 starts at 0"""
    radius: float = math.inf
    """of the ball to which iterates are projected"""
    momentum: float = 0.0


def target(budget: Budget) -> tuple[float, float]:
    """(eps, delta) of a target; eps inf where there is no privacy. Raises ValueError for a budget that is no target."""
    if budget.constant is not None and math.isinf(budget.constant):
        return math.inf, 1.0
    if budget.target is None:
        raise ValueError(f"{budget.label} is no target for a whole run")
    return budget.target


def no_target(budget: Budget) -> list[str]:
    """A complaint where a budget is not an (eps, delta) for the whole run."""
    if budget.target or (budget.constant is not None and math.isinf(budget.constant)):
        return []
    return ["noise is set for a whole run: write privacy: {eps: 1, delta: 1e-5} in place of mu"]


def step_sizes(problem: Softmax, schedule: Schedule, count: int) -> np.ndarray:
    """eta_k of the steps, [count]."""
    return schedule.for_losses(problem.smoothness, problem.regulariser).step_sizes(1, count)


class SoftmaxAlgorithm(Algorithm):
    """An algorithm on softmax regression; subclasses define what a setting adds to plain SGD, and what is released."""

    batch_size: Count = 250
    epochs: Count = 30
    sampling: BatchSampling = "poisson"
    groups: Count | None = None
    """of cyclic-poisson: public groups of records, whose turn it is one after the other"""

    estimators: ClassVar[tuple[str, ...]] = ("last",)
    metrics: ClassVar[tuple[str, ...]] = ("param_norm_sq", "test_accuracy", "train_loss")
    """of the last iterate: held-out accuracy; mean loss on the training records with the regulariser, not private"""
    runs_on: ClassVar[tuple[type, ...]] = (Softmax,)
    schedules: ClassVar[tuple[str, ...]] = ("langevin", "constant")
    smoke_size: ClassVar[tuple[int, int]] = (50, 3)
    lanes: ClassVar[int] = 1
    """replicates come one after the other: pieces of one keep all workers busy to the end"""
    witnesses: ClassVar[int] = 1
    toys: ClassVar[tuple[Mapping[str, Any], ...]] = ({"batch_size": 1},)

    def complaints(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = self._unproved(problem)
        if n > MOST_STEPS:
            faults.append(f"{n:,} steps are beyond reach: at most {MOST_STEPS:,} are run")
        if self.batch_size > problem.n:
            faults.append(f"batch_size = {self.batch_size} is larger than the {problem.n} training records")
        if (self.groups is None) == (self.sampling == "cyclic-poisson"):
            needed = "sampling 'cyclic-poisson' needs the number of public groups: groups: 10"
            spare = f"groups are for sampling 'cyclic-poisson', not for '{self.sampling}'"
            faults.append(needed if self.groups is None else spare)
        elif self.groups and self.groups * self.batch_size > problem.n:
            few = f"fewer than batch_size = {self.batch_size}, which is to be drawn from it"
            faults.append(f"a group has {problem.n} / {self.groups} records: {few}")
        return faults

    def _unproved(self, problem: Softmax) -> list[str]:
        """Why nothing proves the statement on a user's records as they are held out (docs/data.md derives the rule)."""
        # membership draws are for records that come and go, places for records that are replaced
        added, public_count = RELATIONS[self.sampling] == "add-remove", problem.data.records is not None
        if problem.data.path is None or added == public_count:
            return []
        if added:
            return [
                f"sampling '{self.sampling}' is for records that are added or removed, so nothing may follow from "
                "their number in the file: state one that is public, as in data: {..., records: 10000}, or take "
                "sampling fixed-size, for records that are replaced, whose number is public"
            ]
        return [
            f"sampling '{self.sampling}' is for records that are replaced: their number is public, and places decide "
            "which are test records: leave out data.records, or take sampling poisson. With data.records a replaced "
            "record could change parts, and batches of a fixed size with one record more or less are not proved here"
        ]

    def memory(self, problem: Softmax, n: int, checkpoints: int, settings: int) -> int:
        """Bytes that a worker holds at once, without the records: iterates, and six numbers a step of every setting."""
        # float32, at each checkpoint and once more where they are put together
        weights = 4 * problem.shape.classes * problem.shape.width
        # every record's batch, and who is in one
        drawn_once = 17 * problem.n if self.sampling == "balls-in-bins" else 0
        return settings * (2 * (checkpoints + 2) * weights + 6 * 8 * n) + 4 * (1 << 18) + drawn_once

    def noise(self, problem: Softmax, schedule: Schedule, budget: Budget, sizes: np.ndarray) -> BatchNoise:
        """How steps of the given sizes [K] differ from plain SGD."""
        raise NotImplementedError

    def steps(self, problem: Softmax, schedule: Schedule, budget: Budget) -> int:
        """Steps of so many passes over the training records."""
        if self.sampling == "balls-in-bins":
            return self.epochs * drawn.batches_of(problem.n, self.batch_size)
        return max(1, round(self.epochs * problem.n / self.batch_size))

    def batches(self, problem: Softmax, order: np.random.Generator) -> drawn.Batches:
        """The batches of a run on the training records."""
        # where records come and go, probabilities follow from the number that is public
        own = problem.group_draws
        public = {} if own is None else {"nominal": problem.n}
        return drawn.scheme(self.sampling, self.groups, own)(len(problem.train), self.batch_size, order, **public)

    def by_epochs(self, records: int) -> Epochs | None:
        """What an accountant has to know of batches that are drawn epoch by epoch."""
        # an epoch is a turn of every group; only its own turn gives a record a chance
        if self.groups:
            return Epochs(self.groups, min(1.0, self.groups * self.batch_size / records))
        return Epochs(drawn.batches_of(records, self.batch_size)) if self.sampling == "balls-in-bins" else None

    def mechanism(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> Stated | LangevinRun:
        """What n steps release, and by which analysis."""
        raise NotImplementedError

    def releases(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> tuple[str, ...]:
        mechanism = self.mechanism(problem, schedule, budget, n)
        if not mechanism.row(())["guarantee"]:
            return ()
        return self.estimators if mechanism.analysis.released == ALL else ("last",)

    def seconds(self, problem: Softmax, n: int) -> float:
        # products over the batch, noise, and a fixed cost a step; settings of one pass share the reading of records and
        # the drawing of noise, and one alone takes twice as long
        classes, width = problem.shape.classes, problem.shape.width
        return n * (1e-5 + self.batch_size * width * (classes * 0.5e-10 + 1e-10) + classes * width * 3e-9)

    def simulate(
        self, problem: Softmax, settings: Settings, steps: np.ndarray, seed: int, replicates: Sequence[int]
    ) -> Passed:
        """Every setting on the same batches, noise directions and start; metrics after `steps` steps."""
        members = [Member(self, problem, schedule, budget) for schedule, budget in settings]
        return _together(self, members, steps, seed, replicates)

    def common(self, problem: Softmax) -> dict[str, Any]:
        """The records and the law of the batches: clip, noise, momentum and regulariser are each run's own."""
        # an algorithm with a loop or batches of its own keeps to itself
        if self._is_special:
            return super().common(problem)
        records = problem.model_dump(exclude={"regulariser"})
        batches = {"batch_size": self.batch_size, "sampling": self.sampling, "groups": self.groups}
        return {"softmax": records, "batches": batches, "estimators": self.estimators, "metrics": self.metrics}

    @property
    def _is_special(self) -> bool:
        kind, base = type(self), SoftmaxAlgorithm
        return kind.simulate is not base.simulate or kind.batches is not base.batches

    def together(self, members: Sequence[Member], steps: np.ndarray, seed: int, replicates: Sequence[int]) -> Passed:
        """Every record of a batch is read once for all settings, whatever their algorithm."""
        if self._is_special:
            return super().together(members, steps, seed, replicates)
        return _together(self, members, steps, seed, replicates)


def _together(
    algorithm: SoftmaxAlgorithm, members: Sequence[Member], steps: np.ndarray, seed: int, replicates: Sequence[int]
) -> Passed:
    """Metrics of settings that agree in `common` with the algorithm."""
    problem: Softmax = members[0].problem
    steps = np.asarray(steps, dtype=np.int64)
    estimators, metrics = algorithm.estimators, algorithm.metrics
    values = np.empty((len(members), len(estimators), len(steps), len(metrics), len(replicates)))
    sizes = [step_sizes(m.problem, m.schedule, int(steps[-1])) for m in members]
    # a thread that waits here finds what the other has calibrated
    with _CALIBRATION:
        noises = [m.algorithm.noise(m.problem, m.schedule, m.budget, e) for m, e in zip(members, sizes, strict=True)]
    weights = (len(members), len(estimators), len(replicates), problem.shape.classes, problem.shape.width)
    parameters, train = np.empty(weights, np.float32), problem.train
    for r, replicate in enumerate(replicates):
        runs = [_run(m.problem, noise, e, seed, replicate) for m, noise, e in zip(members, noises, sizes, strict=True)]
        trained = engine.train(
            train.features, train.labels, runs, algorithm.batches(problem, generator(seed, replicate, "order")),
            batch_size=algorithm.batch_size, noise=engine.gaussian(generator(seed, replicate, "noise")),
            checkpoints=steps.tolist(), averaging="average" in estimators,
        )  # fmt: skip
        # float32 [estimators, runs, checkpoints, classes, p]
        iterates = np.stack(trained[: len(estimators)])
        places = list(np.ndindex(iterates.shape[:3]))
        regularisers = [members[s].problem.regulariser for _, s, _ in places]
        # all at once: the records are read once for all iterates
        rows = iterate_metrics(problem, iterates.reshape(-1, *iterates.shape[3:]), regularisers)
        for (e, s, k), row in zip(places, rows, strict=True):
            values[s, e, k, :, r] = row
        parameters[:, :, r] = iterates[:, :, -1].swapaxes(0, 1)
    return Passed(steps, estimators, metrics, values, parameters)


def _run(problem: Softmax, noise: BatchNoise, sizes: np.ndarray, seed: int, replicate: int) -> engine.SoftmaxRun:
    """A replicate of one setting as the engine's loop takes it."""
    # settings that start at random start in one direction: the stream is the replicate's, of the role `init`
    start = np.zeros((problem.shape.classes, problem.shape.width), np.float32)
    if noise.start:
        draws = generator(seed, replicate, "init")
        start = engine.start(*start.shape, noise.start, problem.regulariser, draws, noise.radius)
    return engine.SoftmaxRun(start, sizes, problem.regulariser, noise.clip, noise.scale, noise.radius, noise.momentum)


@np.errstate(over="ignore", invalid="ignore")  # a diverged replicate is a result
def iterate_metrics(
    problem: Softmax, weights: np.ndarray, regularisers: Sequence[float]
) -> list[tuple[float, float, float]]:
    """The `metrics` of iterates [n, classes, p], each with the regulariser that it has learnt with."""
    from dpexp.engine.softmax.softmax_metrics import tallies

    train, test = problem.split
    held_out, own = (tallies(weights, part.features, part.labels) for part in (test, train))
    rows = []
    for iterate, regulariser, tally, train_tally in zip(weights, regularisers, held_out, own, strict=True):
        size = float(np.sum(np.square(iterate, dtype=np.float64)))
        # of a diverged iterate the size is kept, and the other metrics mean nothing
        if not math.isfinite(size):
            rows.append((size, math.nan, math.nan))
            continue
        loss = train_tally.loss / (len(train) or math.nan) + regulariser / 2 * size
        rows.append((size, tally.right / (len(test) or math.nan), loss))
    return rows
