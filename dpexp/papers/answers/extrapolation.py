"""Does extrapolation to step size 0 give LDP-ASGD its 1/n back, and is it worth its variance? From stored runs.

For alpha < 1/2 the average of LDP-SGD is off by B eta times the mean of k^-alpha, of order n^-alpha, and its squared
error falls like n^-2 alpha. `extrapolated-ldp-sgd` is the intercept of the iterates on their step sizes. In the limit
its squared error is (1 - alpha)^2 / alpha^2 times tr(H^-1 S_mu H^-1) / n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dpexp.reporting.checks import Pair, in_order, rates_agree
from dpexp.reporting.claim import Check, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.figure import Drawing
from dpexp.reporting.of_results.choose import Wishes
from dpexp.reporting.of_results.draw import declared
from dpexp.reporting.of_results.scene import Request

NAME = "extrapolation"
SQUARED = "param_distance_sq"
BELOW_HALF, PRIVATE = (1 / 3, 0.4), ("1", "2")
WON = ((5, "0.5"), (20, "0.5"), (20, "1"), (20, "2"))
LOST = ((5, "non-private"), (20, "non-private"))
"""(d, budget) where the best alpha of the extrapolation has the smaller or the larger error"""


def rate(evidence: Evidence) -> Outcome:
    """Exponents of the extrapolation below alpha = 1/2."""
    runs = evidence.runs(NAME, d=5, alpha=BELOW_HALF, budget=PRIVATE)
    return rates_agree(runs, "extrapolated", SQUARED, lambda alpha: -1.0, "extrapolated to step size 0")


def best(evidence: Evidence, d: int, budget: str, estimator: str) -> np.ndarray:
    """Final squared errors [R] at the alpha whose mean is least."""
    # the best alpha of each, as somebody would choose it who knew all
    ends = [run.values(estimator, SQUARED)[-1] for run in evidence.runs(NAME, budget=budget, d=d)]
    return min(ends, key=lambda values: float(values.mean()))


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
    """Final squared errors against alpha, both estimators, a panel a dimension."""
    wishes = Wishes(x="alpha", hue="mu", facet=("d",))
    request = Request(SQUARED, wishes, ("extrapolated", "asgd"), title="Extrapolated to step size 0")
    return declared(NAME, request, results)


FIGURES = {"extrapolation": (draw, (NAME,))}

CHECKS = {
    "answers/extrapolation/rate": Check(rate, (NAME,)),
    "answers/extrapolation/wins": Check(
        best_of(WON, "extrapolated", "asgd", "smaller squared error than the average, best alpha of each"), (NAME,),
    ),
    "answers/extrapolation/loses": Check(
        best_of(LOST, "asgd", "extrapolated", "the average has the smaller squared error, best alpha of each"), (NAME,),
    ),
}  # fmt: skip
