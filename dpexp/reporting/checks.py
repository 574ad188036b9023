"""The statistics that claims share: does a bound hold, is one error smaller than another, is a rate reached.

Where several comparisons are read together, intervals are widened to a joint 95% level (Bonferroni), and replicates
are paired by their common random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.text import counted, few
from dpexp.reporting.claim import Outcome, Verdict
from dpexp.reporting.evidence import Run, labels
from dpexp.reporting.slopes import SlopeError, rate
from dpexp.store.stats import interval, paired_difference
from dpexp.theory.theorem import Theorem

JOINT = 0.05
"""error of all comparisons of a claim together"""


class Pair(NamedTuple):
    """Two sets of replicates on common random numbers; the first should have the smaller mean."""

    label: str
    smaller: np.ndarray
    larger: np.ndarray


class Ratio(NamedTuple):
    """A measured mean over its prediction, with its interval."""

    label: str
    value: float
    low: float
    high: float


def bound_holds(
    runs: Sequence[Run], statement: Theorem, numbers_of: Callable[[Run], Mapping[str, Any]], log10: bool = False
) -> Outcome:
    """Whether a theorem's bound is above the measured mean of every run, at every checkpoint.

    `numbers_of` gives the plain numbers that the theorem takes, of a run and at its steps. `log10`: the theorem returns
    log10.
    """
    # every checkpoint of every run may accuse the theorem, so all of them share the level
    looks = sum(len(run.steps) for run in runs)
    least, worst, ends, violations = math.inf, "", [], []
    for run in runs:
        mean, low, _ = interval(run.values(statement.estimator, statement.quantity), 1 - JOINT / looks)
        limit = statement(numbers_of(run))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = limit - np.log10(mean) if log10 else np.log10(limit / mean)
            # violated where even the lower end of the interval is above the bound
            certain = (limit if log10 else np.log10(limit)) < np.log10(np.maximum(low, 1e-300))
        # every bound is above a mean of zero
        ratio = np.where(mean > 0, ratio, math.inf)
        k = int(np.argmin(ratio))
        ends.append(float(ratio[-1]))
        if ratio[k] < least:
            least, worst = float(ratio[k]), f"{run.name}, n = {run.steps[k]:,}"
        if np.any(certain):
            violations.append(run.name)
    final = [min(ends), max(ends)]
    return Outcome(
        "false" if violations else "holds as a bound",
        "the measured mean is below the bound at every checkpoint",
        f"bound / measured mean: at least {_power(least)} ({worst}); at the last step {_power(final[0])} to "
        f"{_power(final[1])}{_listed(f'exceeded in {len(violations)} of {len(runs)} runs', violations)}",
        f"a violation must clear the joint 95% interval over {looks:,} looks",
        {"runs": len(runs), "least_log10_looseness": least, "final_log10_looseness": final, "violated": violations},
    )


def in_order(pairs: Sequence[Pair], predicted: str) -> Outcome:
    """Whether the first mean is the smaller one in every pair.

    All significantly so: reproduced. One significantly the other way: false. Else undecided at this size.
    """
    # one pair that is wrong by chance would make the claim false, so that they share the level
    level = 1 - JOINT / len(pairs)
    differences = {pair.label: paired_difference(pair.smaller, pair.larger, level) for pair in pairs}
    ratios = [Ratio(label, d.ratio, d.ratio_lo, d.ratio_hi) for label, d in differences.items()]
    wrong = [f"{r.label} ({r.value:.3g})" for r in ratios if r.low > 1]
    undecided = [f"{r.label} ({r.value:.3g})" for r in ratios if r.low <= 1 <= r.high]
    values = [r.value for r in ratios]
    measured = f"ratio of means {min(values):.3g} to {max(values):.3g} in {counted(len(pairs), 'comparison')}"
    measured += _listed(f"above 1 in {len(wrong)}", wrong) + _listed(f"undecided in {len(undecided)}", undecided)
    reach = max(r.high - r.value for r in ratios)
    uncertainty = f"+- {reach:.2g} at most, joint 95% over {len(pairs)}, paired by replicate"
    numbers = {"ratios": {r.label: [r.value, r.low, r.high] for r in ratios}}
    return Outcome(_verdict(wrong, undecided), predicted, measured, uncertainty, numbers)


def rates_agree(
    runs: Sequence[Run], estimator: str, metric: str, exponent: Callable[[float], float | None], source: str
) -> Outcome:
    """Whether the mean falls like n^exponent(alpha) in every run: last decade, steady, within the tolerance.

    Reached in all: reproduced. Steady at a slower rate in one: false. Reached or faster in all: a bound.
    """
    words, states, numbers, exponents = [], list[str](), {}, []
    for run, label in zip(runs, labels(runs), strict=True):
        power = exponent(run.alpha)
        if power is None:
            raise ValueError(f"{source} gives no exponent for alpha = {run.alpha}")
        try:
            measured = rate(run.steps, run.controlled(estimator, metric))
        except SlopeError as error:
            words.append(f"{label}: {error}")
            states.append("unresolved")
            continue
        last, state = measured.last, measured.compared(power)
        states.append(state)
        exponents.append(power)
        words.append(f"{label}: {last.slope:.2f} [{last.ci_lo:.2f}, {last.ci_hi:.2f}] ({state})")
        numbers[label] = {
            "printed": power, "slope": last.slope, "ci": [last.ci_lo, last.ci_hi], "before": measured.before.slope,
            "drift_se": measured.drift_se, "state": state,
        }  # fmt: skip
    verdict: Verdict = "not at this sample size"
    if "slower" in states:
        verdict = "false"
    elif {*states} <= {"reached", "faster"}:
        verdict = "holds as a bound" if "faster" in states else "reproduced"
    n = int(max(run.steps[-1] for run in runs))
    predicted = f"{source}: " + ", ".join(f"{value:.2f}" for value in dict.fromkeys(exponents))
    return Outcome(verdict, predicted, "; ".join(words), f"slope of the last decade to n = {n:,}, 95%", numbers)


def ratio_to(label: str, values: np.ndarray, predicted: float, looks: int) -> Ratio:
    """Mean of the replicates [R] over a predicted number, with an interval at the joint level for `looks` looks."""
    return Ratio(label, *(float(end) / predicted for end in interval(values, 1 - JOINT / looks)))


def ratio_over_decade(label: str, run: Run, estimator: str, metric: str, predicted: np.ndarray, looks: int) -> Ratio:
    """Measured over predicted [K], averaged over the last decade of steps within each replicate."""
    late = last_decade(run)
    # an iterate forgets its past within a decade: the mean of ratios has a smaller error than the last step
    values = run.values(estimator, metric)[late] / np.asarray(predicted)[late][:, None]
    return ratio_to(label, values.mean(axis=0), 1.0, looks)


def paired_over_decade(label: str, run: Run, other: Run, estimator: str, metric: str, looks: int) -> Ratio:
    """Mean of one run over that of another with the same users, averaged over the last decade of steps, paired."""
    late = last_decade(run)
    # every step counts alike, though errors fall along the decade
    weights = 1 / other.values(estimator, metric)[late].mean(axis=1)
    mine, base = (weights @ r.values(estimator, metric)[late] for r in (run, other))
    difference = paired_difference(mine, base, 1 - JOINT / looks)
    return Ratio(label, difference.ratio, difference.ratio_lo, difference.ratio_hi)


def last_decade(run: Run) -> np.ndarray:
    """Which checkpoints lie in the last decade of steps; bool [K]."""
    return run.steps >= run.steps[-1] / 10


def predictions_agree(ratios: Sequence[Ratio], tolerance: float, predicted: str) -> Outcome:
    """Whether measured over predicted is 1 within the tolerance, the whole interval included, in every case.

    Outside it with the whole interval in one: false. Neither in one: the size does not decide, as where no case is.
    """
    if not ratios:
        return Outcome("not at this sample size", predicted, "no run is near enough to the optimum", "none")
    count, low, high = len(ratios), 1 - tolerance, 1 + tolerance
    wrong = [r.label for r in ratios if r.low > high or r.high < low]
    near = [r for r in ratios if r.low <= high and r.high >= low]
    undecided = [r.label for r in near if not (r.low >= low and r.high <= high)]
    measured = "measured / predicted: " + "; ".join(f"{r.label} {r.value:.3f}" for r in ratios)
    measured += _listed(f"off in {len(wrong)} of {count}", wrong)
    measured += _listed(f"undecided in {len(undecided)} of {count}", undecided)
    reach = max(r.high - r.value for r in ratios)
    uncertainty = f"+- {reach:.2g} at most, joint 95% over {count}; it must lie within {tolerance:.0%}"
    numbers = {r.label: [r.value, r.low, r.high] for r in ratios}
    return Outcome(_verdict(wrong, undecided), predicted, measured, uncertainty, numbers)


def _verdict(wrong: Sequence[str], undecided: Sequence[str]) -> Verdict:
    return "false" if wrong else "not at this sample size" if undecided else "reproduced"


def _listed(words: str, cases: Sequence[str]) -> str:
    """The first of some cases after a count; empty where there is none."""
    return f"; {words}: {few(cases, 4)}" if cases else ""


def _power(log10: float) -> str:
    """A ratio given by its logarithm: 2.6, 181, or 1e77."""
    if math.isinf(log10):
        return "infinite"
    return f"{10**log10:.3g}" if abs(log10) < 5 else f"1e{log10:.0f}"
