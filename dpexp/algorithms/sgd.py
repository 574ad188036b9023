"""Plain SGD on softmax regression, without privacy: what `dp-sgld` calls No DP."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.schedules import Schedule
from dpexp.algorithms.softmax_runs import BatchNoise, SoftmaxAlgorithm
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.epoch_gaussian import called, noisy_batches
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.problems.softmax import Softmax


class Sgd(SoftmaxAlgorithm):
    """theta_{k+1} = theta_k - eta_k ((1/m) sum_{B_k} grad l + lambda theta_k), theta_0 = 0."""

    name: Literal["sgd"] = "sgd"
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """a step repeats this share of the one before it (heavy ball)"""

    estimators: ClassVar[tuple[str, ...]] = ("last", "average")

    def complaints(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = super().complaints(problem, schedule, budget, n)
        # a config with a budget would read as a promise
        if budget.constant is None or math.isfinite(budget.constant):
            faults.append("plain sgd has no privacy: write privacy: {eps: inf}, or take dp-sgd or dp-sgld")
        return faults

    def noise(self, problem: Softmax, schedule: Schedule, budget: Budget, sizes: np.ndarray) -> BatchNoise:
        return BatchNoise(momentum=self.momentum)

    def mechanism(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> Stated:
        # how batches are drawn decides which neighbours are meant, even where nothing is promised
        share, by_epochs = self.batch_size / problem.n, self.by_epochs(problem.n)
        released = noisy_batches(self.sampling, share, n, 0.0, by_epochs)
        return Stated(called(released), released, "no-noise", "none", False)
