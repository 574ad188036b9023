"""Theorems 3.1 and 5.1 of `noisy-sgd`: equation (3.6) at any order and inside the conditions, orders of magnitude, ours."""

from __future__ import annotations

import math
from functools import partial
from itertools import product

from dpexp.accounting.search import first_whole
from dpexp.papers.noisy_sgd.claims.instances import (
    SLOPE,
    WIDTH,
    both,
    exact,
    opposite,
)
from dpexp.papers.noisy_sgd.claims.upper import (
    CONSTANT,
    CONTRACTION,
    WIDE,
    enough,
    repaired,
    theorem_5_1,
)
from dpexp.reporting.row import EXACT, above, near


def shifted(order: float, width: float, apart: float, steps: int, contraction: float) -> float:
    """Propositions 3.2 and 5.6 at their best horizon R = T - tau: the shifts a_t of least sum of squares.

    z_T = c^R D + sum c^(R-j) s - sum c^(R-j) a_j = 0 is met with the least sum of squares by a_j in proportion to
    c^(R-j), by Cauchy and Schwarz; at c = 1 all a_j are D / R + s. z_t stays above 0, since the a_j grow with j.
    """
    best = math.inf
    for horizon in range(1, steps + 1):
        # the shift in a step that comes early has contracted by the end
        weights = [contraction**k for k in range(horizon)]
        needed = contraction**horizon * width + apart * math.fsum(weights)
        best = min(best, needed**2 / math.fsum(w * w for w in weights))
    return order / 2 * best


def propositions(contraction: float) -> dict[str, float]:
    """Two walks that differ by s in every step, in a bounded set, against the proposition at its best horizon."""
    return {
        f"s = {2 * slope:g}, order {order:g}, T = {steps:,}": shifted(order, WIDTH, 2 * slope, steps, contraction)
        / both(opposite(slope, q=1.0, contraction=contraction), steps, order)
        for slope, steps, order in product((SLOPE, 0.02), (1, 100, 1000), (2.0, 8.0))
    }


def needed(contraction: float) -> int:
    """The first of 1000 numbers of steps after which the exact divergence of quadratics is within 1% of its limit."""
    # so many steps that a contraction has forgotten the start to the last digit
    limit = exact(2.0, 10**5, contraction)
    return first_whole(lambda steps: exact(2.0, steps, contraction) > 0.99 * limit, 0, 1000)


KAPPAS = {f"kappa = {kappa:g}": (kappa, (kappa - 1) / (kappa + 1)) for kappa in range(2, 101)}
CONTRACTIONS = tuple(k / 100 for k in range(1, 100))
"""of (0, 1): D_T is its limit times (1 - c^T) / (1 + c^T), within 1% from c^T = 1 / 199 on"""


def remark_5_2() -> dict[str, tuple[float, float]]:
    """The exact divergence of strongly convex losses as the set grows, and as the steps go on in the largest set."""
    small, large = (opposite(SLOPE, half, contraction=CONTRACTION) for half in (25.0, 40.0))
    limit = both(large, 10**5, 2.0)
    return {
        "from T = 500 to 10^5": (0.0, limit / both(large, 500, 2.0) - 1),
        "from D = 50 to 80 noise units": (0.0, limit / both(small, 10**5, 2.0) - 1),
    }


SUM = "alpha/2 sum a_t^2 / sigma_t^2 is at least the divergence"


CHECKS = {
    "noisy-sgd/proposition-2-17": above(
        lambda: {f"order {a:g}, T = {t}": a / 2 * t * (2 * SLOPE) ** 2 / both(opposite(SLOPE, q=1.0), t, a)
                 for t in (1, 10, 100) for a in (2.0, 8.0)},
        SUM, WIDE,
    ),
    "noisy-sgd/proposition-3-2": above(partial(propositions, 1.0), SUM, WIDE),
    "noisy-sgd/theorem-5-1/order": above(
        partial(theorem_5_1, True),
        f"at most C alpha L^2 / (n sigma)^2 min(T, T-bar), C = {CONSTANT:g} and T-bar from the printed proof",
        f"c = {CONTRACTION}", more=enough,
    ),
    "noisy-sgd/theorem-5-1/repaired": above(
        partial(repaired, CONTRACTION, (10, 100, 10**5)),
        "equation (5.3), with the symmetrised step, is at least the exact divergence", f"contraction {CONTRACTION}",
    ),
    "noisy-sgd/theorem-5-1/stops": above(
        lambda: {k: kappa * math.log(100 * kappa) / needed(c) for k, (kappa, c) in KAPPAS.items()},
        "no growth after kappa log(100 kappa) steps, to within 1%", what="kappa log(100 kappa) / steps needed",
        held="reproduced",
    ),
    "noisy-sgd/remark-5-2": near(
        remark_5_2, 1e-6, "growth of the exact D_2", uncertainty=EXACT,
    ),
    "noisy-sgd/remark-5-3": above(
        lambda: {f"c = {c:g}": math.ceil(math.log(199) / math.log(1 / c)) / needed(c) for c in CONTRACTIONS},
        "no growth after log(199) / log(1/c) steps, to within 1%", what="log(199) / log(1/c) / steps needed",
        held="reproduced",
    ),
    "noisy-sgd/proposition-5-6": above(
        partial(propositions, CONTRACTION), SUM, WIDE,
    ),
}  # fmt: skip
