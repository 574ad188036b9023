"""What decides claims: statistics of runs (a bound, an order, a rate, a prediction), and cases that theory computes.

Where several comparisons of runs are read together, intervals are widened to a joint 95% level (Bonferroni), and
replicates are paired by their common random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.text import counted, few
from dpexp.reporting.claim import Check, Outcome, Printing, Rule, Verdict
from dpexp.reporting.results.labels import CONTROLLED
from dpexp.store.evidence import Run, labels
from dpexp.store.stats import interval, paired_difference
from dpexp.theory.slopes import SlopeError, rate
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


def controlled(run: Run, estimator: str, metric: str) -> np.ndarray:
    """[K, R]: the values less their control variate, where the run has one: the same mean, for rates.

    The mean of the control is a prediction, which these values do not test.
    """
    has_control = metric + CONTROLLED in run.data.metrics
    return run.values(estimator, metric + CONTROLLED if has_control else metric)


def bound_holds(
    runs: Sequence[Run], statement: Theorem, numbers_of: Callable[[Run], Mapping[str, Any]], log10: bool = False
) -> Outcome:
    """Whether a theorem's bound is above the measured mean of every run, at every checkpoint.

    `numbers_of` gives the plain numbers that the theorem takes, of a run and at its steps. `log10`: the theorem returns
    log10.
    """
    # every checkpoint of every run may accuse the theorem, so all of them share the level
    looks = sum(len(run.steps) for run in runs)
    least, worst, ends, violations, unknown = math.inf, "", [], [], []
    for run in runs:
        mean, low, _ = interval(run.values(statement.estimator, statement.quantity), 1 - JOINT / looks)
        limit = statement(numbers_of(run))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = limit - np.log10(mean) if log10 else np.log10(limit / mean)
            # violated where even the lower end of the interval is above the bound
            certain = (limit if log10 else np.log10(limit)) < np.log10(np.maximum(low, 1e-300))
        # every bound is above a mean of zero; a mean of replicates of which one diverged is compared with none
        ratio = np.where((mean > 0) & np.isfinite(mean), ratio, math.inf)
        unknown += [] if np.isfinite(mean).all() else [run.name]
        k = int(np.argmin(ratio))
        ends.append(float(ratio[-1]))
        if ratio[k] < least:
            least, worst = float(ratio[k]), f"{run.name}, n = {run.steps[k]:,}"
        violations += [run.name] if np.any(certain) else []
    final = [min(ends), max(ends)]
    return Outcome(
        "false" if violations else "not at this sample size" if unknown else "holds as a bound",
        "the measured mean is below the bound at every checkpoint",
        f"bound / measured mean: at least {_power(least)} ({worst}); at the last step {_power(final[0])} to "
        f"{_power(final[1])}{_listed(f'exceeded in {len(violations)} of {len(runs)} runs', violations)}"
        f"{_listed(f'diverged in {len(unknown)} of {len(runs)} runs', unknown)}",
        f"a violation must clear the joint 95% interval over {looks:,} looks",
        {"runs": len(runs), "least_log10_looseness": least, "final_log10_looseness": final, "violated": violations},
    )


def in_order(pairs: Sequence[Pair], predicted: str) -> Outcome:
    """Whether the first mean is the smaller one in every pair.

    All significantly so: reproduced. One significantly the other way: false. Else undecided at this size.
    """
    # one pair that is wrong by chance would make the claim false, so that they share the level
    level, count = 1 - JOINT / len(pairs), len(pairs)
    differences = {pair.label: paired_difference(pair.smaller, pair.larger, level) for pair in pairs}
    ratios = [Ratio(label, d.ratio, d.ratio_lo, d.ratio_hi) for label, d in differences.items()]
    verdict, wrong, undecided, reach = _within(ratios, -math.inf, 1)
    values = [r.value for r in ratios]
    measured = f"ratio of means {min(values):.3g} to {max(values):.3g} in {counted(count, 'comparison')}"
    measured += _listed(f"above 1 in {len(wrong)}", [f"{r.label} ({r.value:.3g})" for r in wrong])
    measured += _listed(f"undecided in {len(undecided)}", [f"{r.label} ({r.value:.3g})" for r in undecided])
    uncertainty = f"+- {reach} at most, joint 95% over {count}, paired by replicate"
    numbers = {"ratios": {r.label: [r.value, r.low, r.high] for r in ratios}}
    return Outcome(verdict, predicted, measured, uncertainty, numbers)


def rates_agree(
    runs: Sequence[Run], estimator: str, metric: str, exponent: Callable[[float], float | None], source: str
) -> Outcome:
    """Whether the mean falls like n^exponent(alpha) in every run: last decade, steady, within the tolerance.

    Reached in all: reproduced. Steady at a slower rate in one: false. Reached or faster in all: a bound.
    """
    words, states, numbers, exponents = [], set[str](), {}, []
    for run, label in zip(runs, labels(runs), strict=True):
        power = exponent(run.alpha)
        if power is None:
            raise ValueError(f"{source} gives no exponent for alpha = {run.alpha}")
        try:
            measured = rate(run.steps, controlled(run, estimator, metric))
        except SlopeError as error:
            words.append(f"{label}: {error}")
            states.add("unresolved")
            continue
        last, state = measured.last, measured.compared(power)
        states.add(state)
        exponents.append(power)
        words.append(f"{label}: {last.slope:.2f} [{last.ci_lo:.2f}, {last.ci_hi:.2f}] ({state})")
        numbers[label] = {
            "printed": power, "slope": last.slope, "ci": [last.ci_lo, last.ci_hi], "before": measured.before.slope,
            "drift_se": measured.drift_se, "state": state,
        }  # fmt: skip
    verdict: Verdict = "false" if "slower" in states else "not at this sample size"
    if states <= {"reached", "faster"}:
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
    count, (verdict, wrong, undecided, reach) = len(ratios), _within(ratios, 1 - tolerance, 1 + tolerance)
    measured = "measured / predicted: " + "; ".join(f"{r.label} {r.value:.3f}" for r in ratios)
    measured += _listed(f"off in {len(wrong)} of {count}", [r.label for r in wrong])
    measured += _listed(f"undecided in {len(undecided)} of {count}", [r.label for r in undecided])
    uncertainty = f"+- {reach} at most, joint 95% over {count}; it must lie within {tolerance:.0%}"
    return Outcome(verdict, predicted, measured, uncertainty, {r.label: [r.value, r.low, r.high] for r in ratios})


def _within(ratios: Sequence[Ratio], least: float, most: float) -> tuple[Verdict, list[Ratio], list[Ratio], str]:
    """The verdict on ratios that should be in a range, those wholly outside, those that are not wholly inside, and how
    far the longest interval reaches.

    An interval that is not a number, as of runs that diverged, decides nothing.
    """
    wrong = [r for r in ratios if r.low > most or r.high < least]
    undecided = [r for r in ratios if r not in wrong and not least < r.low <= r.high < most]
    verdict: Verdict = "false" if wrong else "not at this sample size" if undecided else "reproduced"
    return verdict, wrong, undecided, f"{max(r.high - r.value for r in ratios):.2g}"


def _listed(words: str, cases: Sequence[str]) -> str:
    """The first of some cases after a count; empty where there is none."""
    return f"; {words}: {few(cases, 4)}" if cases else ""


def _power(log10: float) -> str:
    """A ratio given by its logarithm: 2.6, 181, or 1e77."""
    if math.isinf(log10):
        return "infinite"
    return f"{10**log10:.3g}" if abs(log10) < 5 else f"1e{log10:.0f}"


# --- from theory alone: printed numbers and computed ones, bounds and exact values

EXACT = "exact law: error below 1e-9"
EVALUATED = "none: evaluated as printed"
ROUNDING = 1e-9
"""relative error of the exact laws, which is no violation"""
MANY = 9
"""cases that are listed by name; of more the largest distance is given"""


def by_rule(rule: Rule) -> Check:
    """The check of a rule; tests try the rule on papers that print other numbers."""
    return Check(lambda evidence: rule(lambda printed, computed: printed), rule=rule)


def case_of(ratios: Mapping[str, float]) -> str:
    """The first case whose ratio is the least, up to `ROUNDING`. Raises ValueError where there is no case.

    Which of several equal ones is the least depends on the machine, and the words of a verdict must not.
    """
    value = min(ratios.values())
    near = (name for name, ratio in ratios.items() if math.isclose(ratio, value, rel_tol=ROUNDING))
    return next(near, next(iter(ratios)))  # none is near a NaN


# Cases are evaluated once for all papers that a rule is tried on: only the printed numbers differ.
def near(
    cases: Callable[[], Mapping[str, tuple[float, float]]],
    tolerance: float,
    quantity: str,
    otherwise: Verdict = "false",
    uncertainty: str = EVALUATED,
) -> Check:
    """Reproduced where in every case (printed, computed) both agree up to a tolerance."""
    cases = cache(cases)

    def rule(printing: Printing) -> Outcome:
        # digits below the tolerance depend on the machine, and 0.0 is added so that no word has a zero with a sign
        digits = 2 - math.floor(math.log10(tolerance or 1e-12))
        rounded = {label: (printed, round(value, digits) + 0.0) for label, (printed, value) in cases().items()}
        pairs = {label: (printing(*pair) + 0.0, pair[1]) for label, pair in rounded.items()}
        off = [label for label, (printed, value) in pairs.items() if not abs(value - printed) <= tolerance]
        measured = ", ".join(f"{value:.6g} ({label})" for label, (_, value) in pairs.items())
        if len(pairs) > MANY:
            distance = max(abs(value - printed) for printed, value in pairs.values())
            first, *_, last = pairs
            measured = f"at most {distance:.2g} from the printed one in {len(pairs)} cases, {first} to {last}"
        measured += _listed(f"off in {len(off)} of {len(pairs)}", off)
        predicted = few(list(dict.fromkeys(f"{printed:.6g}" for printed, _ in pairs.values())), MANY)
        verdict, numbers = otherwise if off else "reproduced", {label: list(pair) for label, pair in pairs.items()}
        return Outcome(verdict, f"{quantity}: {predicted}", f"{quantity}: {measured}", uncertainty, numbers)

    return by_rule(rule)


def above(
    ratios: Callable[[], Mapping[str, float]],
    predicted: str,
    setting: str = "",
    uncertainty: str = EXACT,
    quantity: str = "bound / exact",
    more: Callable[[float], str] = lambda least: "",
    verdict: Verdict = "holds as a bound",
    otherwise: Verdict = "false",
    turned: bool = False,
) -> Check:
    """Holds as a bound where no bound over exact value is below 1. `more`: further words, from the least ratio.

    `turned`: the words have exact value over bound, the largest first, as `quantity` has it.
    """
    ratios = cache(ratios)

    def rule(printing: Printing) -> Outcome:
        values = {label: printing(ratio, 1.0) for label, ratio in ratios().items()}
        worst, many = case_of(values), len(values)
        below = [label for label, ratio in values.items() if not ratio >= 1 - ROUNDING]
        least, largest = values[worst], max(values.values())
        first, last = ((1 / ratio if ratio else math.inf) if turned else ratio for ratio in (least, largest))
        words = [
            f"{quantity}: {first:.3g} ({worst})" + (f" to {last:.3g} in {many} comparisons" if many > 1 else ""),
            setting,
            f"{'above' if turned else 'below'} 1 in {len(below)} of {many}" if below else "",
            more(least),
        ]
        numbers = {"least": least, "most": largest, "cases": many, "below": below}
        return Outcome(otherwise if below else verdict, predicted, "; ".join(filter(None, words)), uncertainty, numbers)

    return by_rule(rule)
