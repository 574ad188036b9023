"""Private regression with intervals in the local model, as `dpexp fit` runs it, on simulated users of a known law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.covering import GRID, FitCoverage, Trial
from dpexp.algorithms.one_pass import capped_messages
from dpexp.algorithms.schedules import Schedule
from dpexp.core.parameters import Positive
from dpexp.inference.models import Model
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.inference.fitting import Fitted, Planned
    from dpexp.inference.staged_newton import Design


class StagedNewton(FitCoverage):
    """Three stages of noisy gradients and Hessians with Newton jumps, and an interval for every coordinate."""

    name: Literal["staged-newton"] = "staged-newton"
    every: Annotated[int, Field(ge=0, le=20)] = 0
    """every k-th user sends a Hessian, from 2; 0: as the plan finds best"""
    guess: Positive = 1.0
    """times the public guess of the curvature, from which the first steps follow"""
    weights: Literal["budget", "equal", "rising"] = "budget"
    """of users whose budgets differ; `rising`: equal, and users whose outcome is below its centre have half of it"""

    pure_budgets: ClassVar[bool] = True
    estimators: ClassVar[tuple[str, ...]] = ("staged-newton",)

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        # it grows with the p (p + 1) / 2 sums of products
        return n * (150 + 6 * problem.p + 0.5 * problem.p**2) * 3e-10

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = super().complaints(problem, schedule, budget, n)
        if self.every == 1:
            faults.append("if every user sends a Hessian, no user sends a gradient: every must be 2 or more, or 0")
        if self.weights == "rising" and (budget.pure_eps is not None or not problem.has_scale):
            faults.append("budgets that rise are tried with Gaussian messages and a scale that is estimated")
        if self.persons and not (budget.constant and self.weights == "budget"):
            faults.append("persons are tried with one budget for all")
        return faults

    def mechanism(
        self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int
    ) -> LocalGaussian | Stated:
        # by cap sampling that of a gradient: at delta > 0 that of a Hessian, of more dimensions, is less
        capped = budget.pure_eps
        return super().mechanism(problem, schedule, budget, n) if capped is None else capped_messages(problem, capped)

    def model(self, problem: LinearPredictorProblem, budget: Budget) -> Model:
        from dpexp.inference.pure_messages import pure

        model = super().model(problem, budget)
        return model if budget.pure_eps is None else pure(model, budget.pure_eps)

    def noise(self, model: Model, budget: Budget, n: int) -> float:
        from dpexp.inference.user_blocks import noise_of

        return noise_of(model, self.budgets(budget), self.weights != "budget").gradients

    def budgets(self, budget: Budget) -> np.ndarray:
        """The law of budgets of users."""
        if budget.pure_eps is not None:
            return np.ones(1)  # messages by cap sampling have their own noise
        drawn = budget.draw(GRID, 1)
        # half of the users have an outcome below its centre, since its law is symmetric
        return np.append(drawn, drawn / 2) if self.weights == "rising" else drawn

    def plan(self, model: Model, budget: Budget, n: int) -> tuple[Planned, Design]:
        """What is public before anybody is asked."""
        from dpexp.inference.fitting import plan_local

        planned = plan_local(model, self.budgets(budget), n, self.weights != "budget")
        planned = replace(planned, every=self.every or planned.every)
        return planned, replace(planned.design, curvature=self.guess * planned.design.curvature)

    def fits(self, model: Model, trial: Trial, budget: Any) -> Sequence[Fitted]:
        from dpexp.inference.fitting import fit_local, of_outcome
        from dpexp.inference.simulated import Simulated
        from dpexp.inference.staged_newton import staged_newton

        planned, design = self.plan(model, budget, trial.n)
        pure = budget.pure_eps is not None
        if pure or trial.persons:
            # caps are sampled one by one, and persons hold rows of their own number: neither lies side by side in lanes
            mu = np.full(trial.n, 1.0 if pure else budget.constant)
            return [
                fit_local(planned, x, y, mu, trial.normals(lane), owners)
                for lane, (x, y, owners) in zip(trial.lanes, trial.tables, strict=True)
            ]
        options = trial.seed, trial.lanes, self.weights == "budget", self.weights == "rising"
        users = Simulated(planned.model, trial.problem, budget, *options)
        outcome = staged_newton(planned.model, design, model.problem.start(), users)
        return [of_outcome(planned, design, outcome, lane) for lane in range(len(trial.lanes))]
