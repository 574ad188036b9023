"""What a practitioner would use instead of `momentum`: noisy gradient descent with full batches, or DP-SGD.

    w <- w - eta (sum over the batch of grad f + sigma G z) / (q N),   z standard normal

with all records (q = 1) or each independently with probability q (Poisson); sigma is calibrated by the exact
composition of Gaussians or by privacy loss distributions, both for replaced records.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from dpexp.accounting.search import raised, rounded_up
from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm, RunPlan, gradient_seconds, looking_seconds
from dpexp.algorithms.schedules import Schedule
from dpexp.core.seeds import generator
from dpexp.privacy.budgets import Budget
from dpexp.privacy.calibration import calibrate
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.problems.finite_sum import FiniteSum

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.following import Stepper
    from dpexp.engine.finite_sum.looking import Data


class BatchDescent(FiniteSumAlgorithm):
    """Noisy gradient descent; gradients need no clipping, because G bounds them."""

    name: Literal["batch-descent"] = "batch-descent"
    sampling_rate: Annotated[float, Field(ge=1e-6, le=1)] = 1.0
    """q: 1 takes all records, less draws a Poisson sample in every step"""

    metrics: ClassVar[tuple[str, ...]] = FiniteSumAlgorithm.metrics[:-1]
    schedules: ClassVar[tuple[str, ...]] = ("constant",)

    def passes(self, problem: FiniteSum) -> int:
        return max(1, round(1 / self.sampling_rate))

    def plan(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> RunPlan:
        return RunPlan(n, 1.0, schedule.step_size(n), 1.0)

    def seconds(self, problem: FiniteSum, n: int) -> float:
        return n * self.sampling_rate * gradient_seconds(problem) + looking_seconds(problem, n)

    def complaints(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = super().complaints(problem, schedule, budget, n)
        # their privacy loss is that of a mixture, which has no mu that is tight at every delta
        if self.sampling_rate < 1 and math.isfinite(self.mu(budget)) and budget.target is None:
            faults.append(
                f"Poisson samples (sampling_rate = {self.sampling_rate:g}) are accounted at one delta, which is not "
                "mu-GDP: write privacy: {eps: 1, delta: 1e-5} in place of mu, or sampling_rate: 1"
            )
        return faults

    def multiplier(self, steps: int, budget: Budget) -> float:
        """sigma, the noise on the sum over G, with which the ledger states no more than the budget; 0 without noise."""
        mu = self.mu(budget)
        if math.isinf(mu):
            return 0.0
        eps, delta = budget.target or (math.inf, 1.0)
        return _multiplier(self, steps, mu, eps, delta)

    def released(self, steps: int, sigma: float) -> SampledGaussian:
        """What a run of so many steps with noise sigma releases."""
        return SampledGaussian(
            noise_multiplier=sigma,
            sampling_probability=self.sampling_rate,
            steps=steps,
            sampling="full-batch" if self.sampling_rate == 1 else "poisson",
            neighboring_relation="replace-one",
        )

    @property
    def accountant(self) -> str:
        """The analysis that noise is set by and the ledger states."""
        return "gaussian-composition" if self.sampling_rate == 1 else "pld-composition"

    def stepper(
        self, problem: FiniteSum, plan: RunPlan, budget: Budget, seed: int, replicate: int, data: Data
    ) -> Stepper:
        from dpexp.engine.finite_sum.batch_steps import DescentSteps

        noise, sampling = generator(seed, replicate, "noise"), generator(seed, replicate, "order")
        # the noise is on the sum of gradients, which is then divided by q N
        q = self.sampling_rate
        std = self.multiplier(plan.steps, budget) * problem.lipschitz / (q * problem.count)
        return DescentSteps(data, problem.start(), noise, sampling, q, plan.eta, std)

    def mechanism(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> Stated:
        released = self.released(n, self.multiplier(n, budget))
        return Stated("sampled-gaussian", released, self.accountant if released.noise_multiplier else "no-noise")


@lru_cache(maxsize=512)
def _multiplier(algorithm: BatchDescent, steps: int, mu: float, eps: float, delta: float) -> float:
    """The least multiplier with which the ledger states the budget; of samples to a relative 1e-6, from above."""
    if algorithm.sampling_rate < 1:
        # a bound for the last iterate alone would not cover what the run shows
        solution = calibrate(
            lambda sigma: algorithm.released(steps, sigma), SampledGaussian, lambda analysis: analysis.eps(delta), eps,
            "all-iterates", algorithm.accountant,
        )  # fmt: skip
        return rounded_up(solution.value)

    def excess(sigma: float) -> float:
        analyses = algorithm.released(steps, sigma).upper_bounds()
        (analysis_used,) = (analysis for analysis in analyses if analysis.name == algorithm.accountant)
        # a budget that is no target is met as mu
        spent = math.inf if analysis_used.mu is None else analysis_used.mu
        return spent - mu if math.isinf(eps) else analysis_used.eps(delta) - eps

    # replacing a record moves a sum by 2 G; raised until rounding spends no more
    return raised(2 * math.sqrt(steps) / mu, excess, 0.0)
