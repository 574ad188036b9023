"""`ldp-sgd`: levels that closed forms predict, all of them ours: the paper predicts rates and bounds only.

H is the Hessian of the risk at the optimum and S_mu the covariance of what a user sends there, both exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpexp.algorithms.near_the_optimum import decay_of, local
from dpexp.papers.ldp_sgd.ldp_sgd_runs import constants_of, local_of, predicted_of, problem_of, used
from dpexp.papers.ldp_sgd.predictions import asymptote
from dpexp.reporting.checks import predictions_agree, ratio_over_decade, ratio_to
from dpexp.reporting.claim import Outcome
from dpexp.reporting.evidence import Run, labels
from dpexp.theory.ldp_sgd.linearised import averaged_covariance, linearised_moments
from dpexp.theory.ldp_sgd.terms import power_sum

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule
    from dpexp.privacy.budgets import Budget
    from dpexp.problems.linear_predictor import LinearPredictorProblem

NEAR = 0.25
"""root mean square distance to which the linearised iteration is taken at its word: there F''' adds a few percent"""
PAPER = used("linear_d5", "logistic_d5", "budget_mix", keep=lambda run: run.alpha < 1)
ALPHAS = (1 / 3, 0.4, 0.5, 0.6, 2 / 3)
STATIONARY = used(
    "rates_linear", "rates_quadratic", "rates_logistic", alpha=ALPHAS,
    keep=lambda run: run.cell.experiment != "rates_logistic" or run.alpha > 0.35,
)  # fmt: skip
"""runs with 10^7 users whose iterate is stationary, to first order in the step size: alpha = 0.8 has not forgotten earlier
steps (they count for n^(alpha - 1) / (2 m eta), 10%), and the logistic problem at alpha = 1/3 still takes steps of 0.1
where its curvature changes"""
QUADRATIC = used("rates_quadratic", alpha=ALPHAS)
BIASED = used("rates_linear", alpha=(1 / 3, 0.4))


def near(runs: list[Run]) -> list[Run]:
    """Runs that end near the optimum and have forgotten the start, by the recursion alone."""
    cells = [(run, run.cell) for run in runs]
    return [run for run, cell in cells if _is_near(problem_of(run), cell.schedule, cell.privacy.mu, cell.run.n)]


@lru_cache(maxsize=256)
def _is_near(problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> bool:
    eta, alpha = decay_of(schedule)
    modes = local(problem, budget).modes
    # without noise what is left is the start
    silent = modes._replace(noise=np.zeros_like(modes.noise))
    last = np.array([n])
    total, start = (linearised_moments(last, np.array([eta]), alpha, m).iterate.sum() for m in (modes, silent))
    return bool(total < NEAR**2 and start < 0.01 * total)


def levels_agree(
    estimator: str, metric: str, level: Callable[[Run], np.ndarray], tolerance: float, predicted: str
) -> Callable[[list[Run]], Outcome]:
    """The check that a metric averaged over the last decade is what a closed form or recursion says at those steps."""

    def check(runs: list[Run]) -> Outcome:
        named = zip(labels(runs), runs, strict=True)
        ratios = [ratio_over_decade(name, run, estimator, metric, level(run), len(runs)) for name, run in named]
        return predictions_agree(ratios, tolerance, predicted)

    return check


def near_the_optimum(metric: str) -> Callable[[list[Run]], Outcome]:
    """The check that a metric of the iterate is that of the linearised recursion, in the runs to which it speaks."""
    predicted = "the exact second moments of the linearised iteration"
    check = levels_agree("sgd", metric, lambda run: predicted_of(run).sgd[metric], 0.05, predicted)
    return lambda runs: check(near(runs))


def variance(runs: list[Run]) -> Outcome:
    """n E|theta_bar_n - theta*|^2 over the last decade against tr(H^-1 S_mu H^-1) on the quadratic control."""
    traces = [(constants_of(run)["private_trace"], constants_of(run)["public_trace"]) for run in runs]
    # how far off one is who takes the printed matrix
    factor = max(private / public for private, public in traces)
    predicted = (
        f"tr(H^-1 S_mu H^-1) / n, with the privacy noise in S_mu; the printed S has a trace {factor:.0f} times smaller"
    )
    level: Callable[[Run], np.ndarray] = lambda run: constants_of(run)["private_trace"] / run.steps  # noqa: E731
    return levels_agree("asgd", "param_distance_sq", level, 0.15, predicted)(runs)


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


def limit_of_the_gap(run: Run) -> np.ndarray:
    """The iterate's loss gap [K] for large n."""
    return asymptote(local_of(run), run.cell.schedule, run.steps).sgd["loss_gap"]


CHECKS = {
    "ldp-sgd/prediction/linearised": PAPER.judged(near_the_optimum("param_distance_sq")),
    "ldp-sgd/prediction/loss-gap": PAPER.judged(near_the_optimum("loss_gap")),
    "ldp-sgd/prediction/loss-gap-of-rates": STATIONARY.judged(
        levels_agree("sgd", "loss_gap", limit_of_the_gap, 0.1, "eta_n tr(H V) / 2 with H V + V H = S_mu")
    ),
    "ldp-sgd/table-1/bias": BIASED.judged(bias),
    "ldp-sgd/table-1/variance": QUADRATIC.judged(variance),
}  # fmt: skip
