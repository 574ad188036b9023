"""Private regression with intervals: `staged-newton` and its ancestor `one-step`, on simulated users.

`dpexp.inference.staged_newton` holds the method, `dpexp.inference.refusals` its rules. Here it meets users whose law is
known, so that it can be counted how often its intervals cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.covering import Covering
from dpexp.core.parameters import Positive
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule
    from dpexp.inference.lockstep import Participant
    from dpexp.inference.methods import Interval
    from dpexp.inference.models import Model
    from dpexp.inference.populations import Budgets, Population
    from dpexp.inference.predicted import Noise
    from dpexp.inference.staged_newton import Design
    from dpexp.privacy.budgets import Budget


class StagedNewton(Covering):
    """Three stages of noisy gradients and Hessians with Newton jumps, and an interval for every coordinate."""

    name: Literal["staged-newton"] = "staged-newton"
    every: Annotated[int, Field(ge=0, le=20)] = 0
    """every k-th user sends a Hessian, from 2; 0: as the plan finds best"""
    guess: Positive = 1.0
    """times the public guess of the curvature, from which the first steps follow"""
    balanced: bool = False
    """whether Hessian messages multiply the row of the scale so that noise is spent evenly, as `dpexp fit` does"""

    estimators: ClassVar[tuple[str, ...]] = ("staged-newton", "one-step")
    schedules: ClassVar[tuple[str, ...]] = ("prescribed",)

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        """Of one replicate, both estimators; it grows with the p (p + 1) / 2 sums of products."""
        return n * (150 + 6 * problem.p + 0.5 * problem.p**2) * 4e-10

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        found = super().complaints(problem, schedule, budget, n)
        if self.every == 1:
            found.append("if every user sends a Hessian nobody sends a gradient: every is 2 or more, or 0")
        return found

    def design(self, model: Model, budget: Budgets, n: int) -> tuple[Design, Noise]:
        """What is public before anybody is asked."""
        from dpexp.inference.models import careful
        from dpexp.inference.predicted import best_every, guessed_curvature, noise_of
        from dpexp.inference.staged_newton import Design

        noise = noise_of(model, budget.draw((np.arange(10_000) + 0.5) / 10_000, 1))
        every = self.every or best_every(careful(model), n, noise)
        return Design(n, self.guess * guessed_curvature(model), every), noise

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
        from dpexp.inference.lockstep import Talk, together
        from dpexp.inference.methods import symmetric_interval
        from dpexp.inference.models import balanced, careful
        from dpexp.inference.newton import standard_errors
        from dpexp.inference.one_step import one_step
        from dpexp.inference.populations import SimulatedCrowd
        from dpexp.inference.refusals import after
        from dpexp.inference.staged_newton import Server, stages

        model = careful(balanced(model) if self.balanced else model)
        budgets, start = [budget for _, budget in settings], model.problem.start()
        designs = [self.design(model, budget, n) for budget in budgets]
        staged, pilots = [], []
        for number, (design, _) in enumerate(designs):
            server, other = Server(model, start), Server(model, start)
            staged.append(Talk(server, stages(server, design), number))
            pilots.append(Talk(other, one_step(other, design, self.level), number))
        kinds: tuple[Sequence[Participant], ...] = staged, pilots
        # a group of participants asks the same users for Hessians
        groups: list[list[Participant]] = [
            [talk for talk, (design, _) in zip(talks, designs, strict=True) if design.every == every]
            for every in sorted({design.every for design, _ in designs})
            for talks in kinds
        ]
        together(groups, SimulatedCrowd(model, law, budgets, seed, lanes))
        found = []
        for talk, pilot, (design, noise) in zip(staged, pilots, designs, strict=True):
            outcome = talk.result
            half = normal(self.level) * standard_errors(outcome.final.covariance)
            refused = _refused_before(model, design, noise)
            kept = [not (refused or after(model, design, outcome, lane).reasons) for lane in range(len(half))]
            interval = symmetric_interval(outcome.final.theta, half)
            found.append([(interval, np.array(kept)), (pilot.result, np.ones(len(half), dtype=bool))])
        return found


@lru_cache(maxsize=256)
def _refused_before(model: Model, design: Design, noise: Noise) -> bool:
    """Whether public numbers alone refuse an interval: the same for all replicates, and asked once for all of them."""
    from dpexp.inference.refusals import before

    return bool(before(model, design, noise).reasons)
