"""Private regression with intervals: `staged-newton` and its ancestor `one-step`, on simulated users.

`dpexp.inference.staged_newton` holds the method, `dpexp.inference.refusals` its rules. Here it meets users whose law is
known, so that it can be counted how often its intervals cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.covering import Covering
from dpexp.core.parameters import Positive
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.inference.interval import Interval
    from dpexp.inference.models import Model
    from dpexp.inference.populations import Population


class StagedNewton(Covering):
    """Three stages of noisy gradients and Hessians with Newton jumps, and an interval for every coordinate."""

    name: Literal["staged-newton"] = "staged-newton"
    every: Annotated[int, Field(ge=2, le=20)] = 5
    """every k-th user sends a Hessian"""
    guess: Positive = 1.0
    """the public guess of the curvature over the true one"""
    balanced: bool = False
    """whether Hessian messages multiply the row of the scale so that noise is spent evenly, as `dpexp fit` does"""

    estimators: ClassVar[tuple[str, ...]] = ("staged-newton", "one-step")
    schedules: ClassVar[tuple[str, ...]] = ("prescribed",)

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        """Of one replicate, both estimators; it grows with the p (p + 1) / 2 sums of products."""
        return n * (150 + 6 * problem.p + 0.5 * problem.p**2) * 4e-10

    def of_settings(
        self,
        model: Model,
        law: Population,
        settings: Sequence[tuple[Any, Any]],
        n: int,
        seed: int,
        lanes: Sequence[int],
    ) -> list[list[tuple[Interval, np.ndarray]]]:
        """All settings meet the same users, and so do both estimators."""
        from dpexp.inference.critical_values import normal
        from dpexp.inference.interval import symmetric_interval
        from dpexp.inference.lockstep import Talk, together
        from dpexp.inference.models import balanced, careful
        from dpexp.inference.newton import standard_errors
        from dpexp.inference.one_step import one_step
        from dpexp.inference.populations import SimulatedCrowd
        from dpexp.inference.predicted import guessed_curvature, noise_of
        from dpexp.inference.refusals import after, before
        from dpexp.inference.staged_newton import Design, Server, stages

        model = careful(balanced(model) if self.balanced else model)
        design = Design(n, self.guess * guessed_curvature(model), self.every)
        budgets, start = [budget for _, budget in settings], model.problem.start()
        staged, pilots = [], []
        for number in range(len(settings)):
            server, other = Server(model, start), Server(model, start)
            staged.append(Talk(server, stages(server, design), number))
            pilots.append(Talk(other, one_step(other, design, self.level), number))
        together([staged, pilots], SimulatedCrowd(model, law, budgets, seed, lanes))
        found = []
        for talk, pilot, budget in zip(staged, pilots, budgets, strict=True):
            outcome = talk.result
            half = normal(self.level) * standard_errors(outcome.final.covariance)
            public = before(model, design, noise_of(model, budget.draw((np.arange(10_000) + 0.5) / 10_000, 1)))
            kept = [not (public.reasons or after(model, design, outcome, lane).reasons) for lane in range(len(half))]
            interval = symmetric_interval(outcome.final.theta, half)
            found.append([(interval, np.array(kept)), (pilot.result, np.ones(len(half), dtype=bool))])
        return found
