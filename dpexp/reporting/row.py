"""Rules that settle a row: what is printed beside what is found; and each tries itself on a wrong paper.

A rule is told how the paper prints a number. The sabotage of a row is a paper that prints another one: first what is
found, which must not be accused; then a number below every other, which must not be confirmed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache

from dpexp.core.text import few
from dpexp.reporting.claim import Check, Outcome, Verdict
from dpexp.reporting.evidence import Evidence

EXACT = "exact law: error below 1e-9"
ROUNDING = 1e-9
"""relative error of the exact laws, which is no violation"""


def case_of(ratios: Mapping[str, float]) -> str:
    """The first case whose ratio is the least, up to `ROUNDING`.

    Where several are equal but for rounding, which of them is the least depends on the machine, and the words of a
    verdict must not. Raises ValueError where there is no case.
    """
    value = min(ratios.values())
    near = (name for name, ratio in ratios.items() if math.isclose(ratio, value, rel_tol=ROUNDING))
    return next(near, next(iter(ratios)))  # none is near a NaN


Printing = Callable[[float, float], float]
"""what stands in the paper, from what is printed and what is found"""
Rule = Callable[[Printing], Outcome]
EVALUATED = "none: evaluated as printed"
MANY = 9
"""cases that are listed one by one; of more the largest distance is given"""
WRONG: Sequence[Printing] = (lambda printed, found: found, lambda printed, found: -abs(printed) - 1)


def by_rule(rule: Rule) -> Check:
    """A rule as the check of a claim, from theory alone."""

    def check(evidence: Evidence) -> Outcome:
        return rule(getattr(evidence, "printing", as_it_stands))

    def sabotage(evidence: Evidence) -> Evidence:
        # first what is found, which must not be accused; then a number below every other, which must not be confirmed
        for printing in WRONG:
            other = copy(evidence)
            vars(other)["printing"] = printing
            if check(other).verdict != check(evidence).verdict:
                break
        return other

    return Check(check, sabotage=sabotage)


def as_it_stands(printed: float, found: float) -> float:
    """The paper as it is."""
    return printed


# Cases are evaluated once for all papers that a rule is tried on: only what is printed differs.
def near(
    cases: Callable[[], Mapping[str, tuple[float, float]]],
    tolerance: float,
    what: str,
    otherwise: Verdict = "false",
    more: Callable[[], str] | None = None,
    uncertainty: str = EVALUATED,
) -> Check:
    """Reproduced where in every case what is found is what is printed, up to a tolerance. `cases`: printed, found."""

    cases = cache(cases)

    def rule(printing: Printing) -> Outcome:
        # what is below depends on the machine
        digits = 2 - math.floor(math.log10(tolerance or 1e-12))
        # 0.0 is added so that no word has a zero with a sign
        found_in = {label: (printed, round(found, digits) + 0.0) for label, (printed, found) in cases().items()}
        pairs = {label: (printing(*pair) + 0.0, pair[1]) for label, pair in found_in.items()}
        off = [label for label, (printed, found) in pairs.items() if not abs(found - printed) <= tolerance]
        if len(pairs) <= MANY:
            measured = f"{what}: " + ", ".join(f"{found:.6g} ({label})" for label, (_, found) in pairs.items())
        else:
            distance = max(abs(found - printed) for printed, found in pairs.values())
            first, *_, last = pairs
            measured = f"{what}: at most {distance:.2g} from the printed one in {len(pairs)} cases, {first} to {last}"
        measured += f"; off in {len(off)} of {len(pairs)}: {few(off, 4)}" if off else ""
        return Outcome(
            otherwise if off else "reproduced",
            f"{what}: " + few(list(dict.fromkeys(f"{printed:.6g}" for printed, _ in pairs.values())), MANY),
            f"{measured}; {more()}" if more else measured,
            uncertainty,
            {label: list(pair) for label, pair in pairs.items()},
        )

    return by_rule(rule)


def above(
    ratios: Callable[[], Mapping[str, float]],
    predicted: str,
    setting: str = "",
    uncertainty: str = EXACT,
    what: str = "bound / exact",
    more: Callable[[float], str] | None = None,
    held: Verdict = "holds as a bound",
    otherwise: Verdict = "false",
    turned: bool = False,
) -> Check:
    """Holds as a bound where no bound over exact value is below 1. `more`: further words, from the least ratio.

    `turned`: the words have exact value over bound, the largest first; `what` says so.
    """

    ratios = cache(ratios)

    def rule(printing: Printing) -> Outcome:
        found = {label: printing(ratio, 1.0) for label, ratio in ratios().items()}
        worst, many = case_of(found), len(found)
        below = [label for label, ratio in found.items() if not ratio >= 1 - ROUNDING]
        first, last = found[worst], max(found.values())
        if turned:
            first, last = (1 / ratio if ratio else math.inf for ratio in (first, last))
        measured = f"{what}: {first:.3g} ({worst})"
        measured += f" to {last:.3g} in {many} comparisons" if many > 1 else ""
        measured += f"; {setting}" if setting else ""
        measured += f"; {'above' if turned else 'below'} 1 in {len(below)} of {many}" if below else ""
        measured += f"; {more(found[worst])}" if more else ""
        numbers = {"least": found[worst], "most": max(found.values()), "cases": many, "below": below}
        return Outcome(otherwise if below else held, predicted, measured, uncertainty, numbers)

    return by_rule(rule)
