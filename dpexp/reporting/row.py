"""Checks from theory alone: printed numbers and computed ones, bounds and exact values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

from dpexp.core.text import few
from dpexp.reporting.claim import Check, Outcome, Printing, Rule, Verdict

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
        measured += f"; off in {len(off)} of {len(pairs)}: {few(off, 4)}" if off else ""
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
    more: Callable[[float], str] | None = None,
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
            more(least) if more else "",
        ]
        numbers = {"least": least, "most": largest, "cases": many, "below": below}
        return Outcome(otherwise if below else verdict, predicted, "; ".join(filter(None, words)), uncertainty, numbers)

    return by_rule(rule)
