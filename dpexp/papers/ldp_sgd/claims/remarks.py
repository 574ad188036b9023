"""`ldp-sgd`: what the remarks read off the printed bounds. The bounds are evaluated as printed.

The plain numbers are those of the linear problem with d = 5, rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpexp.papers.ldp_sgd.ldp_sgd_runs import Used, constants_of
from dpexp.reporting.checks import EVALUATED, near
from dpexp.reporting.claim import Check, Outcome
from dpexp.store.evidence import Run
from dpexp.theory import THEOREMS
from dpexp.theory.ldp_sgd.table1 import STRONGLY, remark_exponent

# every statement here is one about exponents, which do not depend on these
NUMBERS: dict[str, Any] = {
    "eta": 0.2, "p": 7.0, "min_mu": 1.0, "delta0": 7.0, "gradient_bound": 1.98, "m": 0.0831, "M": 0.1764,
    "hessian_lipschitz": 0.0583, "public_trace": 35.8, "sensitivity": 3.91, "mean_inverse_square": 1.0,
}  # fmt: skip


# asymptotic exponents are local ones between these, where what is of lower order is gone
FAR = np.array([1e30, 1e33])
FARTHEST = np.array([1e290, 1e300])
"""where Theorem 3 forgets its start, exp(-m eta n^(1 - alpha)), also for alpha near 1; for 0.99 no number is so large"""
SLACK = 0.02  # what a logarithm adds to a local exponent at n = 10^30 is 1 / log n = 0.0145
Cases = Mapping[str, tuple[float, float]]


def bound(theorem: str, steps: np.ndarray, **changed: Any) -> np.ndarray:
    """A theorem at these numbers, but for those that are changed; alpha is among them."""
    values: np.ndarray = THEOREMS[f"ldp-sgd/{theorem}"]({**NUMBERS, "steps": steps, **changed})
    return values


def local_bound(values: np.ndarray, steps: np.ndarray = FAR) -> float:
    """Local exponent of n between the two far steps."""
    return float(np.log(values[1] / values[0]) / np.log(steps[1] / steps[0]))


def rate_of(theorem: str, alpha: float) -> float:
    """Exponent of n in a theorem; of Theorem 4 without B, which is finite and adds terms of order n^-2."""
    return local_bound(bound(theorem, FAR, alpha=alpha))


ALPHAS = tuple(k / 100 for k in range(100))  # the decays of [0, 1) at which a statement about all of them is tried


def falls_like(
    theorem: str, estimator: str, convexity: str, steps: np.ndarray = FAR, but: Sequence[float] = ()
) -> Check:
    """A bound's exponents of n and those of the remark on it, at every alpha that it covers but these."""

    def cases() -> Cases:
        printed = {a: remark_exponent(estimator, convexity, a) for a in ALPHAS if a not in but}
        return {
            f"alpha = {a:g}": (value, local_bound(bound(theorem, steps, alpha=a), steps))
            for a, value in printed.items()
            if value is not None
        }

    return near(cases, SLACK, "exponent of n")


def smallest_budget(runs: list[Run]) -> Outcome:
    """Theorem 3 for mixed budgets whose smallest is 1, over Theorem 3 for mu = 1 for all."""
    bounds = {run.budget: float(THEOREMS["ldp-sgd/theorem-3"](constants_of(run))[-1]) for run in runs}
    mixed = {budget: bound / bounds["1"] for budget, bound in bounds.items() if budget not in ("1", "2")}
    same = all(math.isclose(ratio, 1.0, rel_tol=1e-9) for ratio in mixed.values()) and bounds["2"] < bounds["1"]
    return Outcome(
        "reproduced" if same else "false",
        "mixed budgets have the bound of their smallest, mu = 1",
        "bound / bound of mu = 1 for all: "
        + "; ".join(f"{budget} {ratio:.3f}" for budget, ratio in mixed.items())
        + f"; mu = 2 for all, whose mean of 1 / mu^2 is theirs, {bounds['2'] / bounds['1']:.3f}",
        EVALUATED,
        mixed,
    )


def best_rate() -> Cases:
    """The least exponent of Theorem 6 over alpha, and where it is."""
    exponents = {alpha: rate_of("theorem-6", alpha) for alpha in ALPHAS[1:]}
    best = min(exponents, key=lambda alpha: exponents[alpha])
    return {"the least": (-0.5, exponents[best]), "its alpha": (0.5, best)}


CHECKS = {
    "ldp-sgd/remark-1/rate": falls_like("theorem-3", "sgd", STRONGLY, FARTHEST, (0.99,)),
    "ldp-sgd/remark-1/smallest-budget": Used("budget_mix").judged(smallest_budget),
    "ldp-sgd/remark-2/rate": falls_like("theorem-4/without-b", "asgd", STRONGLY),
    "ldp-sgd/remark-4/optimal": near(best_rate, SLACK, "exponent of n"),
}  # fmt: skip
