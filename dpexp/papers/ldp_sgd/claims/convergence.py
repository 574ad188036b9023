"""`ldp-sgd`, section 5: which of the two estimators "converges faster", as drawn and as a rate.

The paper reads it off figures of 300,000 users. There a curve may still be forgetting its start, and its slope is then no
rate. So every such sentence is asked twice: of the slopes as drawn, over the last decade of the paper's own settings, and
of runs that have settled. A sentence that is true of one and false of the other is misleading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dpexp.papers.ldp_sgd.hypotheses import between, bounded, curved, iterates
from dpexp.papers.ldp_sgd.runs import Used, used
from dpexp.reporting.checks import JOINT, last_decade
from dpexp.reporting.claim import Claim, Outcome, Verdict
from dpexp.reporting.evidence import Evidence, Run
from dpexp.reporting.hypothesis import Hypothesis
from dpexp.reporting.slopes import RATE_TOLERANCE, log_contrast, rate, slope_weights
from dpexp.store.stats import t_quantile


def slope_difference(run: Run, metric: str, looks: int) -> tuple[float, float]:
    """Slope of the average minus that of the iterate over the last decade, paired, and its reach at the joint level."""
    late = last_decade(run)
    weights = slope_weights(np.log(run.steps[late].astype(np.float64)))
    values = np.concatenate([run.values(e, metric)[late] for e in ("asgd", "sgd")])
    difference, se = log_contrast(np.concatenate([weights, -weights]), values)
    return difference, t_quantile(values.shape[1] - 1, 1 - JOINT / looks) * se


def is_settled(run: Run, metric: str) -> bool:
    return all(rate(run.steps, run.values(e, metric)).agrees_within(RATE_TOLERANCE) for e in ("asgd", "sgd"))


def compared(drawn: Used, at_rest: Used, metric: str, faster: bool) -> Callable[[Evidence], Outcome]:
    """The check that the average converges faster (or slower) than the iterate, as drawn and in runs that have settled."""

    def check(evidence: Evidence) -> Outcome:
        settled = [run for run in at_rest(evidence) if is_settled(run, metric)]
        as_drawn, as_rate = (_signs(runs, metric, faster) for runs in (drawn(evidence), settled))
        word = "faster" if faster else "slower"
        return Outcome(
            _verdict(as_drawn.state, as_rate.state),
            f"the average's slope is the {'steeper' if faster else 'less steep'} one",
            f"as drawn: the average {word} in {as_drawn.words}; in runs that have settled: {word} in {as_rate.words}; "
            f"{len(at_rest(evidence)) - len(settled)} more runs still drift",
            "joint 95%, slopes of the last decade paired by replicate",
            {"drawn": as_drawn.differences, "settled": as_rate.differences},
        )

    return check


class _Signs(NamedTuple):
    """In how many runs the stated order of the slopes holds, and in how many the other one, each with certainty."""

    state: str
    words: str
    differences: dict[str, list[float]]


def _signs(runs: Sequence[Run], metric: str, faster: bool) -> _Signs:
    found = {run.name: slope_difference(run, metric, len(runs)) for run in runs}
    sign = -1 if faster else 1
    right = sum(sign * difference - reach > 0 for difference, reach in found.values())
    wrong = sum(sign * difference + reach < 0 for difference, reach in found.values())
    state = "wrong" if wrong else "right" if found and right == len(found) else "open"
    words = f"{right} of {len(found)} (the other way round in {wrong}, undecided in {len(found) - right - wrong})"
    return _Signs(state, words, {name: list(pair) for name, pair in found.items()})


def _verdict(drawn: str, settled: str) -> Verdict:
    """Right or wrong in both senses; misleading where the two senses part; else the runs do not decide."""
    if "open" in (drawn, settled):
        return "not at this sample size"
    if drawn != settled:
        return "misleading"
    return "reproduced" if drawn == "right" else "false"


BELOW, BELOW_RATES = (
    used(names, alpha=(1 / 3, 0.4)) for names in (("linear_d5", "interior_linear"), ("rates_linear",))
)
ABOVE, ABOVE_RATES = (
    used(names, alpha=alpha)
    for names, alpha in ((("interior_linear",), (0.8, 0.9)), (("rates_linear", "rates_quadratic"), (0.8,)))
)
LOGISTIC = used(("logistic_d5", "interior_logistic"), alpha=(1 / 3, 0.4, 0.5, 2 / 3, 0.8, 0.9))
LOGISTIC_RATES = used(("rates_logistic",))
SLOPES = "joint 95% on the difference of the two slopes; a slope that drifts between two decades is no rate"
BOTH = "In one run as drawn and in one that has settled the other slope is the steeper with certainty; misleading if in one sense only."


def _assumes(drawn: Used, settled: Used, words: str, low: float, high: float) -> tuple[Hypothesis, ...]:
    return (
        *(of(runs) for runs in (drawn, settled) for of in (iterates, bounded, curved)),
        *(between(runs, words, low, high) for runs in (drawn, settled)),
    )


CLAIMS = (
    Claim(
        "ldp-sgd/section-5/asgd-faster", "Section 5.1, Figure 2",
        "For alpha in (0, 1/2) LDP-ASGD converges faster than LDP-SGD.",
        "rate", ("linear_d5", "interior_linear", "rates_linear"), compared(BELOW, BELOW_RATES, "param_distance_sq", True), SLOPES,
        "reproduced", "",
        quote="For alpha in (0, 1/2), the LDP-ASGD estimator exhibits faster convergence compared to the LDP-SGD estimator",
        false_if=BOTH, hypotheses=_assumes(BELOW, BELOW_RATES, "(0, 1/2)", 0.0, 0.5),
    ),
    Claim(
        "ldp-sgd/section-5/asgd-slower", "Section 5.1, Figure 2",
        "For alpha in (2/3, 1) LDP-ASGD converges more slowly than LDP-SGD.",
        "rate", ("interior_linear", "rates_linear", "rates_quadratic"), compared(ABOVE, ABOVE_RATES, "param_distance_sq", False),
        SLOPES, "misleading",
        "true of the figure, whose curves still forget their start; once they have settled, the average is the faster one",
        quote="when alpha in (2/3, 1), the convergence of the LDP-ASGD estimator is slower than that of the LDP-SGD estimator",
        false_if=BOTH, hypotheses=_assumes(ABOVE, ABOVE_RATES, "(2/3, 1)", 2 / 3, 1.0),
    ),
    Claim(
        "ldp-sgd/figure-4/asgd-faster", "Section 5.2, Figure 4",
        "For any alpha in (0, 1) the loss of LDP-ASGD converges faster than that of LDP-SGD.",
        "rate", ("logistic_d5", "interior_logistic", "rates_logistic"), compared(LOGISTIC, LOGISTIC_RATES, "loss_gap", True), SLOPES,
        "misleading",
        "true of the rates, once both have settled; in the figure the average is the slower one from alpha = 2/3 on",
        quote="For any alpha in (0, 1), the LDP-ASGD estimator exhibits faster convergence compared to the LDP-SGD estimator.",
        false_if=BOTH, hypotheses=_assumes(LOGISTIC, LOGISTIC_RATES, "(0, 1)", 0.0, 1.0),
    ),
)  # fmt: skip
