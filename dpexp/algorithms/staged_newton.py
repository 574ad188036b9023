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
        return n * (150 + 6 * problem.p + 0.5 * problem.p**2) * 2e-9

    def intervals(
        self, model: Model, law: Population, setting: tuple[Any, Any], n: int, seed: int, lanes: Sequence[int]
    ) -> list[tuple[Interval, np.ndarray]]:
        from dpexp.inference.critical_values import normal
        from dpexp.inference.interval import symmetric_interval
        from dpexp.inference.models import balanced
        from dpexp.inference.newton import standard_errors
        from dpexp.inference.one_step import one_step
        from dpexp.inference.populations import Simulated
        from dpexp.inference.predicted import guessed_curvature, noise_of
        from dpexp.inference.refusals import after, before
        from dpexp.inference.staged_newton import Design, Server, staged_newton

        model = balanced(model) if self.balanced else model
        budget = setting[1]
        design = Design(n, self.guess * guessed_curvature(model), self.every)
        start = model.problem.start()
        outcome = staged_newton(model, design, start, Simulated(model, law, budget, seed, lanes))
        half = normal(self.level) * standard_errors(outcome.final.covariance)
        public = before(model, design, noise_of(model, budget.draw((np.arange(10_000) + 0.5) / 10_000, 1)))
        kept = [not (public.reasons or after(model, design, outcome, lane).reasons) for lane in range(len(half))]
        pilot = one_step(Server(model, start), design, Simulated(model, law, budget, seed, lanes), self.level)
        everyone = np.ones(len(half), dtype=bool)
        return [(symmetric_interval(outcome.final.theta, half), np.array(kept)), (pilot, everyone)]
