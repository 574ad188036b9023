"""The full-batch form of the idea behind Algorithm 2 of `momentum`: most of a gradient is the one before.

    e_t = (1 - gamma)(e_{t-1} + grad F(w_t) - grad F(w_{t-1})) + gamma grad F(w_t) + s z_t,   w <- w - eta e_t / |e_t|

A step of length eta changes a gradient by at most L eta, so that replacing a record moves what is added by at most
(2 L eta (1 - gamma) + 2 gamma G) / N, in the first step by 2 G / N.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm, RunPlan, gradient_seconds, looking_seconds
from dpexp.algorithms.schedules import Schedule
from dpexp.core.parameters import Share
from dpexp.core.seeds import generator
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.mechanisms.momentum import NoisyGradientRecursion, recursion_stds
from dpexp.problems.finite_sum import FiniteSum

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.following import Stepper
    from dpexp.engine.finite_sum.looking import Data


class GradientRecursion(FiniteSumAlgorithm):
    """Full batches with a recursive estimate of the gradient."""

    name: Literal["gradient-recursion"] = "gradient-recursion"
    gamma: Share | None = None
    """weight of the newest gradient; min(1/2, L eta / G) where it is left out"""

    schedules: ClassVar[tuple[str, ...]] = ("path-length", "constant")

    def passes(self, problem: FiniteSum) -> int:
        return 1

    def complaints(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = super().complaints(problem, schedule, budget, n)
        gamma = self.plan(problem, schedule, budget, n).gamma
        # 1 - (1 - gamma)^2 would keep too few digits to split the budget by
        if gamma < 1e-6:
            faults.append(f"the newest gradient's weight gamma = {gamma:.3g} is too small: at least 1e-6 is needed")
        return faults

    def plan(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> RunPlan:
        # by a step a gradient changes by at most L eta; a fresh one has the size G
        eta = schedule.step_size(n)
        return RunPlan(n, 1.0, eta, self.gamma or min(0.5, problem.smoothness * eta / problem.lipschitz))

    def seconds(self, problem: FiniteSum, n: int) -> float:
        return n * gradient_seconds(problem) + looking_seconds(problem, n)

    def stepper(
        self, problem: FiniteSum, plan: RunPlan, budget: Budget, seed: int, replicate: int, data: Data
    ) -> Stepper:
        from dpexp.engine.finite_sum.batch_steps import RecursionSteps

        mu, stds = self.mu(budget), (0.0, 0.0)
        if math.isfinite(mu):
            # of the noise on the first gradient and on later changes, proportional to 1 / mu
            size = problem.count, problem.lipschitz, problem.smoothness
            first, later = recursion_stds(*size, plan.steps, plan.eta, plan.gamma)
            stds = first / mu, later / mu
        noise = generator(seed, replicate, "noise")
        return RecursionSteps(data, problem.start(), noise, plan.gamma, plan.eta, *stds)

    def mechanism(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> Stated:
        mu, plan = self.mu(budget), self.plan(problem, schedule, budget, n)
        mechanism = NoisyGradientRecursion.model_validate(
            {"n": problem.count, "steps": n, "step_size": plan.eta, "weight": plan.gamma}
            | {"lipschitz": problem.lipschitz, "smoothness": problem.smoothness}
            | {"sigma": 0.0 if math.isinf(mu) else 1 / mu}
        )
        return Stated("gradient-recursion", mechanism, "exact-sensitivities")
