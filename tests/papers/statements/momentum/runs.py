"""`momentum` beside runs: bounds and rates at the prescribed schedules, and section 4's idea that noise stops growing.

Theorems 6 and 9 are held against runs at their schedules; tuned runs say whether less noise helps where it can be run.
"""

from __future__ import annotations

import math

from dpexp.accounting.search import narrow
from dpexp.papers.momentum.momentum_runs import DELTA
from dpexp.reporting.checks import above, near
from dpexp.theory.momentum.momentum_formulas import (
    theorem6_printed,
    theorem6_schedule,
    theorem9_printed,
    theorem9_schedule,
)


def overtakes() -> dict[str, float]:
    """10^12 over the N beyond which the printed bound of Theorem 9 is below that of Theorem 6."""

    def excess(power: float) -> float:
        n = 10**power
        first, second = theorem6_schedule(n, 10, 1.0, DELTA), theorem9_schedule(n, 10, 1.0, DELTA)  # type: ignore[arg-type]
        six = theorem6_printed(n, 10, 1.0, DELTA, first.steps, 1.0, 1.0, 1.0)  # type: ignore[arg-type]
        return math.log(theorem9_printed(n, 10, 1.0, DELTA, second.steps, 1.0, 1.0, 1.0) / six)  # type: ignore[arg-type]

    # by the logarithm of N: the sizes in question are beyond all numbers of records
    high = narrow(lambda power: excess(power) <= 0, 3.0, 30.0, absolute=1e-3).above
    steps = theorem9_schedule(int(10**high), 10, 1.0, DELTA).steps
    return {f"smaller beyond N = 10^{high:.1f} only, where T = {steps:.1g}": 10 ** (12 - high)}


HALF_WAY = 1 / 12
"""half of the distance of the exponents that compete, 2/3 and 1/2"""
PLACES = {"N = 10^40, d = 10, eps = 1": (1e40, 10), "N = 10^25, d = 10^40": (1e25, 10**40)}
"""d and eps fixed, and d so large that N < d^2 / eps^4"""


def exponent_9(n: float, d: int) -> float:
    """log-log slope of the printed bound over four decades from n, at its own schedule, gap = G = L = eps = 1."""
    values = []
    for size in (n, n * 1e4):
        # at its own schedule, which changes with N
        schedule = theorem9_schedule(int(size), d, 1.0, DELTA)
        values.append(theorem9_printed(int(size), d, 1.0, DELTA, schedule.steps, 1.0, 1.0, 1.0))
    return math.log(values[1] / values[0]) / math.log(1e4)


CHECKS = {
    "momentum/abstract/rate": near(
        lambda: {label: (-2 / 3, exponent_9(*place)) for label, place in PLACES.items()}, HALF_WAY, "", "misleading"
    ),
    "momentum/theorem-9/overtakes": above(overtakes, "", verdict="reproduced", otherwise="misleading"),
}
