"""What is measured of intervals: whether they cover, how long they are, and how far off the estimate is.

Coordinates are the intercept, the first slope (of the covariate on which errors and curved means depend), the mean over
all slopes, the last slope (of a rare level, or of a range that is stated too wide), and the last coordinate, which is
the scale where there is one. Covariates are alike but for the first and the last. An interval without content
covers. One that inverts a test covers if the test accepts the target: its ends are not looked for, which would take
most of the time. Lengths are those of Wald's intervals, and 0 elsewhere: over the share of Wald's, the mean is theirs.

Lengths and errors are also given over the efficient bound 2 z sqrt(diag(H^-1 S_mu H^-1) / n), the shortest interval of
any method in which every user sends one gradient; S_mu = S + Delta^2 mu_eff^-2 D_a^-2 for the weights of users. An
owner of all records adds that noise once, to the mean: there it is divided by n.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from dpexp.algorithms.algorithm import Algorithm, Settings
from dpexp.algorithms.one_pass import finite, infinite_sensitivity
from dpexp.engine.result import Passed
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.linear_losses import MallowsLogistic
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.weights import WEIGHT_CAP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpexp.algorithms.schedules import Schedule
    from dpexp.inference.fitting import Fitted
    from dpexp.inference.models import Model
    from dpexp.inference.targets import RiskTarget
    from dpexp.inference.user_blocks import DrawNormals
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
    from dpexp.privacy.mechanisms.mechanism import Stated

PersonRows = tuple["np.ndarray", "np.ndarray", "np.ndarray | None"]
COORDINATES = ("intercept", "first_slope", "slopes", "last_slope", "last")
METRICS = (
    "param_distance_sq",
    *(
        f"{measure}_{c}"
        for measure in ("covered", "bounded", "wald", "length_over_bound", "error_over_bound", "length")
        for c in COORDINATES
    ),
)
FEWEST = 1000
"""users below which no design is tried"""
GRID = (np.arange(10_000) + 0.5) / 10_000
"""uniform numbers from which a whole law of budgets is drawn"""


class LaneIntervals(NamedTuple):
    """Estimates and intervals of eight replicates, [8, p] each."""

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Estimate(NamedTuple):
    """Coefficients of one table, in the units of the computation, whose intervals are Wald's."""

    theta: np.ndarray
    """[p]"""
    covariance: np.ndarray
    """[p, p], noise included"""


@dataclass(frozen=True)
class Trial:
    """The users of up to eight replicates."""

    problem: LinearPredictorProblem
    n: int
    seed: int
    lanes: list[int]
    persons: bool = False
    """whether a record is a person, who holds several rows"""

    @cached_property
    def tables(self) -> list[PersonRows]:
        """The records of every replicate at once: covariates [rows, d], responses [rows], and who holds which row."""
        from dpexp.engine.linear.linear_pass import UserStream
        from dpexp.inference.simulated import lanes_of, person_rows

        # persons hold numbers of rows of their own, which do not lie side by side in lanes
        if self.persons:
            return [*person_rows(self.problem, self.seed, self.lanes, self.n)]
        x, y, _ = UserStream(self.problem.model(), self.seed, lanes_of(self.lanes)).take(self.n)
        return [(x[..., k], y[:, k], None) for k in range(len(self.lanes))]


class Covering(Algorithm):
    """Intervals for the coefficients from the messages of n users, against a target that is known."""

    level: Annotated[float, Field(ge=0.5, le=0.999)] = 0.95
    """what the intervals promise"""

    estimators: ClassVar[tuple[str, ...]]
    """names of the intervals"""
    schedules: ClassVar[tuple[str, ...]] = ("prescribed",)
    metrics: ClassVar[tuple[str, ...]] = METRICS
    runs_on: ClassVar[tuple[type, ...]] = (HuberLinear, MallowsLogistic)
    populations: ClassVar[bool] = True
    smoke_size: ClassVar[tuple[int, int]] = (2000, 8)

    def steps(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget) -> int | None:
        """The least that is tried, where the config does not say."""
        return FEWEST

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = [] if n >= FEWEST else [f"intervals take at least {FEWEST:,} users"]
        faults += infinite_sensitivity(problem, problem.exact_sensitivity(), budget)
        unknown = problem.unknown_curvature()
        return faults if unknown is None else [*faults, f"the target is not known: {unknown}"]

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        """A block of users of eight replicates, a few sums, and the schedule."""
        from dpexp.inference.user_blocks import BLOCK

        # of every user a step size; of a block its rows, weights, noise and the products of a Hessian
        return int(
            8 * n + 8 * 8 * BLOCK * (3 * problem.p + 8 + problem.p * problem.p) + 10_000 * settings * checkpoints
        )

    def record_bytes(self, problem: LinearPredictorProblem, n: int) -> int:
        """Bytes of the records of eight replicates, where a fit needs all of them at once."""
        return 8 * 8 * n * (3 * problem.d + 4)

    def mechanism(
        self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int
    ) -> LocalGaussian | Stated:
        """Every user sends one message, a gradient or a Hessian, each with the noise that its sensitivity asks for."""
        from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian

        delta = finite(problem.exact_sensitivity())
        return LocalGaussian(mu=budget, noise_sensitivity=delta, exact_sensitivity=delta, users=n)

    @property
    def holds_rows(self) -> bool:
        """Whether a record is a person, who holds several rows."""
        return False

    def model(self, problem: LinearPredictorProblem, budget: Budget) -> Model:
        """What is sent, and with what noise: as the paper has it, where a method says nothing else."""
        from dpexp.inference.models import model_of

        return model_of(problem)

    def noise(self, model: Model, budget: Budget, n: int) -> float:
        """1 / mu_eff^2 of the efficient bound."""
        from dpexp.inference.user_blocks import noise_of

        return noise_of(model, budget.draw(GRID, 1)).gradients

    def estimate(self, model: Model, x: np.ndarray, y: np.ndarray, budget: Any, normals: DrawNormals) -> Estimate:
        """The estimate from records x [n, d], y [n], whose only random numbers are `normals`.

        A method that has it needs no `intervals`.
        """
        raise NotImplementedError

    def intervals(self, model: Model, trial: Trial, schedule: Any, budget: Any) -> list[LaneIntervals | Coverage]:
        """The intervals of every estimator, for eight replicates; `model` is that of this budget."""
        from dpexp.core.seeds import generator
        from dpexp.engine.lanes.vectors import LANES
        from dpexp.inference.newton import standard_errors
        from dpexp.inference.public_numbers import normal

        estimates = [
            self.estimate(model, x, y, budget, generator(trial.seed, lane, "noise").standard_normal)
            for lane, (x, y, _) in zip(trial.lanes, trial.tables, strict=True)
        ]
        # the last one stands in the lanes that remain
        estimates += [estimates[-1]] * (LANES - len(estimates))
        theta = np.array([estimate.theta for estimate in estimates])
        half = normal(self.level) * standard_errors(np.array([estimate.covariance for estimate in estimates]))
        return [LaneIntervals(theta, theta - half, theta + half)]

    def simulate(
        self,
        problem: LinearPredictorProblem,
        settings: Settings,
        steps: np.ndarray,
        seed: int,
        replicates: Sequence[int],
    ) -> Passed:
        """Intervals at every checkpoint."""
        from dpexp.engine.lanes.vectors import LANES
        from dpexp.inference.targets import target_of

        steps = np.asarray(steps, dtype=np.int64)
        models = [self.model(problem, budget) for _, budget in settings]
        target = target_of(problem, self.holds_rows)
        values = np.zeros((len(settings), len(self.estimators), len(steps), len(self.metrics), len(replicates)))
        # a run of its own for every checkpoint, since designs know their n
        for k, n in enumerate(int(step) for step in steps):
            # nothing is said: not bounded, and of length 0
            if n < FEWEST:
                values[:, :, k, 0] = np.sum((problem.start() - target.theta) ** 2)
                continue
            # of each setting, whose budgets and weights differ; the target is that of the population, and so of all
            bounds = [
                efficient_errors(model, target, self.noise(model, budget, n), n)
                for model, (_, budget) in zip(models, settings, strict=True)
            ]
            for first in range(0, len(replicates), LANES):
                # all settings meet the same users
                trial = Trial(problem, n, seed, list(replicates[first : first + LANES]), self.holds_rows)
                here = slice(first, first + len(trial.lanes))
                for s, (schedule, budget) in enumerate(settings):
                    for e, intervals in enumerate(self.intervals(models[s], trial, schedule, budget)):
                        rows = coverage_metrics(intervals, target.theta, bounds[s], self.level, models[s].d)
                        values[s, e, k, :, here] = rows[:, : len(trial.lanes)]
        return Passed(steps, self.estimators, self.metrics, values)


class FitCoverage(Covering):
    """Intervals that `dpexp fit` shows; also of persons who hold several rows."""

    persons: bool = False
    """whether records are persons, who hold 1 + Poisson(2) rows that depend on each other"""

    witnesses: ClassVar[int] = 1
    """every replicate holds its records and takes its time"""

    @property
    def holds_rows(self) -> bool:
        return self.persons

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        from dpexp.inference.simulated import can_hold_rows

        faults = super().complaints(problem, schedule, budget, n)
        if problem.law.cap != WEIGHT_CAP:
            faults.append(f"a fit weights rows by min(1, {WEIGHT_CAP:g} / |x|^2): leave out `weights`")
        if self.persons and not can_hold_rows(problem):
            faults.append("persons are tried with normal rows of mean 0 and normal errors")
        return faults

    def model(self, problem: LinearPredictorProblem, budget: Budget) -> Model:
        """What is sent follows from what is public: of a population, d, and columns and errors of size one."""
        from dpexp.inference.models import as_fitted

        if problem.population is not None:
            guess: dict[str, object] = {"population": None, "sigma_z": problem.d**-0.5}
            guess |= {"sigma": 1.0} if isinstance(problem, HuberLinear) else {}
            problem = problem.model_copy(update=guess)
        return as_fitted(super().model(problem, budget))


def efficient_errors(model: Model, target: RiskTarget, noise: float, n: int) -> np.ndarray:
    """sqrt(diag(H^-1 S_mu H^-1) / n) [p]; `noise` is 1 / mu_eff^2 under the weights that are used."""
    from dpexp.inference.small_matrices import inverses

    # H^-1 S_mu H^-1, the covariance of an average of n users
    inverse = inverses(target.hessian)
    scores = target.scores + (np.diag(model.gradient_noise**2 * noise) if noise else 0.0)
    return np.asarray(np.sqrt(np.diag(inverse @ scores @ inverse) / n))


class Coverage(NamedTuple):
    """Of the intervals of eight replicates [8, p] each."""

    estimate: np.ndarray
    covered: np.ndarray
    bounded: np.ndarray
    wald: np.ndarray
    """whether it is estimate +- z standard errors"""
    length: np.ndarray
    """of Wald's; 0 elsewhere"""


def coverage_metrics(
    coverage: LaneIntervals | Coverage, theta: np.ndarray, bound: np.ndarray, level: float, d: int
) -> np.ndarray:
    """The metrics [len(METRICS), 8] of a model with d slopes."""
    from dpexp.inference.public_numbers import normal

    # an interval of the literature is there for every coordinate, and of Wald's kind
    if not isinstance(coverage, Coverage):
        covered = (coverage.low <= theta) & (theta <= coverage.high)
        coverage = Coverage(coverage.estimate, covered, *(np.ones_like(covered),) * 2, coverage.high - coverage.low)
    error = coverage.estimate - theta
    over_bound = coverage.length / (2 * normal(level) * bound)
    parts = [coverage.covered, coverage.bounded, coverage.wald, over_bound, error / bound, coverage.length]
    return np.concatenate([np.sum(error**2, axis=1)[None], *(_grouped(part.astype(np.float64), d) for part in parts)])


def _grouped(values: np.ndarray, d: int) -> np.ndarray:
    """[5, 8] of [8, p]: the intercept, the first slope, the mean over slopes, the last slope, the last coordinate."""
    slopes = values[:, 1 : d + 1]
    return np.stack([values[:, 0], slopes[:, 0], slopes.mean(axis=1), slopes[:, -1], values[:, -1]])


def fit_coverage(fits: Sequence[Fitted], theta: np.ndarray, level: float) -> Coverage:
    """What `dpexp fit` shows of at most eight fits about the target theta; the last one fills the remaining lanes."""
    from dpexp.engine.lanes.vectors import LANES
    from dpexp.inference.intervals import judged, level_of
    from dpexp.inference.public_numbers import normal

    rows, p = [], len(theta)
    for fit in fits:
        # coordinates of which the fit says nothing: their intervals are the whole line, and cover
        lost = fit.checked.lost(p)
        if len(lost) == p:
            rows.append(Coverage(fit.theta, np.ones(p), *(np.zeros(p),) * 3))
            continue
        errors, kinds = judged(fit.release, np.eye(p), level)
        kinds_here = [kind if j not in lost else "unbounded" for j, kind in enumerate(kinds)]
        wald, inverted = (np.array([kind == word for kind in kinds_here]) for word in ("wald", "anderson-rubin"))
        covered = np.where(wald, np.abs(fit.theta - theta) <= normal(level) * errors, True)
        # an inverted test is asked for the target alone
        for j in np.flatnonzero(inverted):
            row = np.eye(p)[[j]]
            covered[j] = level_of(fit.release, fit.theta, row, theta[[j]]) >= 1 - level
        rows.append(
            Coverage(fit.theta, covered, wald | inverted, wald, np.where(wald, 2 * normal(level) * errors, 0.0))
        )
    # eight fill the lanes; `simulate` takes those that were asked for
    rows += [rows[-1]] * (LANES - len(rows))
    return Coverage(*(np.array(part) for part in zip(*rows, strict=True)))
