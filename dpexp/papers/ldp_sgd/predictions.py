"""What `ldp-sgd` says of any cell that it covers: plain numbers, exponents, bounds, predictions and asymptotes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.algorithms.clipped_ldp_sgd import ClippedLdpSgd
from dpexp.algorithms.near_the_optimum import Local, curvature_of, decay_of, is_flat, linear_predictor_of, local
from dpexp.algorithms.one_pass import finite
from dpexp.algorithms.schedules import Constant, Power
from dpexp.config.cells import Cell
from dpexp.core.errors import UsageError
from dpexp.problems.gaussian_means import gaussian_means
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.population_means import clipped_optimum
from dpexp.reporting.results.gather import Theory
from dpexp.reporting.results.labels import CONTROLLED
from dpexp.theory import THEOREMS
from dpexp.theory.ldp_sgd.closure import LEAST_DISTANCE, MOST_INDEX, Closure, Laws, closure, distances_sq, loss_gaps
from dpexp.theory.ldp_sgd.linearised import averaged_covariance, iterate_covariance, linearised_moments, spectral_norm
from dpexp.theory.ldp_sgd.table1 import corrected_exponent
from dpexp.theory.ldp_sgd.terms import power_sum, psi

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule
    from dpexp.privacy.budgets import Budget


@lru_cache(maxsize=256)
def constants(problem: LinearPredictorProblem, schedule: Schedule, budget: Budget) -> dict[str, Any]:
    """The plain numbers that the theorems of `ldp-sgd` ask for; m, traces and C1 are local, at the optimum.

    m is 0 and the traces are infinite where the Hessian is singular. Quadratures are done once for each setting.
    """
    curvature = curvature_of(problem)
    eta, alpha = decay_of(schedule)
    error = problem.start() - problem.optimum()

    def trace(covariance: np.ndarray) -> float:
        return float(np.trace(averaged_covariance(curvature.hessian, covariance)))

    # a singular Hessian has no inverse, and so no sandwich
    flat = is_flat(problem)
    traces = (math.inf, math.inf)
    if not flat:
        traces = trace(curvature.score_covariance), trace(local(problem, budget).covariance)
    return {
        "eta": eta,
        "alpha": alpha,
        "m": 0.0 if flat else curvature.m,
        "M": problem.smoothness(),
        "gradient_bound": problem.gradient_bound(),
        "p": problem.p,
        "sensitivity": finite(problem.noise_sensitivity()),
        "min_mu": budget.smallest,
        "mean_inverse_square": budget.mean_inverse_square,
        "delta0": float(error @ error),
        "hessian_lipschitz": _hessian_lipschitz(problem),
        "public_trace": traces[0],
        "private_trace": traces[1],
    }


@lru_cache(maxsize=64)
def _hessian_lipschitz(problem: LinearPredictorProblem) -> float:
    """C1: everywhere where the problem knows it, else at the optimum; nan where neither is known."""
    everywhere, third = problem.hessian_lipschitz(), problem.third_derivative()
    if everywhere is not None:
        return everywhere
    return math.nan if third is None else spectral_norm(third)


class Curves(NamedTuple):
    """Values at some steps [K], by estimator and metric."""

    sgd: dict[str, np.ndarray]
    asgd: dict[str, np.ndarray]


def predicted(place: Local, schedule: Schedule, steps: np.ndarray) -> Curves:
    """Mean squared distance and loss gap at `steps` by the linearised recursion; the average's with its bias.

    The bias is the stationary one, built up as fast as the softest direction forgets its start.
    """
    eta, alpha = decay_of(schedule)
    modes = place.modes
    moments = linearised_moments(steps, np.array([eta]), alpha, modes)
    iterate, average = moments.iterate[0], moments.average[0]
    bias_sq, bias_gap = _bias(place, settled_step(steps, eta, alpha, float(modes.h[0])))
    return Curves(
        {"param_distance_sq": iterate.sum(axis=1), "loss_gap": iterate @ modes.h / 2},
        {"param_distance_sq": average.sum(axis=1) + bias_sq, "loss_gap": average @ modes.h / 2 + bias_gap},
    )


def settled_step(steps: np.ndarray, eta: float, alpha: float, m: float) -> np.ndarray:
    """Mean of eta_k (1 - exp(-m (eta_1 + ... + eta_k)))^2 over k <= n, at every n of `steps`, as an integral."""
    t = np.geomspace(1.0, float(steps[-1]) + 1, 4000)
    # the stationary bias is built up as fast as the softest direction forgets
    built = (1 - np.exp(-m * eta * (1 + psi(1 - alpha, t)))) ** 2
    values = eta * t**-alpha * built
    total = np.concatenate([[0.0], np.cumsum(np.diff(t) * (values[1:] + values[:-1]) / 2)])
    # the sum up to n is an integral up to n + 1
    return np.interp(np.asarray(steps) + 1.0, t, total) / steps


def asymptote(place: Local, schedule: Schedule, steps: np.ndarray) -> Curves:
    """What remains for large n: eta_n tr V (iterate), tr(H^-1 S_mu H^-1) / n plus the squared bias (average)."""
    eta, alpha = decay_of(schedule)
    n = np.asarray(steps, dtype=np.float64)
    v = iterate_covariance(place.hessian, place.covariance)
    averaged = averaged_covariance(place.hessian, place.covariance)
    # for large n the bias is that of the mean step size
    bias_sq, bias_gap = _bias(place, eta * power_sum(alpha, steps) / n)
    step = eta * n**-alpha
    return Curves(
        {"param_distance_sq": np.trace(v) * step, "loss_gap": np.trace(place.hessian @ v) / 2 * step},
        {
            "param_distance_sq": np.trace(averaged) / n + bias_sq,
            "loss_gap": np.trace(place.hessian @ averaged) / 2 / n + bias_gap,
        },
    )


def _bias(place: Local, mean_step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared bias of the average for mean step sizes [K], and its loss."""
    unit = place.unit_bias
    if unit is None:
        return np.zeros(len(mean_step)), np.zeros(len(mean_step))
    return float(unit @ unit) * mean_step**2, float(unit @ place.hessian @ unit) / 2 * mean_step**2


BOUNDS = {
    ("param_distance_sq", "sgd"): ("ldp-sgd/theorem-3", "Theorem 3"),
    ("param_distance_sq", "asgd"): ("ldp-sgd/theorem-4/completed", "Theorem 4, completed"),
    ("loss_gap", "sgd"): ("ldp-sgd/theorem-5/last-iterate", "Theorem 5, replaced"),
    ("loss_gap", "asgd"): ("ldp-sgd/theorem-6/completed", "Theorem 6, completed"),
}


def covers(cell: Cell) -> bool:
    """Whether a cell is the paper's algorithm with a step size eta i^-alpha, on a problem whose curvature is known."""
    known = cell.algorithm.name in ("ldp-sgd", "controlled-ldp-sgd") and type(cell.schedule) in (Power, Constant)
    # the noise of capped messages depends on the gradient
    known = known and cell.privacy.mu.pure_eps is None
    return known and linear_predictor_of(cell.problem).unknown_curvature() is None


def exponent(cell: Cell, estimator: str, metric: str) -> float | None:
    """The asymptotic exponent of the squared distance; half of it for the distance, the same for the loss gap.

    Where the Hessian is not singular the loss gap is between two multiples of the squared distance near the optimum.
    """
    metric = metric.removesuffix(CONTROLLED)
    powers = {"param_distance_sq": 1.0, "loss_gap": 1.0, "param_distance": 0.5}
    if not covers(cell) or metric not in powers or is_flat(linear_predictor_of(cell.problem)):
        return None
    _, alpha = decay_of(cell.schedule)
    squared = corrected_exponent(estimator, alpha)
    return None if squared is None else powers[metric] * squared


def curves(cell: Cell, estimator: str, metric: str, steps: np.ndarray) -> Mapping[str, np.ndarray]:
    """Bound, prediction and asymptote of a cell at these steps, as far as the paper has them and they are finite."""
    metric = metric.removesuffix(CONTROLLED)
    if not covers(cell) or (metric, estimator) not in BOUNDS:
        return {}
    problem, schedule, budget = linear_predictor_of(cell.problem), cell.schedule, cell.privacy.mu
    _, alpha = decay_of(schedule)
    numbers = constants(problem, schedule, budget) | {"steps": steps}
    theorem, place = BOUNDS[metric, estimator]
    lines = {}
    # the bounds on the distance ask for curvature
    if metric == "loss_gap" or (alpha < 1 and numbers["m"] > 0):
        lines[f"bound, {place}"] = THEOREMS[theorem](numbers)
    if not is_flat(problem):
        near = local(problem, budget)
        lines["prediction, linearised recursion"] = getattr(predicted(near, schedule, steps), estimator)[metric]
        if alpha < 1:
            lines["asymptote, large n"] = getattr(asymptote(near, schedule, steps), estimator)[metric]
    return {name: own for name, values in lines.items() if np.isfinite(own := np.asarray(values, dtype=float)).any()}


@lru_cache(maxsize=64)
def _closure(problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, steps: tuple[int, ...]) -> Closure:
    """Raises UsageError where the closure of moments is not known."""
    noise_sq = finite(problem.noise_sensitivity()) ** 2 * budget.mean_inverse_square
    least = problem.scale_min if problem.has_scale else -math.inf
    return closure(gaussian_means(problem), problem.start(), noise_sq, decay_of(schedule), np.array(steps), least)


def _mean_gaps(problem: LinearPredictorProblem, laws: Laws, steps: np.ndarray) -> np.ndarray:
    """Mean loss gaps at `steps` [K] of these laws: integrals at about 30 of them, and a spline of logarithms."""
    from scipy.interpolate import CubicSpline

    picked = np.unique(np.searchsorted(steps, np.geomspace(steps[0], steps[-1], 30)))
    few = Laws(laws.mean[picked], laws.covariance[picked])
    logs = np.log(loss_gaps(gaussian_means(problem), few, problem.optimum()))
    return np.exp(CubicSpline(np.log(steps[picked]), logs)(np.log(steps)) if len(picked) > 3 else logs)


def drawn(cell: Cell, estimator: str, metric: str, steps: np.ndarray) -> Mapping[str, np.ndarray]:
    """`curves` with the closure of moments in place of the linearised recursion, where its index J is small enough.

    Of single parameters, where the mean gradient is 0: theta*, or elsewhere if gradients are clipped.
    """
    problem, algorithm = cell.problem, cell.algorithm
    if isinstance(problem, LinearPredictorProblem) and metric in cell.coordinates:
        clipped = isinstance(algorithm, ClippedLdpSgd)
        if clipped and not problem.labels:
            return {}
        place = clipped_optimum(problem, algorithm.clip) if isinstance(algorithm, ClippedLdpSgd) else problem.optimum()
        name = "fixed point, of the mean clipped gradient" if clipped else "optimum, theta*"
        return {name: np.full(len(steps), place[cell.coordinates[metric]])}
    lines = dict(curves(cell, estimator, metric, steps))
    linearised = "prediction, linearised recursion"
    if cell.algorithm.name != "ldp-sgd" or linearised not in lines:
        return lines
    name, values, known = linearised, lines[linearised], linear_predictor_of(problem)
    try:
        closed = _closure(known, cell.schedule, cell.privacy.mu, tuple(map(int, steps)))
        j = f"J = {closed.j_index:.2f}"
        if closed.j_index > MOST_INDEX:
            name += f" (J >= {closed.j_index:.2f}: too far from normal for the closure of moments)"
        elif closed.scale_distance < LEAST_DISTANCE:
            name += f" ({j}, but the bound of the scale is within {LEAST_DISTANCE:g} standard deviations)"
        else:
            name = f"prediction, closure of moments ({j}{': expect errors up to 10 %' * (closed.j_index > 0.1)})"
            laws: Laws = getattr(closed, {"sgd": "iterate", "asgd": "average"}[estimator])
            far = metric == "param_distance_sq"
            values = distances_sq(laws, known.optimum()) if far else _mean_gaps(known, laws, steps)
    except UsageError as error:
        name += f", since {error.message}"
    return {name if old == linearised else old: values if old == linearised else line for old, line in lines.items()}


LDP_SGD_THEORY = Theory(exponent, curves, drawn)
