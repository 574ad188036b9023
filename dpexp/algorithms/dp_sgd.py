"""DP-SGD on softmax regression (Abadi et al., 2016), the comparison of `dp-sgld`.

    theta_{k+1} = theta_k - eta_k ( (1/m) sum_{B_k} clip_C(grad l) + lambda theta_k + (z C / m) N(0, I) ),  theta_0 = 0

All iterates are private, so momentum and the average, which are computed from the same noisy gradients, cost nothing
more. The multiplier z is set for the target by the accountant of the sampling scheme: a privacy
loss distribution for random batches (Poisson as in Opacus, of fixed size, or drawn epoch by epoch), one use an epoch
for shuffled ones.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.accounting.search import rounded_up
from dpexp.algorithms.schedules import Schedule
from dpexp.algorithms.softmax_runs import BatchNoise, SoftmaxAlgorithm, no_target, target
from dpexp.core.parameters import Positive
from dpexp.engine.softmax.softmax_loop import gradient_noise_scale
from dpexp.privacy.budgets import Budget
from dpexp.privacy.calibration import calibrate
from dpexp.privacy.mechanisms.epoch_gaussian import EpochGaussian, called, noisy_batches
from dpexp.privacy.mechanisms.langevin import sampling_complaints
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.problems.softmax import Softmax

ANALYSES = {"pld": "pld-composition", "once-an-epoch": "gaussian-composition"}
"""accountant -> the analysis of the mechanism of its sampling"""


class DpSgd(SoftmaxAlgorithm):
    """Per-example clipping at `clip`, noise z clip on the sum of a batch."""

    name: Literal["dp-sgd"] = "dp-sgd"
    accountant: Literal["pld", "once-an-epoch"] = "pld"
    clip: Positive = 1.0
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """a step repeats this share of the one before it (heavy ball)"""

    estimators: ClassVar[tuple[str, ...]] = ("last", "average")

    def complaints(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        wrong = sampling_complaints(problem.n, self.batch_size, self.sampling, self.accountant)
        # several rules may say the same of a batch that is too large: each sentence once
        return list(dict.fromkeys([*no_target(budget), *super().complaints(problem, schedule, budget, n), *wrong]))

    def multiplier(self, problem: Softmax, budget: Budget, n: int) -> float:
        """z for the target; 0 without privacy."""
        eps, delta = target(budget)
        return 0.0 if math.isinf(eps) else _multiplier(self, problem.n, n, eps, delta)

    def mechanism(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> Stated:
        released = self._released(problem.n, n, self.multiplier(problem, budget, n))
        name = self._analysis(problem.n) if released.noise_multiplier else "no-noise"
        return Stated(called(released), released, name, self.accountant, released.noise_multiplier > 0)

    def noise(self, problem: Softmax, schedule: Schedule, budget: Budget, sizes: np.ndarray) -> BatchNoise:
        # z is of the sum of clipped gradients; what is added is of the parameter
        z = self.multiplier(problem, budget, len(sizes))
        scale = gradient_noise_scale(sizes, z, self.clip, self.batch_size) if z else None
        return BatchNoise(clip=self.clip, scale=scale, momentum=self.momentum)

    def _analysis(self, records: int) -> str:
        """The analysis that sets the noise."""
        # where every batch is all of the data, or of the group in turn, nothing is random but the noise
        all_of_them = (self.groups or 1) * self.batch_size == records
        return ANALYSES["once-an-epoch" if all_of_them else self.accountant]

    def _released(self, records: int, n: int, multiplier: float) -> SampledGaussian | EpochGaussian:
        return noisy_batches(self.sampling, self.batch_size / records, n, multiplier, self.by_epochs(records))


@lru_cache(maxsize=256)
def _multiplier(algorithm: DpSgd, records: int, n: int, eps: float, delta: float) -> float:
    # the kind of mechanism depends on the sampling alone, so one with any noise says which
    kind = type(algorithm._released(records, n, 1.0))
    solution = calibrate(
        lambda z: algorithm._released(records, n, z), kind, lambda analysis: analysis.eps(delta), eps,
        "all-iterates", algorithm._analysis(records),
    )  # fmt: skip
    return rounded_up(solution.value)
