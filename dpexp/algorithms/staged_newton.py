"""Private regression with intervals in the local model, as `dpexp fit` runs it, on simulated users.

`dpexp.inference.staged_newton` holds the method, `dpexp.inference.fitting` what a fit shows. Here it meets users whose
law is known, so that it can be counted how often its intervals cover.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.covering import GRID, Coverage, FitCoverage, LaneIntervals, Trial, shown
from dpexp.core.parameters import Positive
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule
    from dpexp.inference.fitting import Planned
    from dpexp.inference.models import Model
    from dpexp.inference.staged_newton import Design
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
    from dpexp.privacy.mechanisms.mechanism import Stated


class StagedNewton(FitCoverage):
    """Three stages of noisy gradients and Hessians with Newton jumps, and an interval for every coordinate."""

    name: Literal["staged-newton"] = "staged-newton"
    every: Annotated[int, Field(ge=0, le=20)] = 0
    """every k-th user sends a Hessian, from 2; 0: as the plan finds best"""
    guess: Positive = 1.0
    """times the public guess of the curvature, from which the first steps follow"""
    messages: Literal["gaussian", "caps"] = "gaussian"
    """`caps`: with delta = 0, by cap sampling; epsilon is the one whose messages are mu-GDP and not less"""
    weights: Literal["budget", "equal", "rising"] = "budget"
    """of users whose budgets differ; `rising`: equal, and users whose outcome is below its centre have half of it"""

    estimators: ClassVar[tuple[str, ...]] = ("staged-newton",)

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        """Of one replicate."""
        # it grows with the p (p + 1) / 2 sums of products; caps are sampled one by one
        return n * (150 + 6 * problem.p + 0.5 * problem.p**2) * (3e-9 if self.messages == "caps" else 3e-10)

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        own = self.held(problem, n) if self.messages == "caps" or self.persons else 0
        return super().memory(problem, n, checkpoints, settings) + own

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        found = super().complaints(problem, schedule, budget, n)
        if self.every == 1:
            found.append("if every user sends a Hessian nobody sends a gradient: every is 2 or more, or 0")
        if self.messages == "caps" and not (budget.constant and budget.constant <= 8):
            found.append("messages by caps need one budget for all users, mu of at most 8")
        if self.weights == "rising" and not (self.messages == "gaussian" and problem.has_scale):
            found.append("budgets that rise are tried with Gaussian messages and a scale that is estimated")
        if self.persons and not (budget.constant and self.weights == "budget"):
            found.append("persons are tried with one budget for all")
        return found

    def mechanism(
        self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int
    ) -> LocalGaussian | Stated:
        """What one user sends."""
        # of caps the statement is that of a gradient: at delta > 0 that of a Hessian, of more dimensions, is less
        if self.messages == "gaussian":
            return super().mechanism(problem, schedule, budget, n)
        from dpexp.privacy.mechanisms.cap_sampling import CapSampling
        from dpexp.privacy.mechanisms.mechanism import Stated

        return Stated("cap-sampling", CapSampling(pure_eps=_eps(budget), dimension=problem.p), "cap-sampling")

    def model(self, problem: LinearPredictorProblem, budget: Budget) -> Model:
        from dpexp.inference.pure_messages import pure

        model = super().model(problem, budget)
        return pure(model, _eps(budget)) if self.messages == "caps" else model

    def noise(self, model: Model, budget: Budget, n: int) -> float:
        from dpexp.inference.users import noise_of

        return noise_of(model, self.budgets(budget), self.weights != "budget").gradients

    def budgets(self, budget: Budget) -> np.ndarray:
        """The law of budgets of users."""
        drawn = budget.draw(GRID, 1)
        # half of the users have an outcome below its centre, since its law is symmetric
        return np.append(drawn, drawn / 2) if self.weights == "rising" else drawn

    def plan(self, model: Model, budget: Budget, n: int) -> tuple[Planned, Design]:
        """What is public before anybody is asked."""
        from dpexp.inference.fitting import plan_local

        planned = plan_local(model, self.budgets(budget), n, self.weights != "budget")
        planned = replace(planned, every=self.every or planned.every)
        return planned, replace(planned.design, curvature=self.guess * planned.design.curvature)

    def intervals(self, model: Model, trial: Trial, schedule: Any, budget: Any) -> list[LaneIntervals | Coverage]:
        from dpexp.core.seeds import generator
        from dpexp.inference.fitting import fit_local, of_outcome
        from dpexp.inference.simulated import Simulated
        from dpexp.inference.staged_newton import staged_newton
        from dpexp.inference.targets import target_of

        seed, lanes = trial.seed, trial.lanes
        planned, design = self.plan(model, budget, trial.n)
        if self.messages == "caps" or trial.persons:
            # caps are sampled one by one, and persons hold rows of their own number: neither lies side by side in lanes
            mu = np.full(trial.n, 1.0 if self.messages == "caps" else budget.constant)
            fits = [
                fit_local(planned, x, y, mu, generator(seed, lane, "noise").standard_normal, owners)
                for lane, (x, y, owners) in zip(lanes, trial.tables, strict=True)
            ]
        else:
            users = Simulated(
                planned.model, trial.problem, budget, seed, lanes, self.weights == "budget", self.weights == "rising"
            )
            outcome = staged_newton(planned.model, design, model.problem.start(), users)
            fits = [of_outcome(planned, design, outcome, lane) for lane in range(len(lanes))]
        return [shown(fits, target_of(trial.problem, trial.persons).theta, self.level)]


def _eps(budget: Budget) -> float:
    """The largest epsilon whose messages are mu-GDP, for everybody's mu."""
    # the inverse of `cap_sampling.gaussian_mu`
    from scipy.special import log_ndtr

    half = (budget.constant or math.inf) / 2
    return float(log_ndtr(half) - log_ndtr(-half))
