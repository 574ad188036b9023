"""Losses with a kink, `ldp-sgd`'s future work: is the average of LDP-SGD biased for alpha < 1/2 there, too?

The bias is -H^-1 F'''[V] / 2 times the mean step size.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpexp.config.cells import Cell
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.checks import JOINT, predictions_agree, ratio_to
from dpexp.reporting.claim import Check, Outcome
from dpexp.reporting.evidence import Evidence, labels
from dpexp.reporting.figure import Drawing
from dpexp.reporting.of_results.choose import Wishes
from dpexp.reporting.of_results.draw import declared
from dpexp.reporting.of_results.lines import Theory
from dpexp.reporting.of_results.scene import Request
from dpexp.store.stats import interval
from dpexp.theory.ldp_sgd.linearised import averaged_bias, linearised_moments, modes_of, noisy_covariance
from dpexp.theory.ldp_sgd.terms import power_sum

NAME, SQUARED = "kinks", "param_distance_sq"
TOLERANCE = 0.3
TIMES = 10.0
"""how often the squared error of the hinge loss is at least the one without a bias"""


def predicted(cell: Cell, steps: np.ndarray) -> np.ndarray:
    """Mean squared error of the average at these steps: the linearised recursion, and the bias where F''' is known."""
    problem, schedule = cell.problem, cell.schedule.model_dump()
    eta, alpha = float(schedule["eta"]), float(schedule["alpha"])
    assert isinstance(problem, LinearPredictorProblem)
    curvature, third = problem.curvature(), problem.third_derivative()
    noise = problem.noise_sensitivity(), cell.privacy.mu.mean_inverse_square
    covariance = noisy_covariance(curvature.score_covariance, *noise)
    modes = modes_of(curvature.hessian, covariance, problem.start() - problem.optimum())
    found = linearised_moments(steps, np.array([eta]), alpha, modes).average[0].sum(axis=-1)
    if third is None:
        return found
    mean = eta * power_sum(alpha, steps) / steps
    # the bias of a unit step grows with the mean step size so far
    return found + float(np.sum(averaged_bias(curvature.hessian, third, covariance, 1.0) ** 2)) * mean**2


def pinball(evidence: Evidence) -> Outcome:
    """Both quantiles at mu = 2, beside the prediction."""
    runs = evidence.runs(NAME, problem="pinball-linear", budget="2")
    ratios = [
        ratio_to(label, run.values("asgd", SQUARED)[-1], float(predicted(run.cell, run.steps)[-1]), len(runs))
        for run, label in zip(runs, labels(runs), strict=True)
    ]
    # of the pinball loss F''' is that of the errors' density at the quantile: 0 only at the median of symmetric errors
    return predictions_agree(ratios, TOLERANCE, "linearised recursion and bias, which is 0 at the median")


def hinge(evidence: Evidence) -> Outcome:
    """How often the error without a bias the error is."""
    runs = evidence.runs(NAME, problem="mallows-hinge")
    found = {}
    for run, label in zip(runs, labels(runs), strict=True):
        mean, low, high = interval(run.values("asgd", SQUARED)[-1], 1 - JOINT / len(runs))
        found[label] = [float(end / predicted(run.cell, run.steps)[-1]) for end in (mean, low, high)]
    return Outcome(
        "reproduced" if all(low > TIMES for _, low, _ in found.values()) else "false" if any(high < TIMES for *_, high in found.values()) else "not at this sample size",
        f"at least {TIMES:g} times the squared error of the linearised recursion",
        "measured / linearised: " + "; ".join(f"{label} {mean:.3g}" for label, (mean, _, _) in found.items()),
        f"joint 95% over {len(runs)}",
        found,
    )  # fmt: skip


def _curves(cell: Cell, estimator: str, metric: str, steps: np.ndarray) -> dict[str, np.ndarray]:
    return {"prediction": predicted(cell, steps)}


PREDICTED = Theory(lambda cell, estimator, metric: None, _curves)


def draw(results: Path) -> Drawing:
    """Mean squared error of the average against users, a colour a loss, with the prediction over it."""
    request = Request(SQUARED, Wishes(x="step", facet=("problem",)), ("asgd",), theories=(PREDICTED,), theory=True, slopes=False,
                      title="Losses with a kink", only="mu == 2")  # fmt: skip
    return declared(NAME, request, results)


FIGURES = {"kinks": (draw, (NAME,))}

CHECKS = {
    "answers/kinks/pinball": Check(pinball, (NAME,)),
    "answers/kinks/hinge": Check(hinge, (NAME,)),
}  # fmt: skip
