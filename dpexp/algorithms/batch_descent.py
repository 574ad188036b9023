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

from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm, Plan, step_size
from dpexp.problems.finite_sum import FiniteSum

if TYPE_CHECKING:
    from dpexp.engine.following import Stepper
    from dpexp.engine.momentum import Data
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.stated import Stated
    from dpexp.schedules import Schedule


class BatchDescent(FiniteSumAlgorithm):
    """Noisy gradient descent; gradients need no clipping, because G bounds them."""

    name: Literal["batch-descent"] = "batch-descent"
    sampling_rate: Annotated[float, Field(ge=1e-6, le=1)] = 1.0
    """q: 1 takes all records, less draws a Poisson sample in every step"""

    metrics: ClassVar[tuple[str, ...]] = FiniteSumAlgorithm.metrics[:-1]
    schedules: ClassVar[tuple[str, ...]] = ("constant",)

    def passes(self, problem: FiniteSum) -> int:
        return max(1, round(1 / self.sampling_rate))

    def plan(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> Plan:
        return Plan(n, 1.0, step_size(schedule, n), 1.0)

    def complaints(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        from dpexp.privacy.gdp import eps_of

        found, mu = super().complaints(problem, schedule, budget, n), self.mu(budget)
        delta = getattr(budget, "delta", 1e-5)
        if self.sampling_rate < 1 and not math.isinf(mu) and eps_of(mu, delta) < 1e-6:
            found.append(f"mu = {mu:g} is epsilon 0 at delta = {delta:g}, to which no noise on samples can be set")
        return found

    def seconds(self, problem: FiniteSum, n: int) -> float:
        return (n * self.sampling_rate + 2 * min(n, 200)) * problem.count * 0.06e-6 * (0.4 + 0.06 * problem.dimension)

    def multiplier(self, steps: int, budget: Budget) -> float:
        """sigma, the noise on the sum over G; 0 without noise."""
        mu = self.mu(budget)
        if math.isinf(mu):
            return 0.0
        if self.sampling_rate == 1:
            return 2 * math.sqrt(steps) / mu
        delta = getattr(budget, "delta", 1e-5)
        return poisson_multiplier(self.sampling_rate, steps, mu, delta)

    def stepper(self, problem: FiniteSum, plan: Plan, budget: Budget, seed: int, replicate: int, data: Data) -> Stepper:
        from dpexp.engine import batch_descent
        from dpexp.seeds import generator

        noise, sampling = generator(seed, replicate, "noise"), generator(seed, replicate, "order")
        q = self.sampling_rate
        std = self.multiplier(plan.steps, budget) * problem.lipschitz / (q * problem.count)
        return batch_descent.BatchDescent(data, problem.start(), noise, sampling, q, plan.eta, std)

    def mechanism(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> Stated:
        from dpexp.privacy.mechanisms import MECHANISMS
        from dpexp.privacy.stated import Stated

        full, sigma = self.sampling_rate == 1, self.multiplier(n, budget)
        mechanism = MECHANISMS["sampled-gaussian"].model_validate(
            {
                "noise_multiplier": sigma,
                "sampling_probability": self.sampling_rate,
                "steps": n,
                "sampling": "full-batch" if full else "poisson",
                "neighboring_relation": "replace-one",
            }
        )
        accountant = "no-noise" if sigma == 0 else "gaussian-composition" if full else "pld-composition"
        return Stated("sampled-gaussian", mechanism, accountant)


@lru_cache(maxsize=512)
def poisson_multiplier(q: float, steps: int, mu: float, delta: float) -> float:
    """The least multiplier with which T Poisson-sampled steps spend no more than mu-GDP does at delta; from above.

    By privacy loss distributions for replaced records, to a relative 1e-5.
    """
    from scipy.optimize import brentq

    from dpexp.privacy.gdp import eps_of
    from dpexp.privacy.loss_distributions import StepLoss

    target = eps_of(mu, delta)

    def excess(log_sigma: float) -> float:
        spent = StepLoss(q, math.exp(log_sigma), "replace-one").eps(steps, delta)
        return math.log(min(max(spent, 1e-12), 1e12) / target)

    guess = math.log(max(2 * q * math.sqrt(steps) / mu, 0.3))
    low, high = guess - 0.5, guess + 0.5
    while excess(high) > 0:
        high += 0.5
    while excess(low) <= 0:
        low -= 0.5
    x = float(brentq(excess, low, high, xtol=5e-6))
    while excess(x) > 0:
        x += 5e-6
    return math.exp(x)
