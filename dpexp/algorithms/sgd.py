"""Plain SGD on softmax regression, without privacy: what `dp-sgld` calls No DP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpexp.algorithms import softmax_runs
from dpexp.engine.result import Passed
from dpexp.parameters import Count, Parameters
from dpexp.problems.softmax import Softmax

if TYPE_CHECKING:
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.stated import Stated
    from dpexp.schedules import Schedule


class Sgd(Parameters):
    """theta_{k+1} = theta_k - eta_k ((1/m) sum_{B_k} grad l + lambda theta_k), theta_0 = 0."""

    name: Literal["sgd"] = "sgd"
    batch_size: Count = 250
    epochs: Count = 30
    sampling: Literal["poisson", "fixed-size", "shuffled"] = "poisson"

    estimators: ClassVar[tuple[str, ...]] = softmax_runs.ESTIMATORS
    metrics: ClassVar[tuple[str, ...]] = softmax_runs.METRICS
    runs_on: ClassVar[tuple[type, ...]] = (Softmax,)
    schedules: ClassVar[tuple[str, ...]] = ("langevin", "constant")
    smoke_size: ClassVar[tuple[int, int]] = softmax_runs.SMOKE_SIZE

    def steps(self, problem: Softmax, schedule: Schedule, budget: Budget) -> int:
        return softmax_runs.step_count(problem, self.batch_size, self.epochs)

    def seconds(self, problem: Softmax, n: int) -> float:
        return softmax_runs.seconds(problem, self.batch_size, n)

    def complaints(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """A budget, which plain SGD cannot keep, or a batch larger than the data."""
        found = []
        if budget.constant is None or math.isfinite(budget.constant):
            found.append("plain sgd has no privacy: write privacy: {eps: inf}, or take dp-sgd or dp-sgld")
        if self.batch_size > problem.n:
            found.append(f"batch_size = {self.batch_size} is larger than the {problem.n} training records")
        return found

    def mechanism(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> Stated:
        """All iterates without noise."""
        from dpexp.privacy.langevin_accounting import RELATIONS
        from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
        from dpexp.privacy.stated import Stated

        released = SampledGaussian(
            noise_multiplier=0.0,
            sampling_probability=self.batch_size / problem.n,
            steps=n,
            sampling="poisson" if self.sampling == "shuffled" else self.sampling,
            neighboring_relation=RELATIONS[self.sampling],
        )
        return Stated("sampled-gaussian", released, "no-noise", "none", False)

    def simulate(
        self,
        problem: Softmax,
        settings: Sequence[tuple[Schedule, Budget]],
        steps: np.ndarray,
        seed: int,
        replicates: Sequence[int],
    ) -> Passed:
        """Run every schedule on common batches."""
        return softmax_runs.simulate(
            problem,
            settings,
            lambda schedule, budget, sizes: softmax_runs.Noise(),
            self.sampling,
            self.batch_size,
            steps,
            seed,
            replicates,
        )
