"""Does extrapolation to step size 0 give LDP-ASGD its 1/n back, and is it worth its variance? From stored runs.

For alpha < 1/2 the average of LDP-SGD is off by B eta times the mean of k^-alpha, of order n^-alpha, and its squared
error falls like n^-2 alpha. `extrapolated-ldp-sgd` is the intercept of the iterates on their step sizes. In the limit
its squared error is (1 - alpha)^2 / alpha^2 times tr(H^-1 S_mu H^-1) / n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting import style
from dpexp.reporting.checks import Pair, in_order, rates_agree
from dpexp.reporting.claim import Check, Outcome
from dpexp.reporting.evidence import Evidence, Run
from dpexp.reporting.figure import Drawing
from dpexp.theory.ldp_sgd.sandwich import averaged_covariance, noisy_covariance

NAME = "extrapolation"
SQUARED = "param_distance_sq"
BELOW_HALF, PRIVATE = (1 / 3, 0.4), ("1", "2")
WON = ((5, "0.5"), (20, "0.5"), (20, "1"), (20, "2"))
LOST = ((5, "non-private"), (20, "non-private"))
"""(d, budget) where the best alpha of the extrapolation has the smaller or the larger error"""


def problem_of(run: Run) -> LinearPredictorProblem:
    """The problem of a run, as the linear predictor that it is."""
    assert isinstance(run.cell.problem, LinearPredictorProblem)
    return run.cell.problem


def small(evidence: Evidence, **wanted: Any) -> list[Run]:
    """Runs of the small problem, d = 5."""
    return [run for run in evidence.runs(NAME, **wanted) if problem_of(run).p == 7]


def covariance_of(run: Run) -> np.ndarray:
    """S_mu [p, p] at the optimum."""
    problem = problem_of(run)
    noise = problem.noise_sensitivity(), run.cell.privacy.mu.mean_inverse_square
    return noisy_covariance(problem.curvature().score_covariance, *noise)


def rate(evidence: Evidence) -> Outcome:
    """Exponents of the extrapolation below alpha = 1/2."""
    runs = small(evidence, alpha=BELOW_HALF, budget=PRIVATE)
    return rates_agree(runs, "extrapolated", SQUARED, lambda alpha: -1.0, "extrapolated to step size 0")


def best(evidence: Evidence, d: int, budget: str, estimator: str) -> np.ndarray:
    """Final squared errors [R] at the alpha whose mean is least."""
    runs = [run for run in evidence.runs(NAME, budget=budget) if problem_of(run).p == d + 2]
    return min((run.values(estimator, SQUARED)[-1] for run in runs), key=lambda values: float(values.mean()))


def best_of(
    settings: Sequence[tuple[int, str]], smaller: str, larger: str, predicted: str
) -> Callable[[Evidence], Outcome]:
    """The check that one estimator has the smaller error than another, with the best alpha of each."""

    def check(evidence: Evidence) -> Outcome:
        pairs = [
            Pair(f"d = {d}, {budget}", *(best(evidence, d, budget, name) for name in (smaller, larger)))
            for d, budget in settings
        ]
        return in_order(pairs, predicted)

    return check


def draw(results: Path) -> Drawing:
    """Mean squared errors over tr / n against alpha, both estimators, at the last step."""
    import pandas as pd

    runs = Evidence(results).runs(NAME)
    canvas, panels = style.panels(7.2, 3.9, 2, log=False)
    records = []
    labels = list(dict.fromkeys(run.budget for run in runs))
    for axes, d in zip(panels, (5, 20), strict=True):
        for label in labels:
            of = sorted(
                (run for run in runs if run.budget == label and problem_of(run).p == d + 2), key=lambda run: run.alpha
            )
            alphas, colour = [run.alpha for run in of], style.colour_of(label, labels)
            limits = [
                float(np.trace(averaged_covariance(problem_of(run).curvature().hessian, covariance_of(run))))
                for run in of
            ]
            for estimator, dashes in (("extrapolated", "-"), ("asgd", (0, (4, 1.6)))):
                means = [
                    run.values(estimator, SQUARED)[-1].mean() * run.steps[-1] / tr
                    for run, tr in zip(of, limits, strict=True)
                ]
                named = style.budget_name(label) if estimator == "extrapolated" else None
                axes.plot(alphas, means, color=colour, linestyle=dashes, marker="o", markersize=3, label=named)
                records += [
                    {"d": d, "budget": label, "alpha": alpha, "estimator": estimator, "error_over_limit": mean}
                    for alpha, mean in zip(alphas, means, strict=True)
                ]
        axes.set(yscale="log", xlabel=r"$\alpha$", title=f"d = {d}")
        axes.axhline(1, color="#555555", linewidth=0.8, linestyle=":")
    panels[0].set_ylabel("squared error over its limit for the average")
    panels[0].plot([], [], color="#555555", label="extrapolated")
    panels[0].plot([], [], color="#555555", linestyle=(0, (4, 1.6)), label="average")
    style.legend_below(canvas, 6)
    return Drawing(canvas, pd.DataFrame(records))


FIGURES = {
    "extrapolation": (draw, (NAME,)),
}

CHECKS = {
    "answers/extrapolation/rate": Check(rate, (NAME,)),
    "answers/extrapolation/wins": Check(
        best_of(WON, "extrapolated", "asgd", "smaller squared error than the average, best alpha of each"), (NAME,),
    ),
    "answers/extrapolation/loses": Check(
        best_of(LOST, "asgd", "extrapolated", "the average has the smaller squared error, best alpha of each"), (NAME,),
    ),
}  # fmt: skip
