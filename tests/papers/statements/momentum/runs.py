"""`momentum` beside runs: bounds and rates at the prescribed schedules, and section 4's idea that noise stops growing.

Theorems 6 and 9 are held against runs at their schedules; tuned runs say whether less noise helps where it can be run.
"""

from __future__ import annotations

import math

from dpexp.accounting.search import narrow
from dpexp.papers.momentum.momentum_runs import DELTA
from dpexp.papers.momentum.noise_levels import crossing, fixed_path_levels
from dpexp.reporting.row import above, near
from dpexp.theory.momentum.momentum_formulas import (
    theorem6_printed,
    theorem6_schedule,
    theorem9_printed,
    theorem9_schedule,
)
from tests.papers.statements.momentum.privacy import EXACT


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


CERTIFIED = (2, 4, 8, 16)
"""epochs at which the iterates of N = 1000 are accounted for"""


def exponents() -> dict[str, tuple[float, float]]:
    """Exponent of the noise in the epochs from 16 to 128 at one path length, exactly calibrated; nodes as in the paper's proof."""
    early, late = fixed_path_levels(1000, 16, 2.2), fixed_path_levels(1000, 128, 2.2)
    pairs = {"Algorithm 1": (0.5, early.tree, late.tree), "Algorithm 2, by nodes": (0.0, early.nodes, late.nodes)}
    return {name: (printed, math.log(b / a) / math.log(8)) for name, (printed, a, b) in pairs.items()}


def by_their_iterates() -> str:
    first, *_, last = [levels.reduced / levels.tree for levels in (fixed_path_levels(1000, k, 2.2) for k in CERTIFIED)]
    return (
        f"what the iterates need is {first:.2f} of Algorithm 1's noise at {CERTIFIED[0]} epochs and {last:.2f} at "
        f"{CERTIFIED[-1]}: less from {crossing(1000, 2.2, CERTIFIED):.0f} epochs on (N = 1000)"
    )


CHECKS = {
    "momentum/abstract/rate": near(
        lambda: {label: (-2 / 3, exponent_9(*place)) for label, place in PLACES.items()}, HALF_WAY,
        "exponent of N in the bound", "misleading",
        lambda: "its term 6 G / sqrt(N) is the larger one for N above d^2 / eps^4", "closed form, over four decades",
    ),
    "momentum/theorem-9/overtakes": above(
        overtakes, "a better bound than Algorithm 1's, at sizes of data sets", "d = 10, eps = 1", "closed form",
        "10^12 / N from which on it is the smaller one", held="reproduced", otherwise="misleading",
    ),
    "momentum/section-4/noise": near(
        exponents, 0.05, "exponent of the noise in the epochs", more=by_their_iterates, uncertainty=EXACT,
    ),
}  # fmt: skip
