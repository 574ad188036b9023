"""The gap F(theta) - F(theta*) of states over a population that the short forms cannot say.

(a) Of every state at a checkpoint it is a mean over `POINTS` public rows, whose own gradient and Hessian at theta* are
replaced by the exact ones: relative errors are about 2e-5 at a distance of .1, 3e-3 at 1, and up to .1 beyond 3 of
normal rows, and larger of rows with tails (.1 at 1.5, t rows of df 4 and cap 5).
(b) Of a few states it is exact: a loss of y - t sees x along theta - beta* alone, and a loss of labels l(t) - y t sees
it along theta, but for a part that is linear in theta. Other losses of labels see x along both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.problems import population_means as means
from dpexp.problems.population_means import Places, optimum_of, places_of
from dpexp.problems.row_rules import rows_along, sobol_points

if TYPE_CHECKING:
    from dpexp.problems.linear_predictor import LinearPredictorProblem

POINTS = 256
FARTHEST = 1e5
"""a state with an entry beyond it counts as diverged"""


def _mean_losses(places: Places, theta: np.ndarray) -> np.ndarray:
    """Mean losses of the users of every row at states [N, p], [N, K]."""
    problem = places.problem
    u = places.rows.predictor(theta[:, : problem.d + 1]) - places.true
    if problem.labels and not means.is_canonical(problem):
        of_zero, of_one = (means.loss_table(problem, label)(u) for label in (0.0, 1.0))
        return np.asarray(of_zero + places.spread * (of_one - of_zero))
    scale = theta[:, -1:] if problem.has_scale else np.full((len(theta), 1), problem.fixed_scale)
    losses = problem.mean_loss(u, places.spread, scale)
    return losses - places.spread * u if problem.labels else losses


@kept_once(16)
def _public_points(problem: LinearPredictorProblem) -> tuple[Places, np.ndarray, np.ndarray, np.ndarray]:
    """Public rows with the corrections of (a): minus their gradient at theta*, half of what the Hessian lacks, and
    their losses there."""
    places, best = means.placed(problem, sobol_points(problem.law, POINTS, 1)), optimum_of(problem)
    here = places.means(best)
    correction = (means.second_order_of(problem)[0] - places.second(best, here, 1)) / 2
    return places, -places.gradient(best, here), correction, _mean_losses(places, best[None])


def gap(problem: LinearPredictorProblem, theta: np.ndarray) -> np.ndarray:
    """(a) of states [N, p], [N]; NaN where a state is not finite or far away."""
    places, slope, correction, least = _public_points(problem)
    best = optimum_of(problem)
    out = np.full(len(theta), math.nan)
    finite = np.flatnonzero(np.isfinite(theta).all(axis=1) & (np.abs(theta).max(axis=1) < FARTHEST))
    for own in np.array_split(finite, 1 + len(finite) // 2048):
        state = theta[own]
        away = state - best
        mean = (_mean_losses(places, state) - least) @ places.rows.mass[1]
        out[own] = mean + away @ slope + np.einsum("ni,ij,nj->n", away, correction, away)
    return out


def exact_gap(problem: LinearPredictorProblem, theta: np.ndarray) -> np.ndarray:
    """(b) of states [N, p], [N]; NaN where a state is not finite."""
    least = _risk(problem, optimum_of(problem))
    return np.array([_risk(problem, state) - least if np.isfinite(state).all() else math.nan for state in theta])


def _risk(problem: LinearPredictorProblem, theta: np.ndarray) -> float:
    beta, linear = theta[: problem.d + 1], 0.0
    if means.is_canonical(problem) if problem.labels else means.alike(problem):
        away, size = (beta, 0.0) if problem.labels else (beta - problem.true_coefficients, problem.error_law.size)
        rows = rows_along(problem.law, tuple(away[1:].tolist()), False, means.fineness(problem, away[1:]))
        # with labels of chance 0 the part that depends on them is left out
        places = Places(problem, rows, np.zeros(rows.mass.shape[1]), np.full(rows.mass.shape[1], size))
        linear = float(places_of(problem).label_row @ beta) if problem.labels else 0.0
        theta = np.append(away, theta[problem.d + 1 :])
    else:
        places = places_of(problem, full=True)
    return float((_mean_losses(places, theta[None]) @ places.rows.mass[1])[0]) - linear
