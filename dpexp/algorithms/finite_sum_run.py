"""What the algorithms on finite sums share: a setting settled to plain numbers, and the loop over settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dpexp.algorithms.algorithm import Algorithm, Settings
from dpexp.algorithms.schedules import Schedule
from dpexp.core.caches import kept_per_thread
from dpexp.core.parameters import Count
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.privacy.budgets import Budget
from dpexp.privacy.momentum.trees import reshuffled_order
from dpexp.problems.finite_sum import FiniteSum
from dpexp.theory.momentum.momentum_formulas import Prescription

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.following import Stepper
    from dpexp.engine.finite_sum.looking import Data
    from dpexp.engine.finite_sum.momentum_loop import Momentum, Order

MOST_STEPS = 20_000_000
"""more steps than this are refused: an hour and more"""


class RunPlan(NamedTuple):
    """A setting as numbers."""

    steps: int
    alpha: float
    eta: float
    gamma: float


class FiniteSumAlgorithm(Algorithm):
    """An algorithm on a finite sum; subclasses define its settings, calibration and steps."""

    noise: bool = True
    """false: the noise-free twin, which keeps the schedule of its target"""
    epochs: Count | None = None
    """passes over the records, where `run.n` gives no steps and the schedule prescribes none"""

    estimators: ClassVar[tuple[str, ...]] = ("last",)
    metrics: ClassVar[tuple[str, ...]] = (
        "param_norm_sq", "objective", "grad_norm", "mean_grad_norm", "direction_error", "lemma5_slack",
    )  # fmt: skip
    runs_on: ClassVar[tuple[type, ...]] = (FiniteSum,)
    microseconds: ClassVar[float] = 1.0
    """a step, for d = 10"""
    smoke_size: ClassVar[tuple[int, int]] = (40, 2)
    witnesses: ClassVar[int] = 1
    """settings fill the lanes, so that every replicate takes its time"""

    def plan(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> RunPlan:
        """Steps, momentum, step size and mixing weight of a run of n steps."""
        raise NotImplementedError

    def stepper(
        self, problem: FiniteSum, plan: RunPlan, budget: Budget, seed: int, replicate: int, data: Data
    ) -> Momentum | Stepper:
        """A run at its start, with its noise calibrated."""
        raise NotImplementedError

    def prescribed(self, problem: FiniteSum, budget: Budget) -> Prescription | None:
        """What the algorithm's theorem prescribes; None where it has none or the budget is no finite target."""
        return None

    def mu(self, budget: Budget) -> float:
        """The Gaussian-DP budget of the whole run; inf without noise."""
        return budget.largest if self.noise else math.inf

    def passes(self, problem: FiniteSum) -> int:
        """Steps in an epoch."""
        return problem.count

    def steps(self, problem: FiniteSum, schedule: Schedule, budget: Budget) -> int:
        """The number of steps where the config leaves it out: the theorem's, or `epochs` passes."""
        if schedule.name == "prescribed":
            theory = self.prescribed(problem, budget)
            return theory.steps if theory else 1
        return (self.epochs or 1) * self.passes(problem)

    def seconds(self, problem: FiniteSum, n: int) -> float:
        return n * self.microseconds * (0.45 + 0.055 * problem.dimension) * 1e-6 + looking_seconds(problem, n)

    def side_by_side(self, problem: FiniteSum, n: int) -> int:
        """How many runs are stepped side by side, in the lanes of `dpexp.engine.lanes`."""
        return self.lanes

    def memory(self, problem: FiniteSum, n: int, checkpoints: int, settings: int) -> int:
        """Bytes that a worker holds at once, without the records: the runs that are stepped together, and metrics."""
        # The order of a run takes one number a step, the sensitivity of one order eleven more. Looks hold the records a
        # second time, and a third while these are made.
        d, records, runs = problem.dimension, problem.count, self.side_by_side(problem, n)
        return 8 * ((11 + runs) * n + 2 * records * (d + 2) + 4 * 65536 + 8192 * d + 20 * d * runs)

    def complaints(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """What makes a setting infeasible, with the numbers."""
        faults = []
        if budget.constant is None:
            faults.append("all records share one noise: give one mu (or eps and delta) for every record")
        # what a theorem prescribes is not for a budget that it does not speak of
        if schedule.name == "prescribed":
            theory = self.prescribed(problem, budget)
            if theory is None:
                return ["a prescribed schedule needs a finite target, for instance privacy: {eps: 1, delta: 1e-5}"]
            length = f"T = {theory.steps:.4g}, {theory.steps / problem.count:.3g} epochs of {problem.count:,} records"
            if not theory.feasible:
                faults.append(f"infeasible schedule: {theory.refused} ({length})")
            if n != theory.steps:
                faults.append(f"run.n = {n:,} is not the prescribed {length}; leave it out")
        elif self.epochs is not None and n != self.epochs * self.passes(problem):
            faults.append(f"run.n = {n:,} and {self.epochs} epochs contradict each other; give one")
        if n > MOST_STEPS:
            faults.append(f"{n:.4g} steps are beyond reach: at most {MOST_STEPS:,} are run (N = {problem.count:,})")
        return faults

    def simulate(
        self, problem: FiniteSum, settings: Settings, steps: np.ndarray, seed: int, replicates: Sequence[int]
    ) -> Passed:
        """Run every setting and replicate, with metrics at `steps`; see `dpexp.engine.finite_sum.following`."""
        from dpexp.engine.finite_sum.following import SLACK, follow_all
        from dpexp.engine.finite_sum.looking import Data

        steps = np.asarray(steps, dtype=np.int64)
        data = Data(problem.record_loss, *problem.records, problem.constants)
        values = np.empty((len(settings), 1, len(steps), len(self.metrics), len(replicates)))
        last = np.empty((len(settings), 1, len(replicates), problem.dimension))
        plans = [self.plan(problem, schedule, budget, int(steps[-1])) for schedule, budget in settings]
        runs = [(r, s) for r in range(len(replicates)) for s in range(len(settings))]
        group = self.side_by_side(problem, int(steps[-1]))
        for first in range(0, len(runs), group):
            few = runs[first : first + group]
            steppers = [self.stepper(problem, plans[s], settings[s][1], seed, replicates[r], data) for r, s in few]
            # lanes hold runs of several settings and replicates: no lane is idle where there are few of either
            eta = np.array([plans[s].eta for _, s in few])
            followed = follow_all(steppers, data, steps, eta, problem.smoothness, SLACK in self.metrics)
            for (r, s), row, w in zip(few, *followed, strict=True):
                values[s, 0, :, :, r], last[s, 0, r] = row[:, : len(self.metrics)], w
        return Passed(steps, self.estimators, self.metrics, values, last)


def gradient_seconds(problem: FiniteSum) -> float:
    """Estimated seconds of a full gradient."""
    return 4e-6 + problem.count * (5 + 0.35 * problem.dimension) * 1e-9


def looking_seconds(problem: FiniteSum, n: int) -> float:
    """Estimated seconds of what `dpexp.engine.finite_sum.following` looks at: a gradient, and a loss one step later."""
    return 1.6 * min(n, 200, max(40, 8 * n // problem.count)) * gradient_seconds(problem)


@kept_per_thread(1)
def drawn_order(seed: int, replicate: int, n: int, steps: int, order: str) -> Order:
    """One permutation that repeats, or a fresh one in every epoch."""
    from dpexp.engine.finite_sum.momentum_loop import Order

    # drawn before the run, from the role `order`, so that no order follows from the data
    rng = generator(seed, replicate, "order")
    if order == "fixed":
        return Order(rng.permutation(n), True)
    return Order(reshuffled_order(rng, n, steps), False)
