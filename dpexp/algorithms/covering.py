"""What is measured of intervals: whether they cover, how long they are, and how far off the estimate is.

Coordinates are the intercept, the first slope (of the covariate on which errors and curved means depend), the mean over
all slopes, and the last coordinate, which is the scale where there is one. Coverage is kept of every single slope, too.
Lengths and errors are also given over the efficient bound 2 z sqrt(diag(H^-1 S_mu H^-1) / n), the shortest interval of
any method in which every user sends one gradient; S_mu = S + Delta^2 mu_eff^-2 I for the optimal weights of users.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.algorithm import AlgorithmBase
from dpexp.core.stages import first_stage
from dpexp.engine.result import Passed
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.logistic import MallowsLogistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpexp.algorithms.schedules import Schedule
    from dpexp.inference.methods import Interval
    from dpexp.inference.models import Model
    from dpexp.inference.populations import Population
    from dpexp.inference.targets import Target
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian

COORDINATES = ("intercept", "first_slope", "slopes", "last")
SLOPES = tuple(f"slope_{k}" for k in range(1, 21))
"""single slopes; where there are fewer than twenty they are repeated, since all settings have the same metrics"""
METRICS = (
    "param_distance_sq",
    *(f"covered_{c}" for c in COORDINATES),
    *(f"length_over_bound_{c}" for c in COORDINATES),
    *(f"error_over_bound_{c}" for c in COORDINATES),
    *(f"length_{c}" for c in COORDINATES),
    "accepted",
    *(f"covered_accepted_{c}" for c in COORDINATES),
    *(f"covered_{c}" for c in SLOPES),
    *(f"covered_accepted_{c}" for c in SLOPES),
)
FEWEST = 1000
"""users below which no design is tried"""


class Covering(AlgorithmBase):
    """Intervals for the coefficients from the messages of n users, against a target that is known."""

    level: Annotated[float, Field(ge=0.5, le=0.999)] = 0.95
    """what the intervals promise"""
    errors: Literal["normal", "student", "exponential", "heteroscedastic"] = "normal"
    """the true law of the errors: normal, t with 3 degrees of freedom, exponential, or growing with |z_1|"""
    rho: Annotated[float, Field(ge=0, le=0.95)] = 0.0
    """correlation of any two covariates"""
    bend: Annotated[float, Field(ge=-10, le=10)] = 0.0
    """how much the true mean bends: bend (z_1^2 - 1) on top of x'beta*"""

    estimators: ClassVar[tuple[str, ...]]
    """names of the intervals"""
    metrics: ClassVar[tuple[str, ...]] = METRICS
    runs_on: ClassVar[tuple[type, ...]] = (HuberLinear, MallowsLogistic)
    smoke_size: ClassVar[tuple[int, int]] = (2000, 8)

    def steps(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget) -> int | None:
        """The least that is tried, where the config does not say."""
        return FEWEST

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        found = [] if n >= FEWEST else [f"intervals take at least {FEWEST:,} users"]
        wrong = self.errors != "normal" or self.bend != 0
        if isinstance(problem, MallowsLogistic) and (wrong or self.rho):
            found.append("the target of a logistic model is known for independent covariates and a right model only")
        elif wrong and self.rho:
            found.append("the target is known for correlated covariates, or for a wrong model, but not for both")
        elif wrong and not problem.has_scale:
            found.append("the target under a wrong model is known where the scale is estimated")
        return found

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        """A block of users of eight replicates, a few sums, and the schedule."""
        from dpexp.inference.users import BLOCK

        return int(
            8 * n + 8 * 8 * BLOCK * (3 * problem.p + 8 + problem.p * problem.p) + 10_000 * settings * checkpoints
        )

    @first_stage
    def mechanism(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> LocalGaussian:
        """Every user sends one message, a gradient or a Hessian, each with the noise that its sensitivity asks for."""
        from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian

        delta = problem.exact_sensitivity()
        return LocalGaussian(mu=budget, noise_sensitivity=delta, exact_sensitivity=delta, users=n)

    def population(self, problem: LinearPredictorProblem) -> Population:
        """The law from which users are drawn."""
        from dpexp.inference.populations import Population

        binary = isinstance(problem, MallowsLogistic)
        sigma = problem.sigma if isinstance(problem, HuberLinear) else 1.0
        return Population(problem.d, problem.sigma_z, self.rho, problem.beta, sigma, self.errors, self.bend, binary)

    def of_settings(
        self,
        model: Model,
        law: Population,
        settings: Sequence[tuple[Any, Any]],
        n: int,
        seed: int,
        lanes: Sequence[int],
    ) -> list[list[tuple[Interval, np.ndarray]]]:
        """For every setting the interval of every estimator, and which of the eight replicates are accepted [8].

        A setting is a schedule and a budget. All settings meet the same users.
        """
        raise NotImplementedError

    def simulate(
        self,
        problem: LinearPredictorProblem,
        settings: Sequence[tuple[Schedule, Budget]],
        steps: np.ndarray,
        seed: int,
        replicates: Sequence[int],
    ) -> Passed:
        """A run of its own for every checkpoint, since designs know their n."""
        from dpexp.engine.lanes.vectors import LANES
        from dpexp.inference.models import model_of
        from dpexp.inference.predicted import noise_of
        from dpexp.inference.targets import target_of

        steps = np.asarray(steps, dtype=np.int64)
        model, law = model_of(problem), self.population(problem)
        target = target_of(model, law)
        values = np.zeros((len(settings), len(self.estimators), len(steps), len(self.metrics), len(replicates)))
        noises = [
            noise_of(model, budget.draw((np.arange(10_000) + 0.5) / 10_000, 1)).gradients for _, budget in settings
        ]
        for k, n in enumerate(int(step) for step in steps):
            if n < FEWEST:  # nothing is said: not accepted, and of length 0
                values[:, :, k, 0] = np.sum((problem.start() - target.theta) ** 2)
                continue
            bounds = [efficient_errors(model, target, noise, n) for noise in noises]
            for first in range(0, len(replicates), LANES):
                lanes = list(replicates[first : first + LANES])
                found = self.of_settings(model, law, settings, n, seed, lanes)
                for s, e in product(range(len(settings)), range(len(self.estimators))):
                    rows = measured(*found[s][e], target.theta, bounds[s], self.level, model.d)
                    values[s, e, k, :, first : first + len(lanes)] = rows[:, : len(lanes)]
        return Passed(steps, self.estimators, self.metrics, values)


def efficient_errors(model: Model, target: Target, noise: float, n: int) -> np.ndarray:
    """sqrt(diag(H^-1 S_mu H^-1) / n) [p]; `noise` is 1 / mu_eff^2 under the optimal weights."""
    from dpexp.inference.small_matrices import inverses, products

    inverse = inverses(target.hessian)
    scores = target.scores + model.gradient_sensitivity**2 * noise * np.eye(model.p)
    return np.asarray(np.sqrt(np.diag(products(inverse, scores, inverse)) / n))


def measured(
    interval: Interval, accepted: np.ndarray, theta: np.ndarray, bound: np.ndarray, level: float, d: int
) -> np.ndarray:
    """The metrics [len(METRICS), 8] of a model with d slopes."""
    from dpexp.inference.critical_values import normal

    covered = ((interval.low <= theta) & (theta <= interval.high)).astype(np.float64)
    length, error = interval.high - interval.low, interval.estimate - theta
    parts = [covered, length / (2 * normal(level) * bound), error / bound, length]
    columns = [_grouped(part, d) for part in parts]
    both, share = columns[0] * accepted, accepted[None].astype(np.float64)
    single = covered[:, 1 + np.arange(len(SLOPES)) % d].T
    return np.concatenate([np.sum(error**2, axis=1)[None], *columns, share, both, single, single * accepted])


def _grouped(values: np.ndarray, d: int) -> np.ndarray:
    """[4, 8] of [8, p]: the intercept, the first slope, the mean over slopes, the last coordinate.

    Covariates are alike but for the first, so the mean over slopes speaks of each of them, and more precisely.
    """
    return np.stack([values[:, 0], values[:, 1], values[:, 1 : d + 1].mean(axis=1), values[:, -1]])
