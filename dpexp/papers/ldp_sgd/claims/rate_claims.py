"""`ldp-sgd`, section 5: which of both estimators "converges faster", of the slopes as drawn and of steady slopes.

A curve of 300,000 users may still be forgetting its start, and its slope is then no rate: a sentence that is true of one
and false of the other is misleading.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpexp.papers.ldp_sgd.ldp_sgd_runs import Used
from dpexp.reporting.checks import JOINT, last_decade
from dpexp.reporting.claim import Check, Outcome, Verdict
from dpexp.store.evidence import Evidence, Run
from dpexp.theory.slopes import RATE_TOLERANCE, log_contrast, rate, slope_weights, t_quantile


def slope_difference(run: Run, metric: str, looks: int) -> tuple[float, float]:
    """Slope of the average minus that of the iterate over the last decade, paired, and its reach at the joint level."""
    late = last_decade(run)
    weights = slope_weights(np.log(run.steps[late].astype(np.float64)))
    # one contrast of both curves, so that what a replicate does to both cancels
    values = np.concatenate([run.values(e, metric)[late] for e in ("asgd", "sgd")])
    difference, se = log_contrast(np.concatenate([weights, -weights]), values)
    return difference, t_quantile(values.shape[1] - 1, 1 - JOINT / looks) * se


def is_steady(run: Run, metric: str) -> bool:
    """Whether both slopes of the last decade agree with those of the decade before."""
    return all(rate(run.steps, run.values(e, metric)).agrees_within(RATE_TOLERANCE) for e in ("asgd", "sgd"))


def compared(drawn: Used, at_rest: Used, metric: str, faster: bool, alphas: str) -> Check:
    """The check that the average converges faster (or slower) than the iterate, as drawn and in steady runs."""

    def check(evidence: Evidence) -> Outcome:
        # a curve that still forgets its start has a slope and no rate
        steady = [run for run in at_rest(evidence) if is_steady(run, metric)]
        as_drawn, counts, differences = _signs(drawn(evidence), metric, faster)
        as_rate, at_last, others = _signs(steady, metric, faster)
        word = "faster" if faster else "slower"
        return Outcome(
            _verdict(as_drawn, as_rate),
            f"the average's slope is the {'steeper' if faster else 'less steep'} one",
            f"as drawn: the average {word} in {counts}; in runs whose slopes are steady: {word} in {at_last}; "
            f"{len(at_rest(evidence)) - len(steady)} more runs still drift",
            "joint 95%, slopes of the last decade paired by replicate",
            {"drawn": differences, "steady": others},
        )

    return Check(check, (*drawn.experiments, *at_rest.experiments))


def _signs(runs: Sequence[Run], metric: str, faster: bool) -> tuple[str, str, dict[str, list[float]]]:
    """Whether the stated order of the slopes holds, in how many runs with certainty, and all differences of slopes."""
    differences = {run.name: slope_difference(run, metric, len(runs)) for run in runs}
    sign = -1 if faster else 1
    right = sum(sign * difference - reach > 0 for difference, reach in differences.values())
    wrong = sum(sign * difference + reach < 0 for difference, reach in differences.values())
    state = "wrong" if wrong else "right" if differences and right == len(differences) else "open"
    words = f"{right} of {len(differences)} (the other way round in {wrong}, undecided in {len(differences) - right - wrong})"
    return state, words, {name: list(pair) for name, pair in differences.items()}


def _verdict(drawn: str, steady: str) -> Verdict:
    """Right or wrong in both senses; misleading where the two senses part; else the runs do not decide."""
    if "open" in (drawn, steady):
        return "not at this sample size"
    if drawn != steady:
        return "misleading"
    return "reproduced" if drawn == "right" else "false"


BELOW, BELOW_RATES = (
    Used(*names, alpha=(1 / 3, 0.4)) for names in (("linear_d5", "interior_linear"), ("rates_linear",))
)
ABOVE, ABOVE_RATES = Used("interior_linear", alpha=(0.8, 0.9)), Used("rates_linear", "rates_quadratic", alpha=0.8)
DRAWN_LOGISTIC = Used("logistic_d5", "interior_logistic", alpha=(1 / 3, 0.4, 0.5, 2 / 3, 0.8, 0.9))
STEADY_LOGISTIC = Used("rates_logistic")
CHECKS = {
    "ldp-sgd/section-5/asgd-faster": compared(BELOW, BELOW_RATES, "param_distance_sq", True, "(0, 1/2)"),
    "ldp-sgd/section-5/asgd-slower": compared(ABOVE, ABOVE_RATES, "param_distance_sq", False, "(2/3, 1)"),
    "ldp-sgd/figure-4/asgd-faster": compared(DRAWN_LOGISTIC, STEADY_LOGISTIC, "loss_gap", True, "(0, 1)"),
}  # fmt: skip
