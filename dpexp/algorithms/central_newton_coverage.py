"""Private regression with intervals by one owner of all records, as `dpexp fit --central` runs it on simulated ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from dpexp.algorithms.covering import FitCoverage, Trial
from dpexp.algorithms.schedules import Schedule
from dpexp.inference.models import Model
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.inference.fitting import Fitted


class CentralNewton(FitCoverage):
    """Noisy means of moments, gradients, Hessians and scores of all records, and an interval for every coordinate."""

    name: Literal["central-newton"] = "central-newton"
    estimators: ClassVar[tuple[str, ...]] = ("central-newton",)

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        # about thirty passes over the records
        return 2e-3 + n * problem.p * 4e-7

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = super().complaints(problem, schedule, budget, n)
        if budget.constant is None:
            faults.append("one owner has one budget: mu is a number")
        return faults

    def mechanism(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> Stated:
        from dpexp.inference.central_newton import allocation

        mu = cast(float, budget.constant)
        # every mean with its share of mu^2; one record moves a sum by twice the largest norm
        noise = tuple(2 / (mu * math.sqrt(share)) for share in allocation(self.model(problem, budget), n, mu).releases)
        released = SampledGaussian(
            noise_multiplier=noise,  # type: ignore[arg-type]  # one for each
            sampling_probability=1,
            steps=1,
            sampling="full-batch",
            neighboring_relation="replace-one",
        )
        analysis = "no-noise" if math.isinf(mu) else "gaussian-composition"
        return Stated("sampled-gaussian", released, analysis, valid=not math.isinf(mu))

    def noise(self, model: Model, budget: Budget, n: int) -> float:
        return super().noise(model, budget, n) / n  # an owner adds noise once, to the mean

    def fits(self, model: Model, trial: Trial, budget: Any) -> Sequence[Fitted]:
        from dpexp.inference.fitting import fit_central, plan_central

        planned = plan_central(model, trial.n)
        return [
            fit_central(planned, z, y, budget.constant, trial.normals(lane), owners)
            for lane, (z, y, owners) in zip(trial.lanes, trial.tables, strict=True)
        ]
