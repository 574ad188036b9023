"""Theorems 6 and 9 of `momentum` beside runs at their schedules: bounds, the rate, and which bound is smaller."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from dpexp.core.bisection import narrow
from dpexp.papers.momentum.claims.assumed import mixing, scheduled
from dpexp.papers.momentum.rows import DELTA, PRESCRIBED, bound_rows, prescribed_rows
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.slopes import RATE_TOLERANCE, slope_weights
from dpexp.theory.momentum import theorem6_printed, theorem6_schedule, theorem9_printed, theorem9_schedule


def printed_bound(theorem: int, evidence: Evidence) -> Outcome:
    """The bound of a theorem against the runs of its algorithm with printed noise."""
    rows = [r for r in bound_rows(evidence.results) if r["theorem"] == theorem]
    ratios = [r["bound"] / r["ci_hi"] for r in rows]
    vacuous = all(r["bound_over_G"] > 1 for r in rows)
    return Outcome(
        "false" if min(r["bound"] / r["ci_lo"] for r in rows) < 1 else "holds as a bound",
        "the measured mean gradient norm is below the bound",
        f"bound / measured: {min(ratios):.3g} to {max(ratios):.3g}, N = {rows[0]['N']:,} to {rows[-1]['N']:,}"
        + ("; every bound is above G, so it says nothing" if vacuous else ""),
        "95% intervals of the means",
        {"least": min(ratios), "most": max(ratios), "vacuous": vacuous},
    )


def rate_6(evidence: Evidence) -> Outcome:
    """Slope in N of the runs with exact noise, beside that of their noise-free twins."""
    slopes, errors = {}, {}
    for variant in ("exact", "none"):
        rows: Any = prescribed_rows(evidence.results)
        rows = rows[(rows.method == "tree") & (rows.variant == variant)].sort_values("N").tail(4)
        x, y = np.log(rows.N.to_numpy(float)), np.log(rows["mean"].to_numpy(float))
        weights = slope_weights(x)
        slopes[variant] = float(weights @ y)
        errors[variant] = float(np.sqrt(np.sum((weights * (rows.se / rows["mean"]).to_numpy(float)) ** 2)))
    near = abs(slopes["exact"] + 0.5) + 2 * errors["exact"] < RATE_TOLERANCE  # the whole interval
    alike = abs(slopes["exact"] - slopes["none"]) < RATE_TOLERANCE
    return Outcome(
        "not testable" if alike else "reproduced" if near else "false",
        "mean |grad F| falls like N^-1/2, because of the noise",
        f"slope of the four largest N: {slopes['exact']:.2f} with exact noise, {slopes['none']:.2f} without any",
        f"standard errors {errors['exact']:.3f} and {errors['none']:.3f}",
        slopes,
    )


def overtakes(evidence: Evidence) -> Outcome:
    """Where the printed bound of Theorem 9 falls below that of Theorem 6."""

    def excess(power: float) -> float:
        n = 10**power
        first, second = theorem6_schedule(n, 10, 1.0, DELTA), theorem9_schedule(n, 10, 1.0, DELTA)  # type: ignore[arg-type]
        six = theorem6_printed(n, 10, 1.0, DELTA, first.steps, 1.0, 1.0, 1.0)  # type: ignore[arg-type]
        return math.log(theorem9_printed(n, 10, 1.0, DELTA, second.steps, 1.0, 1.0, 1.0) / six)  # type: ignore[arg-type]

    if excess(LARGEST) > 0:
        return Outcome("false", BETTER, f"not up to N = 10^{LARGEST:g}", "closed form", {"log10_N": math.inf})
    high = narrow(lambda power: excess(power) <= 0, 3.0, LARGEST, absolute=1e-3).above
    steps = theorem9_schedule(int(10**high), 10, 1.0, DELTA).steps
    return Outcome(
        "misleading" if high > 12 else "reproduced",
        BETTER,
        f"d = 10, eps = 1: the printed bound is smaller beyond N = 10^{high:.1f} only, where T = {steps:.1g}",
        "closed form",
        {"log10_N": high},
    )


LARGEST = 30.0
BETTER = "a better bound than Algorithm 1's, at sizes of data sets"


def rate_9(evidence: Evidence) -> Outcome:
    """Exponent of the printed bound of Theorem 9 in N: for d and eps fixed, and for d so large that N < d^2 / eps^4."""
    fixed, wide = exponent_9(1e40, 10), exponent_9(1e25, 10**40)
    tolerance = 1 / 12  # half of the distance of the exponents that compete, 2/3 and 1/2
    reached = {name: abs(value + 2 / 3) < tolerance for name, value in (("fixed", fixed), ("wide", wide))}
    return Outcome(
        "reproduced" if all(reached.values()) else "misleading" if reached["wide"] else "false",
        "a gradient norm of the order N^-2/3",
        f"the bound falls like N^{fixed:.3f} at N = 10^40 for d = 10 and eps = 1, and like N^{wide:.3f} at N = 10^25 for d = 10^40; its "
        "term 6 G / sqrt(N) is the larger one for N above d^2 / eps^4",
        "closed form, over four decades",
        {"fixed": fixed, "wide": wide},
    )


def gammas() -> dict[str, float]:
    """gamma of Theorem 9's schedule at the ends of both ranges."""
    places = ((10**40, 10), (10**44, 10), (10**25, 10**40), (10**29, 10**40))
    return {f"N = {n:.0e}, d = {d:.0e}": theorem9_schedule(n, d, 1.0, DELTA).gamma for n, d in places}


def exponent_9(n: float, d: int) -> float:
    """log-log slope of the printed bound over four decades from n, at its own schedule, gap = G = L = eps = 1."""
    values = []
    for size in (n, n * 1e4):
        schedule = theorem9_schedule(int(size), d, 1.0, DELTA)
        values.append(theorem9_printed(int(size), d, 1.0, DELTA, schedule.steps, 1.0, 1.0, 1.0))
    return math.log(values[1] / values[0]) / math.log(1e4)


AS_SCHEDULED = (scheduled("tree", theorem6_schedule, "runs follow Theorem 6's schedule, with T >= N and alpha <= 1"),)
CLAIMS = (
    Claim("momentum/theorem-6", "Theorem 6", "The bound on the mean gradient norm of Algorithm 1.", "upper",
          (PRESCRIBED,), partial(printed_bound, 6), "95% interval of every mean", "holds as a bound",
          "larger than G at every size that can be run",
          quote="(3/2 R + 6L√(log_2 T log(1/δ)) + 12G√(log_2 T log(1/δ))^(1/4)) d^(1/4)",
          false_if="A measured mean gradient norm at the prescribed schedule is certainly above the bound.",
          hypotheses=AS_SCHEDULED),
    Claim("momentum/theorem-6/rate", "Introduction, contributions", "At Theorem 6's schedule the gradient norm falls like N^-1/2, and the noise for privacy is why.",
          "rate", (PRESCRIBED,), rate_6, "0.15 in the exponent; a noise-free twin with the same slope leaves nothing to test", "not testable",
          "the schedule's own path length gives the same slope without any noise",
          quote="This allows us to achieve the same asymptotic bound Õ(d^(1/4)/√(ϵN))",
          false_if="The runs fall at another rate than N^-1/2 while their noise-free twins do not.",
          hypotheses=AS_SCHEDULED),
    Claim("momentum/theorem-9", "Theorem 9", "The bound on the mean gradient norm of Algorithm 2.", "upper",
          (PRESCRIBED,), partial(printed_bound, 9), "95% interval of every mean", "holds as a bound", "thousands of times G",
          quote="(3/2 R + 24K(G + 2L) + 12L)d^(1/3)/(ϵN)^(2/3) + 6G/√N + 36GK√d/(ϵN) + 9KL√d/(ϵN)",
          false_if="A measured mean gradient norm at the prescribed schedule is certainly above the bound.",
          hypotheses=(scheduled("reduced", theorem9_schedule, "runs follow Theorem 9's schedule, with gamma <= 1/2 and alpha <= 1"),)),
    Claim("momentum/abstract/rate", "Abstract", "Algorithm 2 finds gradients of norm N^-2/3, for d and eps fixed.", "rate",
          (), rate_9, "1/12 in the exponent, half of the distance between 2/3 and 1/2", "misleading",
          "Theorem 9 has the term 1 / sqrt(N) besides, which the abstract leaves out: the rate is N^-2/3 only while N < d^2 / eps^4",
          quote="finds a gradient of norm Õ(d^{1/3}/(ϵN)^{2/3})",
          false_if="The printed bound of Theorem 9 falls at another rate even where N < d^2 / eps^4.",
          hypotheses=(mixing(gammas()),)),
    Claim("momentum/theorem-9/overtakes", "Section 4, first sentence", "Algorithm 2 has the better bound, at sizes of data sets.", "ordering",
          (), overtakes, "a crossing at 10^12 records or fewer", "misleading",
          "true asymptotically in the first term; constants and logarithms put the crossing far beyond any data set",
          quote="we will devise an algorithm that has an asymptotically tighter bound than Õ(d^(1/4)/√(ϵN))",
          false_if="The printed bound of Theorem 9 is nowhere below that of Theorem 6."),
)  # fmt: skip
