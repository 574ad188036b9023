"""`ldp-sgd`, section 5: what the text reads off figures 1 to 4."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import numpy as np

from dpexp.papers.ldp_sgd.ldp_sgd_runs import Used, constants_of
from dpexp.reporting.checks import JOINT, Pair, in_order, rates_agree
from dpexp.reporting.claim import Outcome
from dpexp.store.evidence import Evidence, Run
from dpexp.store.stats import interval
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, remark_exponent
from dpexp.theory.slopes import RATE_TOLERANCE, Slope, rate, rate_tolerance, t_quantile

FIRST_COMPARED = 100  # first step at which curves are compared: before, all are at the start
FIGURE_1 = Used("figure1")
STEADY = Used("figure1", alpha=0.5, budget="2")
ALPHA_ONE = Used("linear_d5", "logistic_d5", alpha=1.0)
BUDGETS, MONOTONE = Used("linear_d5"), Used("monotone_logistic")
BY_DISTANCE = Used("logistic_d5")
FIGURE_3 = Used("logistic_d5", alpha=(1 / 3, 0.5, 2 / 3))


def between(evidence: Evidence) -> Outcome:
    """Mean distance under Uniform(1, 2) between those of mu = 1 and mu = 2, at every checkpoint from 100 users on."""
    pairs = []
    for alpha in (1 / 3, 0.5, 2 / 3, 1.0):
        tight, mixed, two = (evidence.run("figure1", alpha=alpha, budget=b) for b in ("1", "Uniform(1, 2)", "2"))
        for estimator in ("sgd", "asgd"):
            values = [r.values(estimator, "param_distance") for r in (two, mixed, tight)]
            neighbours = (0, 1, "mu = 2"), (1, 2, "mu = 1")
            for k, (low, high, name) in product(np.flatnonzero(tight.steps >= FIRST_COMPARED), neighbours):
                label = f"{estimator}, alpha = {alpha:.2g}, n = {tight.steps[k]:,} against {name}"
                # each of hundreds of checkpoints may contradict, at the joint level of all
                pairs.append(Pair(label, values[low][k], values[high][k]))
    outcome = in_order(pairs, "mu = 2 below Uniform(1, 2) below mu = 1")
    return replace(outcome, numbers={"ratios": _closest_calls(outcome.numbers["ratios"])})


def _closest_calls(ratios: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Of every curve and its neighbour the ratio whose interval ends highest, out of hundreds of checkpoints."""
    nearest: dict[tuple[str, str], str] = {}
    for label, (_, _, high) in ratios.items():
        pair = (label.split(", n = ")[0], label.split(" against ")[1])
        if pair not in nearest or high > ratios[nearest[pair]][2]:
            nearest[pair] = label
    return {label: ratios[label] for label in nearest.values()}


def stability(runs: list[Run]) -> Outcome:
    """Spread of the steps of log distance along each path from 100 users on, mu = 2, alpha = 1/2."""
    (run,) = runs
    spread = {}
    for estimator in ("sgd", "asgd"):
        # on the scale of the figure, where a step at a small distance looks as large
        path = np.log(run.values(estimator, "param_distance")[run.steps >= FIRST_COMPARED])
        spread[estimator] = np.diff(path, axis=0).std(axis=0)
    outcome = in_order([Pair("mu = 2, alpha = 1/2", spread["asgd"], spread["sgd"])], "the average's paths are steadier")
    first = sum(a < s for a, s in zip(spread["asgd"][:5], spread["sgd"][:5], strict=True))
    words = f"{outcome.measured}: sd of successive steps of log distance {spread['asgd'].mean():.3f} (average), "
    words += f"{spread['sgd'].mean():.3f} (iterate); steadier in {first} of the first 5 paths"
    return replace(outcome, measured=words)


def last_slopes(runs: Sequence[Run], metric: str) -> dict[str, tuple[Run, str, Slope]]:
    """The slope of a metric over the last decade, for every run and both estimators."""
    return {
        f"{run.name}, {e}": (run, e, rate(run.steps, run.values(e, metric)).last)
        for run in runs
        for e in ("sgd", "asgd")
    }


def alpha_one(runs: list[Run]) -> Outcome:
    """Slopes at alpha = 1, where the start is forgotten like n^(-2 eta m) at best."""
    slopes_of = last_slopes(runs, "param_distance_sq")
    slopes = {name: slope for name, (*_, slope) in slopes_of.items()}
    converging = any(slope.ci_hi < -RATE_TOLERANCE for slope in slopes.values())
    moved = [
        np.sqrt(run.values(e, "param_distance_sq")[-1].mean() / constants_of(run)["delta0"])
        for run, e, _ in slopes_of.values()
    ]
    exponents = sorted({2 * constants_of(run)["eta"] * constants_of(run)["m"] for run, *_ in slopes_of.values()})
    return Outcome(
        "false" if converging else "reproduced",
        f"slopes near 0: the start is forgotten like n^-{exponents[-1]:.3f} (linear), n^-{exponents[0]:.4f} (logistic)",
        f"steepest slope {min(slope.slope for slope in slopes.values()):.3f} of {len(slopes)}; root mean square distance at the "
        f"end {min(moved):.2f} to {max(moved):.2f} times that at the start",
        "95% interval a slope",
        {name: [slope.slope, slope.ci_lo, slope.ci_hi] for name, slope in slopes.items()},
    )


def by_budget(runs: list[Run]) -> Outcome:
    """Of neighbouring budgets the larger one is closer at the last step, at every alpha."""
    pairs = [
        Pair(
            f"{tighter.name} against {looser.budget}, {e}",
            *(run.values(e, "param_distance")[-1] for run in (looser, tighter)),
        )
        for tighter, looser in pairwise(runs)
        if tighter.alpha == looser.alpha
        for e in ("sgd", "asgd")
    ]
    return in_order(pairs, "the larger budget is closer")


def diminishing(runs: list[Run]) -> Outcome:
    """Slopes of the mean distance over the last decade, logistic, all budgets, alpha in (0, 1)."""
    slopes_of = last_slopes(runs, "param_distance")
    slopes, beyond = {}, []
    for name, (run, e, last) in slopes_of.items():
        values = run.values(e, "param_distance")
        slopes[name] = [last.slope, t_quantile(values.shape[1] - 1, 1 - JOINT / len(slopes_of)) * last.se]
        if values[-1].mean() > math.sqrt(constants_of(run)["delta0"]):
            beyond.append(name)
    rising = any(slope - reach > 0 for slope, reach in slopes.values())
    flat = any(abs(slope) <= reach for slope, reach in slopes.values())
    measured = f"slopes {min(s for s, _ in slopes.values()):.2f} to {max(s for s, _ in slopes.values()):.2f} in {len(slopes)} curves"
    if beyond:
        measured += f"; {len(beyond)} still end beyond the start: {', '.join(beyond)}"
    return Outcome(
        "false" if rising else "not at this sample size" if flat else "reproduced",
        "every mean distance falls at the end",
        measured,
        f"joint 95% over {len(slopes)}",
        {**slopes},
    )


def nearest(runs: list[Run]) -> Outcome:
    """Smallest mean distance of Figure 3 against 1e-2, within half an order of magnitude."""
    run, e, value, reach = _nearest(runs)
    near = abs(math.log10(value / 1e-2)) <= 0.5
    return Outcome(
        "reproduced" if near else "false",
        "about 1e-2",
        f"{value:.4f} ({e}, {run.name})",
        f"+- {reach:.2g}, 95%",
        {"distance": value, "reach": reach},
    )


def _nearest(runs: list[Run]) -> tuple[Run, str, float, float]:
    ends = [(run, e, run.values(e, "param_distance")[-1]) for run in runs for e in ("sgd", "asgd")]
    run, e, values = min(ends, key=lambda end: float(end[2].mean()))
    mean, low, high = map(float, interval(values))
    return run, e, mean, max(mean - low, high - mean)


def floor(runs: list[Run]) -> Outcome:
    """Whether the nearest curve of Figure 3 has stopped falling."""
    run, e, value, _ = _nearest(runs)
    last = rate(run.steps, run.values(e, "param_distance")).last
    # what no estimate from so many users can go below
    limit = math.sqrt(constants_of(run)["public_trace"] / run.steps[-1])
    return Outcome(
        "misleading" if last.ci_hi < -RATE_TOLERANCE else "reproduced",
        "the distance levels off near 1e-2",
        f"slope {last.slope:.2f} over the last decade, at {value:.4f}; sampling error alone is sqrt(tr / n) = {limit:.4f}",
        f"95%: [{last.ci_lo:.2f}, {last.ci_hi:.2f}]",
        {"slope": last.slope, "sampling_error": limit},
    )


def consistent(evidence: Evidence) -> Outcome:
    """Slopes of the logistic loss gaps against the rates of remarks 3 and 4, at every alpha of Figure 4 that they cover."""
    parts = [
        rates_agree(runs, e, "loss_gap", partial(remark_exponent, e, NON_STRONGLY), f"remarks, {e}")
        for e, runs in (("sgd", CONSISTENT_SGD(evidence)), ("asgd", FIGURE_3(evidence)))
    ]
    fitted = [state for part in parts for state in part.numbers.values()]
    states = [state["state"] for state in fitted]
    # certainly less steep, with the tolerance of its own exponent
    slower = [state for state in fitted if state["ci"][0] > state["printed"] + rate_tolerance(state["printed"])]
    return Outcome(
        "false" if slower else "holds as a bound",
        "; ".join(part.predicted for part in parts),
        f"slopes {min(s['slope'] for s in fitted):.2f} to {max(s['slope'] for s in fitted):.2f}; {len(slower)} of {len(fitted)} "
        f"are less steep than printed, {states.count('reached')} reach the exponent, {states.count('faster')} are steeper, "
        f"{states.count('transient')} still drift; " + "; ".join(part.measured for part in parts),
        "95% a slope",
        {"sgd": parts[0].numbers, "asgd": parts[1].numbers},
    )


CONSISTENT_SGD = Used("logistic_d5", alpha=(0.5, 2 / 3))
CHECKS = {
    "ldp-sgd/figure-1/between": FIGURE_1.read_by(between),
    "ldp-sgd/figure-1/stable": STEADY.judged(stability),
    "ldp-sgd/section-5/alpha-1": ALPHA_ONE.judged(alpha_one),
    "ldp-sgd/figure-2/budget": BUDGETS.judged(by_budget),
    "ldp-sgd/figure-3/budget": MONOTONE.judged(by_budget),
    "ldp-sgd/figure-3/converges": FIGURE_3.judged(diminishing),
    "ldp-sgd/figure-3/nearest": BY_DISTANCE.judged(nearest),
    "ldp-sgd/figure-3/floor": BY_DISTANCE.judged(floor),
    "ldp-sgd/figure-4/consistent": FIGURE_3.read_by(consistent),
}  # fmt: skip
