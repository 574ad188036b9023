"""What Algorithms 1 and 2 of `momentum` share: a theorem's schedule and multiplier, and how they are stated."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm, RunPlan
from dpexp.algorithms.schedules import Schedule
from dpexp.core.parameters import Share
from dpexp.core.text import up
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.mechanism import Mechanism, Stated
from dpexp.problems.finite_sum import FiniteSum
from dpexp.theory.momentum.momentum_formulas import Prescription


class PrintedFormulas(NamedTuple):
    """What the paper prints for an algorithm."""

    schedule: Callable[[int, int, float, float], Prescription]
    """of (N, d, eps, delta): T, alpha, eta and gamma"""
    sigma: Callable[[float, float], float]
    """of (eps, delta): the multiplier"""
    streams: int
    """releases: the multiplier sigma is sqrt(streams) / sigma-GDP"""


class PrivateMomentum(FiniteSumAlgorithm):
    """A momentum of one record a step with noise; subclasses name their theorem and make the noise."""

    calibration: Literal["exact", "paper"] = "exact"
    """what is released in the order in use and Gaussian conversion, or sensitivities, counts and sigma as printed"""
    alpha: Share | None = None
    """weight of the newest gradient; 1 / N where it is left out"""

    schedules: ClassVar[tuple[str, ...]] = ("prescribed", "path-length", "constant")
    printed: ClassVar[PrintedFormulas]
    released: ClassVar[type[Mechanism]]
    """the mechanism that the algorithm is"""

    def prescribed(self, problem: FiniteSum, budget: Budget) -> Prescription | None:
        # theorems are stated for (eps, delta)
        if budget.target is None or math.isinf(budget.target[0]):
            return None
        return self.printed.schedule(problem.count, problem.dimension, *budget.target)

    def plan(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> RunPlan:
        theory = self.prescribed(problem, budget) if schedule.name == "prescribed" else None
        if theory is not None:
            # printed weights may exceed 1 where N is small, and then mean the newest gradient alone
            return RunPlan(n, min(1.0, theory.alpha), theory.eta, min(1.0, theory.gamma))
        eta = schedule.step_size(n)
        return RunPlan(n, self.alpha or 1 / problem.count, eta, self.mixing(problem, eta))

    def mixing(self, problem: FiniteSum, eta: float) -> float:
        """gamma where no theorem prescribes it; 1 without streams to mix."""
        return 1.0

    def printed_sigma(self, budget: Budget) -> float:
        """The theorem's multiplier for a target; sqrt(streams) / mu for a budget that is no target."""
        if budget.target is None:
            return math.sqrt(self.printed.streams) / budget.largest
        return self.printed.sigma(*budget.target)

    def mechanism(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> Stated:
        plan, mu = self.plan(problem, schedule, budget, n), self.mu(budget)
        sigma = 0.0 if math.isinf(mu) else self.printed_sigma(budget) if self.calibration == "paper" else 1 / mu
        own = self.own_settings(problem, plan)
        # all that the accounting asks for, as plain numbers: it never sees the problem
        numbers = {"n": problem.count, "steps": n, "momentum": plan.alpha, "lipschitz": problem.lipschitz}
        released = self.released.model_validate(numbers | {"sigma": sigma, "calibration": self.calibration} | own)
        accountant = "certified-iterates" if own.get("accounting") == "iterates" else "exact-sensitivities"
        return Stated(self.name, released, accountant, f"{accountant}, noise as {self.calibration}")

    def complaints(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """Among them printed noise that does not meet the budget, where its theorem does not hold."""
        faults = super().complaints(problem, schedule, budget, n)
        if faults or self.calibration == "exact" or not self.noise:
            return faults
        # printed noise is held to what it is proved to be here, and not to what the theorem says of it
        analysis = self.mechanism(problem, schedule, budget, n).analysis
        if not analysis.valid or (analysis.mu or 0.0) <= budget.largest * (1 + 1e-9):
            return faults
        spent = f"the printed noise is {up(analysis.mu or 0.0)}-GDP by {analysis.name}, and {budget.label} allows"
        return [f"{spent} {budget.largest:.5g} (n = {n} on {problem.count} records): give `calibration: exact`"]

    def own_settings(self, problem: FiniteSum, plan: RunPlan) -> dict[str, Any]:
        """What else the mechanism of this algorithm takes."""
        raise NotImplementedError
