"""LDP-SGD near the optimum of a problem: curvature, noise and start, and the errors that its linearisation predicts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.algorithms.one_pass import finite
from dpexp.algorithms.schedules import Schedule
from dpexp.core.errors import UsageError
from dpexp.privacy.budgets import Budget
from dpexp.problems.linear_predictor import Curvature, LinearPredictorProblem
from dpexp.problems.problem import Problem
from dpexp.theory.ldp_sgd.linearised import Modes, averaged_bias, linearised_moments, modes_of, noisy_covariance
from dpexp.theory.ldp_sgd.terms import power_sum


class Local(NamedTuple):
    """The neighbourhood of the optimum in which a problem with given budgets is studied."""

    problem: LinearPredictorProblem
    hessian: np.ndarray
    """H [p, p]"""
    covariance: np.ndarray
    """S_mu [p, p], privacy noise included"""
    third: np.ndarray | None
    """F''' [p, p, p], where it is known"""
    start_error: np.ndarray
    """theta_0 - theta* [p]"""

    @property
    def modes(self) -> Modes:
        return modes_of(self.hessian, self.covariance, self.start_error)

    @property
    def unit_bias(self) -> np.ndarray | None:
        """Bias of the average for a mean step size of 1, [p]; None where F''' is not known."""
        return None if self.third is None else averaged_bias(self.hessian, self.third, self.covariance, 1.0)


def linear_predictor_of(problem: Problem) -> LinearPredictorProblem:
    """The problem as a linear predictor. Raises UsageError for any other: the theory of `ldp-sgd` is of those."""
    if not isinstance(problem, LinearPredictorProblem):
        message = f"{problem.name} is no linear predictor of fresh users, and ldp-sgd has predictions for these alone"
        raise UsageError(message, "take a problem that ldp-sgd runs on")
    return problem


@lru_cache(maxsize=64)
def curvature_of(problem: LinearPredictorProblem) -> Curvature:
    """The quadratures behind the curvature, done once for each problem."""
    return problem.curvature()


def is_flat(problem: LinearPredictorProblem) -> bool:
    """Whether the Hessian at the optimum is singular, so that nothing can be predicted from it."""
    curvature = curvature_of(problem)
    return bool(curvature.m <= 1e-12 * max(curvature.M, 1e-300))


def local(problem: LinearPredictorProblem, budget: Budget) -> Local:
    """Curvature, noise and start of a problem under budgets. Raises ValueError where the Hessian is singular."""
    if is_flat(problem):
        raise ValueError(f"the Hessian of {problem.name} is singular at the optimum")
    curvature = curvature_of(problem)
    delta = finite(problem.noise_sensitivity())
    noisy = noisy_covariance(curvature.score_covariance, delta, budget.mean_inverse_square)
    return Local(problem, curvature.hessian, noisy, problem.third_derivative(), problem.start() - problem.optimum())


def decay_of(schedule: Schedule) -> tuple[float, float]:
    """(eta, alpha) of eta_i = eta i^-alpha; a constant schedule has alpha = 0."""
    fields = schedule.model_dump()
    return float(fields["eta"]), float(fields.get("alpha", 0.0))


class Predicted(NamedTuple):
    """Mean squared distances, or mean loss gaps, of both estimators at some steps: [E, K] for E step sizes."""

    sgd: np.ndarray
    asgd: np.ndarray


def predicted_errors(
    places: Sequence[Local], steps: np.ndarray, etas: np.ndarray, alpha: float, of_loss: bool
) -> list[Predicted]:
    """The errors at `steps` [K] for eta_k = eta k^-alpha, by place; the average with its bias."""
    modes = [place.modes for place in places]
    # modes are on their own: one recursion has those of all places
    moments = linearised_moments(steps, etas, alpha, Modes(*map(np.concatenate, zip(*modes, strict=True))))
    ends = np.cumsum([len(own.h) for own in modes])[:-1]
    parts = (np.split(moment, ends, axis=-1) for moment in moments)
    mean_step_sq = (etas[:, None] * power_sum(alpha, steps) / steps) ** 2
    errors = []
    for place, own, iterate, average in zip(places, modes, *parts, strict=True):
        weights = own.h / 2 if of_loss else np.ones_like(own.h)
        unit = place.unit_bias
        bias = 0.0 if unit is None else float(unit @ place.hessian @ unit / 2 if of_loss else unit @ unit)
        errors.append(Predicted(iterate @ weights, average @ weights + bias * mean_step_sq))
    return errors
