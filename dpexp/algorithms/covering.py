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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from dpexp.algorithms.algorithm import Algorithm, Settings
from dpexp.algorithms.one_pass import finite, infinite_sensitivity
from dpexp.algorithms.schedules import Schedule
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.inference.models import Model, as_fitted, model_of
from dpexp.inference.public_numbers import normal
from dpexp.inference.small_matrices import inverses
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.problems.linear_losses import HuberLinear, MallowsLogistic
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.weights import WEIGHT_CAP

if TYPE_CHECKING:
    from dpexp.inference.fitting import Fitted
    from dpexp.inference.targets import RiskTarget
    from dpexp.inference.user_blocks import DrawNormals

COORDINATES = ("intercept", "first_slope", "slopes", "last_slope", "last")
MEASURES = ("covered", "bounded", "wald", "length_over_bound", "error_over_bound", "length")
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
    def tables(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """The records of every replicate at once: covariates [rows, d], responses [rows], and who holds which row."""
        from dpexp.engine.linear.linear_pass import UserStream
        from dpexp.inference.simulated import lanes_of, person_rows

        # persons hold numbers of rows of their own, which do not lie side by side in lanes
        if self.persons:
            return [*person_rows(self.problem, self.seed, self.lanes, self.n)]
        x, y, _ = UserStream(self.problem.model(), self.seed, lanes_of(self.lanes)).take(self.n)
        return [(x[..., k], y[:, k], None) for k in range(len(self.lanes))]

    def normals(self, lane: int) -> DrawNormals:
        """The noise of a replicate."""
        return generator(self.seed, lane, "noise").standard_normal


class Covering(Algorithm):
    """Intervals for the coefficients from the messages of n users, against a target that is known."""

    level: Annotated[float, Field(ge=0.5, le=0.999)] = 0.95
    """what the intervals promise; `estimators` are the names of the intervals"""

    schedules: ClassVar[tuple[str, ...]] = ("prescribed",)
    metrics: ClassVar[tuple[str, ...]] = (
        "param_distance_sq", *(f"{measure}_{c}" for measure in MEASURES for c in COORDINATES),
    )  # fmt: skip
    runs_on: ClassVar[tuple[type, ...]] = (HuberLinear, MallowsLogistic)
    populations: ClassVar[bool] = True

    def steps(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget) -> int | None:
        return FEWEST

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = [] if n >= FEWEST else [f"intervals take at least {FEWEST:,} users"]
        faults += infinite_sensitivity(problem, problem.exact_sensitivity(), budget)
        unknown = problem.unknown_curvature()
        return faults if unknown is None else [*faults, f"the target is not known: {unknown}"]

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        from dpexp.inference.user_blocks import BLOCK

        # of every user a step size; of a block its rows, weights, noise and the products of a Hessian
        block = 8 * 8 * BLOCK * (3 * problem.p + 8 + problem.p * problem.p)
        return int(8 * n + block + 10_000 * settings * checkpoints)

    def mechanism(
        self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int
    ) -> LocalGaussian | Stated:
        # every user sends one message, a gradient or a Hessian, each with the noise that its sensitivity asks for
        delta = finite(problem.exact_sensitivity())
        return LocalGaussian(mu=budget, noise_sensitivity=delta, exact_sensitivity=delta, users=n)

    @property
    def holds_rows(self) -> bool:
        """Whether a record is a person, who holds several rows."""
        return False

    def model(self, problem: LinearPredictorProblem, budget: Budget) -> Model:
        """What is sent, and with what noise: as the paper has it, where a method says nothing else."""
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
        from dpexp.inference.newton import standard_errors

        tables = zip(trial.lanes, trial.tables, strict=True)
        estimates = [self.estimate(model, x, y, budget, trial.normals(lane)) for lane, (x, y, _) in tables]
        # the last one stands in the lanes that remain
        estimates += [estimates[-1]] * (self.lanes - len(estimates))
        theta = np.array([estimate.theta for estimate in estimates])
        half = normal(self.level) * standard_errors(np.array([estimate.covariance for estimate in estimates]))
        return [LaneIntervals(theta, theta - half, theta + half)]

    def simulate(
        self, problem: LinearPredictorProblem, settings: Settings, steps: np.ndarray, seed: int,
        replicates: Sequence[int],
    ) -> Passed:  # fmt: skip
        """Intervals at every checkpoint, each a run of its own, since designs know their n."""
        from dpexp.inference.targets import target_of

        steps = np.asarray(steps, dtype=np.int64)
        models = [self.model(problem, budget) for _, budget in settings]
        target = target_of(problem, self.holds_rows)
        values = np.zeros((len(settings), len(self.estimators), len(steps), len(self.metrics), len(replicates)))
        last = np.tile(problem.start(), (*values.shape[:2], len(replicates), 1))
        for k, n in enumerate(int(step) for step in steps):
            if n < FEWEST:  # nothing is said: not bounded, and of length 0
                values[:, :, k, 0] = np.sum((problem.start() - target.theta) ** 2)
                continue
            for first in range(0, len(replicates), self.lanes):
                # all settings meet the same users; the target is that of the population, and so of all
                trial = Trial(problem, n, seed, list(replicates[first : first + self.lanes]), self.holds_rows)
                here = slice(first, first + len(trial.lanes))
                for s, (model, (schedule, budget)) in enumerate(zip(models, settings, strict=True)):
                    bound = efficient_errors(model, target, self.noise(model, budget, n), n)
                    for e, intervals in enumerate(self.intervals(model, trial, schedule, budget)):
                        rows = coverage_metrics(intervals, target.theta, bound, self.level, model.d)
                        values[s, e, k, :, here] = rows[:, : len(trial.lanes)]
                        last[s, e, here] = intervals.estimate[: len(trial.lanes)]
        return Passed(steps, self.estimators, self.metrics, values, last)


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

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        # the records of eight replicates are held at once
        return super().memory(problem, n, checkpoints, settings) + 8 * 8 * n * (3 * problem.d + 4)

    def model(self, problem: LinearPredictorProblem, budget: Budget) -> Model:
        """What is sent follows from what is public: of a population, d, and columns and errors of size one."""
        if problem.population is not None:
            guess: dict[str, object] = {"population": None, "sigma_z": problem.d**-0.5}
            guess |= {"sigma": 1.0} if isinstance(problem, HuberLinear) else {}
            problem = problem.model_copy(update=guess)
        return as_fitted(super().model(problem, budget))

    def fits(self, model: Model, trial: Trial, budget: Any) -> Sequence[Fitted]:
        """What `dpexp fit` computes for every replicate."""
        raise NotImplementedError

    def intervals(self, model: Model, trial: Trial, schedule: Any, budget: Any) -> list[LaneIntervals | Coverage]:
        from dpexp.inference.targets import target_of

        rows = [
            _fit_coverage(fit, target_of(trial.problem, trial.persons).theta, self.level)
            for fit in self.fits(model, trial, budget)
        ]
        # eight fill the lanes; `simulate` takes those that were asked for
        rows += [rows[-1]] * (self.lanes - len(rows))
        return [Coverage(*(np.array(part) for part in zip(*rows, strict=True)))]


def efficient_errors(model: Model, target: RiskTarget, noise: float, n: int) -> np.ndarray:
    """sqrt(diag(H^-1 S_mu H^-1) / n) [p]; `noise` is 1 / mu_eff^2 under the weights that are used."""
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
    """The metrics [len(Covering.metrics), 8] of a model with d slopes."""
    # an interval of the literature is there for every coordinate, and of Wald's kind
    if not isinstance(coverage, Coverage):
        covered = (coverage.low <= theta) & (theta <= coverage.high)
        coverage = Coverage(coverage.estimate, covered, *(np.ones_like(covered),) * 2, coverage.high - coverage.low)
    error = coverage.estimate - theta
    over_bound = coverage.length / (2 * normal(level) * bound)
    rows = [np.sum(error**2, axis=1)]
    for part in (coverage.covered, coverage.bounded, coverage.wald, over_bound, error / bound, coverage.length):
        values = part.astype(np.float64)
        slopes = values[:, 1 : d + 1]
        rows += [values[:, 0], slopes[:, 0], slopes.mean(axis=1), slopes[:, -1], values[:, -1]]
    return np.stack(rows)


def _fit_coverage(fit: Fitted, theta: np.ndarray, level: float) -> Coverage:
    """What `dpexp fit` shows of one fit about the target theta, [p] each."""
    from dpexp.inference.intervals import judged, level_of

    # coordinates of which the fit says nothing: their intervals are the whole line, and cover
    p = len(theta)
    lost = fit.checked.lost(p)
    if len(lost) == p:
        return Coverage(fit.theta, np.ones(p), *(np.zeros(p),) * 3)
    errors, kinds = judged(fit.release, np.eye(p), level)
    shown = [kind if j not in lost else "unbounded" for j, kind in enumerate(kinds)]
    wald, inverted = (np.array([kind == word for kind in shown]) for word in ("wald", "anderson-rubin"))
    covered = np.where(wald, np.abs(fit.theta - theta) <= normal(level) * errors, True)
    # an inverted test is asked for the target alone
    for j in np.flatnonzero(inverted):
        covered[j] = level_of(fit.release, fit.theta, np.eye(p)[[j]], theta[[j]]) >= 1 - level
    return Coverage(fit.theta, covered, wald | inverted, wald, np.where(wald, 2 * normal(level) * errors, 0.0))
