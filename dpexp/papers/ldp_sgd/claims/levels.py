"""`ldp-sgd`: levels that closed forms predict. All of these are ours; the paper predicts rates and bounds only.

H is the Hessian of the risk at the optimum and S_mu the covariance of what a user sends there, both exact. The iterate's
mean squared error and loss gap follow from the second moments of theta_k - theta* -> (I - eta_k H)(theta_k - theta*) -
eta_k noise, the average's from H^-1 S_mu H^-1 / n, and its bias from the third derivative of the risk.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpexp.papers.ldp_sgd.hypotheses import strongly, strongly_smooth
from dpexp.papers.ldp_sgd.predictions import asymptote, decay_of, local
from dpexp.papers.ldp_sgd.runs import constants_of, local_of, predicted_of, problem_of, used
from dpexp.reporting.checks import predictions_agree, ratio_over_decade, ratio_to
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence, Run
from dpexp.theory.ldp_sgd.linearised import linearised_moments
from dpexp.theory.ldp_sgd.psi import power_sum
from dpexp.theory.ldp_sgd.sandwich import averaged_covariance

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule
    from dpexp.privacy.budgets import Budget
    from dpexp.problems.linear_predictor import LinearPredictorProblem

NEAR = 0.25
"""root mean square distance to which the linearised iteration is taken at its word: there F''' adds a few percent"""
PAPER = ("linear_d5", "logistic_d5", "budget_mix")
RATES = ("rates_linear", "rates_quadratic", "rates_logistic")
CONTROL = used(("rates_quadratic",), alpha=(0.5, 0.8))
QUADRATIC = used(("rates_quadratic",), alpha=(1 / 3, 0.4, 0.5, 0.6, 2 / 3))
BIASED = used(("rates_linear",), alpha=(1 / 3, 0.4))


def settled_runs(evidence: Evidence) -> list[Run]:
    """Runs with 10^7 users whose iterate is stationary, to first order in the step size.

    alpha = 0.8 has not forgotten earlier steps (they count for n^(alpha - 1) / (2 m eta), 10%), and the logistic problem
    at alpha = 1/3 still takes steps of 0.1 where its curvature changes.
    """
    runs = evidence.across(RATES, alpha=(1 / 3, 0.4, 0.5, 0.6, 2 / 3))
    return [run for run in runs if run.cell.experiment != "rates_logistic" or run.alpha > 0.35]


def paper_runs(evidence: Evidence) -> list[Run]:
    return [run for run in evidence.across(PAPER) if run.alpha < 1]


def near(evidence: Evidence) -> list[Run]:
    """The paper's runs with alpha < 1 that end near the optimum and have forgotten the start, by the recursion alone."""
    cells = [(run, run.cell) for run in paper_runs(evidence)]
    return [run for run, cell in cells if _is_near(problem_of(run), cell.schedule, cell.privacy.mu, cell.run.n)]


@lru_cache(maxsize=256)
def _is_near(problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> bool:
    eta, alpha = decay_of(schedule)
    modes = local(problem, budget).modes
    silent = modes._replace(noise=np.zeros_like(modes.noise))
    last = np.array([n])
    whole, start = (linearised_moments(last, np.array([eta]), alpha, m).iterate.sum() for m in (modes, silent))
    return bool(whole < NEAR**2 and start < 0.01 * whole)


def _labelled(run: Run) -> str:
    return ", ".join(run.traits[key] for key in ("problem", "alpha", "budget"))


def against_recursion(metric: str, evidence: Evidence) -> Outcome:
    """LDP-SGD over the last decade against the linearised recursion."""
    runs = near(evidence)
    ratios = [
        ratio_over_decade(_labelled(run), run, "sgd", metric, predicted_of(run).sgd[metric], len(runs)) for run in runs
    ]
    return predictions_agree(ratios, 0.05, "the exact second moments of the linearised iteration")


def loss_gap_of_rates(evidence: Evidence) -> Outcome:
    """LDP-SGD over the last decade against eta_n tr(H V) / 2, where H V + V H = S_mu."""
    runs, ratios = settled_runs(evidence), []
    for run in runs:
        level = asymptote(local(problem_of(run), run.cell.privacy.mu), run.cell.schedule, run.steps).sgd["loss_gap"]
        ratios.append(ratio_over_decade(_labelled(run), run, "sgd", "loss_gap", level, len(runs)))
    return predictions_agree(ratios, 0.1, "eta_n tr(H V) / 2 with H V + V H = S_mu")


def variance(evidence: Evidence) -> Outcome:
    """n E|theta_bar_n - theta*|^2 over the last decade against tr(H^-1 S_mu H^-1) on the quadratic control."""
    runs = QUADRATIC(evidence)
    traces = [(constants_of(run)["private_trace"], constants_of(run)["public_trace"]) for run in runs]
    ratios = [
        ratio_over_decade(run.traits["alpha"], run, "asgd", "param_distance_sq", private / run.steps, len(runs))
        for run, (private, _) in zip(runs, traces, strict=True)
    ]
    factor = max(private / public for private, public in traces)
    predicted = (
        f"tr(H^-1 S_mu H^-1) / n, with the privacy noise in S_mu; the printed S has a trace {factor:.0f} times smaller"
    )
    return predictions_agree(ratios, 0.15, predicted)


def average_loss(evidence: Evidence) -> Outcome:
    """The average's loss gap over the last decade against the exact second moments of a quadratic risk."""
    runs = CONTROL(evidence)
    ratios = [
        ratio_over_decade(run.traits["alpha"], run, "asgd", "loss_gap", predicted_of(run).asgd["loss_gap"], len(runs))
        for run in runs
    ]
    return predictions_agree(ratios, 0.15, "the exact second moments of the linearised average, here without a bias")


def bias(evidence: Evidence) -> Outcome:
    """Mean squared error of the averaged scale at the end against asymptotic variance plus squared bias."""
    runs = BIASED(evidence)
    ratios, shares = [], []
    for run in runs:
        place = local_of(run)
        assert place is not None
        assert place.unit_bias is not None
        eta, n = constants_of(run)["eta"], int(run.steps[-1])
        mean_step = eta * float(power_sum(run.alpha, np.array([n]))[0]) / n
        squared = float(place.unit_bias[-1] * mean_step) ** 2
        covariance = float(averaged_covariance(place.hessian, place.covariance)[-1, -1]) / n
        shares.append(squared / (squared + covariance))
        ratios.append(ratio_to(run.traits["alpha"], _scale_error(run), squared + covariance, len(runs)))
    predicted = (
        "variance tr / n plus squared bias (H^-1 F'''[V] / 2 times the mean step), of which the bias is "
        f"{min(shares):.0%} to {max(shares):.0%}; without a bias the ratio would be {1 / (1 - min(shares)):.2g} or more"
    )
    return predictions_agree(ratios, 0.15, predicted)


def _scale_error(run: Run) -> np.ndarray:
    """Squared error of the averaged scale at the end, [R]: the coefficients have no bias, by symmetry."""
    return (run.values("asgd", "param_distance_sq") - run.values("asgd", "coef_distance_sq"))[-1]


BEYOND = "One interval of measured over predicted lies outside the tolerance."
CLAIMS = (
    Claim(
        "ldp-sgd/prediction/linearised", "Section 4.1",
        "Sharpened: the linearised iteration predicts the squared distance of LDP-SGD at the end of the paper's runs.",
        "prediction", PAPER, partial(against_recursion, "param_distance_sq"), "5%, an interval over the last decade included", "reproduced",
        "in the runs that end near the optimum and have forgotten the start",
        source="ours", false_if=BEYOND, hypotheses=strongly(paper_runs),
    ),
    Claim(
        "ldp-sgd/prediction/loss-gap", "Section 4.1",
        "Sharpened: the linearised iteration predicts the mean loss gap of LDP-SGD at the end of the paper's runs.",
        "prediction", PAPER, partial(against_recursion, "loss_gap"), "5%, an interval over the last decade included", "reproduced",
        "in the runs that end near the optimum and have forgotten the start",
        source="ours", false_if=BEYOND, hypotheses=strongly(paper_runs),
    ),
    Claim(
        "ldp-sgd/prediction/loss-gap-of-rates", "Section 4.1",
        "Sharpened: the mean loss gap of LDP-SGD tends to eta_n tr(H V) / 2, where H V + V H = S_mu.",
        "prediction", RATES, loss_gap_of_rates, "10%: 128 replicates have an error of 5% over a decade", "reproduced", "",
        source="ours", false_if=BEYOND, hypotheses=strongly(settled_runs),
    ),
    Claim(
        "ldp-sgd/table-1/bias", "Table 1",
        "Corrected: the averaged scale has the bias that the third derivative of the risk predicts.",
        "prediction", ("rates_linear",), bias, "15%: the formula is of first order in the step size", "reproduced",
        "only the scale breaks the symmetry of the problem",
        source="ours", false_if=BEYOND, hypotheses=strongly_smooth(BIASED),
    ),
    Claim(
        "ldp-sgd/table-1/variance", "Theorem 4, leading term",
        "Corrected: without bias n E|theta_bar_n - theta*|^2 tends to tr(H^-1 S_mu H^-1), with the privacy noise in S_mu.",
        "prediction", ("rates_quadratic",), variance, "15%: 128 replicates have an error of 10% over a decade", "reproduced",
        "the printed S leaves the privacy noise out and would be too small; the theorem's other terms cover the difference",
        source="ours", false_if=BEYOND, hypotheses=strongly_smooth(QUADRATIC),
    ),
    Claim(
        "ldp-sgd/prediction/average-loss", "Theorem 4, leading term",
        "Sharpened: without bias the mean loss gap of LDP-ASGD is that of the linearised average (alpha = 1/2 and 0.8).",
        "prediction", ("rates_quadratic",), average_loss, "15%: 128 replicates have an error of 10% over a decade", "reproduced", "",
        source="ours", false_if=BEYOND, hypotheses=strongly_smooth(CONTROL),
    ),
)  # fmt: skip
