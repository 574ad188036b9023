"""Private regression with intervals by one owner of all records, as `dpexp fit --central` runs it on simulated ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from dpexp.algorithms.covering import Coverage, FitCoverage, LaneIntervals, Trial, fit_coverage
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule
    from dpexp.inference.models import Model
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.mechanism import Stated


class CentralNewton(FitCoverage):
    """Noisy means of moments, gradients, Hessians and scores of all records, and an interval for every coordinate."""

    name: Literal["central-newton"] = "central-newton"
    estimators: ClassVar[tuple[str, ...]] = ("central-newton",)

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        """Of one replicate: about thirty passes over the records."""
        return 2e-3 + n * problem.p * 4e-7

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        return super().memory(problem, n, checkpoints, settings) + self.record_bytes(problem, n)

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = super().complaints(problem, schedule, budget, n)
        if budget.constant is None:
            faults.append("one owner has one budget: mu is a number")
        return faults

    def mechanism(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> Stated:
        """Every release is a Gaussian mechanism of its own."""
        from dpexp.inference.central_newton import allocation
        from dpexp.privacy.mechanisms.mechanism import Stated
        from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian

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
        # an owner adds noise once, to the mean, where each of n users would add it to a message
        return super().noise(model, budget, n) / n

    def intervals(self, model: Model, trial: Trial, schedule: Any, budget: Any) -> list[LaneIntervals | Coverage]:
        from dpexp.core.seeds import generator
        from dpexp.inference.fitting import fit_central, plan_central
        from dpexp.inference.targets import target_of

        planned = plan_central(model, trial.n)
        fits = [
            fit_central(planned, z, y, budget.constant, generator(trial.seed, lane, "noise").standard_normal, owners)
            for lane, (z, y, owners) in zip(trial.lanes, trial.tables, strict=True)
        ]
        return [fit_coverage(fits, target_of(trial.problem, trial.persons).theta, self.level)]
