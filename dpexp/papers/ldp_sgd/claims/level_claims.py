"""`ldp-sgd`: levels that closed forms predict, all of them ours: the paper predicts rates and bounds only.

H is the Hessian of the risk at the optimum and S_mu the covariance of what a user sends there, both exact. A declared
claim compares a mean over the last decade with `linearised`, `gap_for_large_n` or `variance` at its steps [K].
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpexp.algorithms.near_the_optimum import decay_of, local
from dpexp.papers.ldp_sgd.ldp_sgd_runs import Used, constants_of, local_of, predicted_of, problem_of
from dpexp.papers.ldp_sgd.predictions import asymptote
from dpexp.reporting.checks import predictions_agree, ratio_to
from dpexp.reporting.claim import Outcome
from dpexp.store.evidence import Run
from dpexp.theory.ldp_sgd.linearised import averaged_covariance, linearised_moments
from dpexp.theory.ldp_sgd.terms import power_sum

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule
    from dpexp.privacy.budgets import Budget
    from dpexp.problems.linear_predictor import LinearPredictorProblem

NEAR = 0.25
"""root mean square distance up to which the linearised iteration is compared: there F''' adds a few percent"""
BIASED = Used("rates_linear", alpha=(1 / 3, 0.4))


def is_near_the_optimum(run: Run) -> bool:
    """Whether a run ends near the optimum and has forgotten the start, by the recursion alone."""
    return _is_near(problem_of(run), run.cell.schedule, run.cell.privacy.mu, run.cell.run.n)


@lru_cache(maxsize=256)
def _is_near(problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> bool:
    eta, alpha = decay_of(schedule)
    modes = local(problem, budget).modes
    # without noise what is left is the start
    silent = modes._replace(noise=np.zeros_like(modes.noise))
    last = np.array([n])
    total, start = (linearised_moments(last, np.array([eta]), alpha, m).iterate.sum() for m in (modes, silent))
    return bool(total < NEAR**2 and start < 0.01 * total)


def linearised(run: Run, metric: str) -> np.ndarray:
    """A metric of the iterate by the linearised recursion."""
    return predicted_of(run).sgd[metric]


def gap_for_large_n(run: Run) -> np.ndarray:
    """The iterate's loss gap as n grows."""
    return asymptote(local_of(run), run.cell.schedule, run.steps).sgd["loss_gap"]


def variance(run: Run) -> np.ndarray:
    """The squared error of the average without bias as n grows."""
    return np.asarray(constants_of(run)["private_trace"] / run.steps)


def bias(runs: list[Run]) -> Outcome:
    """Mean squared error of the averaged scale at the end against asymptotic variance plus squared bias."""
    ratios, shares = [], []
    for run in runs:
        place = local_of(run)
        assert place.unit_bias is not None
        eta, n = constants_of(run)["eta"], int(run.steps[-1])
        # the bias is that of the mean step size so far
        mean_step = eta * float(power_sum(run.alpha, np.array([n]))[0]) / n
        # the scale is the last coordinate, and the only one with a bias
        squared = float(place.unit_bias[-1] * mean_step) ** 2
        covariance = float(averaged_covariance(place.hessian, place.covariance)[-1, -1]) / n
        shares.append(squared / (squared + covariance))
        all_parameters, coefficients = (run.values("asgd", f"{name}_distance_sq")[-1] for name in ("param", "coef"))
        # of the scale alone: the coefficients have no bias, by symmetry
        ratios.append(ratio_to(run.traits["alpha"], all_parameters - coefficients, squared + covariance, len(runs)))
    predicted = (
        "variance tr / n plus squared bias (H^-1 F'''[V] / 2 times the mean step), of which the bias is "
        f"{min(shares):.0%} to {max(shares):.0%}; without a bias the ratio would be {1 / (1 - min(shares)):.2g} or more"
    )
    return predictions_agree(ratios, 0.15, predicted)


FUNCTIONS = (is_near_the_optimum, linearised, gap_for_large_n, variance)
CHECKS = {"ldp-sgd/table-1/bias": BIASED.judged(bias)}
