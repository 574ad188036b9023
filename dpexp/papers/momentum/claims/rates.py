"""Theorems 6 and 9 of `momentum` beside runs at their schedules: bounds, the rate, and which bound is smaller."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpexp.core.bisection import narrow
from dpexp.papers.momentum.rows import DELTA, PRESCRIBED, bound_rows, prescribed_rows
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.theory.momentum import theorem6_printed, theorem6_schedule, theorem9_printed, theorem9_schedule


def printed_bound(evidence: Evidence, theorem: int) -> Outcome:
    """The bound against the runs with printed noise."""
    rows = [r for r in bound_rows(evidence.results) if r["theorem"] == theorem]
    ratios = [r["bound"] / r["ci_hi"] for r in rows]
    vacuous = all(r["bound_over_G"] > 1 for r in rows)
    verdict = "false" if min(r["bound"] / r["ci_lo"] for r in rows) < 1 else "holds as a bound"
    return Outcome(
        verdict,  # type: ignore[arg-type]
        "the measured mean gradient norm is below the bound",
        f"bound / measured: {min(ratios):.3g} to {max(ratios):.3g}, N = {rows[0]['N']:,} to {rows[-1]['N']:,}"
        + ("; every bound is above G, so it says nothing" if vacuous else ""),
        "95% intervals of the means",
        {"least": min(ratios), "most": max(ratios), "vacuous": vacuous},
    )


def theorem_6(evidence: Evidence) -> Outcome:
    """Algorithm 1."""
    return printed_bound(evidence, 6)


def theorem_9(evidence: Evidence) -> Outcome:
    """Algorithm 2."""
    return printed_bound(evidence, 9)


def rate_6(evidence: Evidence) -> Outcome:
    """Slope in N of the runs with exact noise, beside that of their noise-free twins."""
    slopes, errors = {}, {}
    for variant in ("exact", "none"):
        rows: Any = prescribed_rows(evidence.results)
        rows = rows[(rows.method == "tree") & (rows.variant == variant)].sort_values("N").tail(4)
        x, y = np.log(rows.N.to_numpy(float)), np.log(rows["mean"].to_numpy(float))
        weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
        slopes[variant] = float(weights @ y)
        errors[variant] = float(np.sqrt(np.sum((weights * (rows.se / rows["mean"]).to_numpy(float)) ** 2)))
    near = abs(slopes["exact"] + 0.5) < 0.15
    alike = abs(slopes["exact"] - slopes["none"]) < 0.15
    verdict = "not testable" if alike else "reproduced" if near else "false"
    return Outcome(
        verdict,  # type: ignore[arg-type]
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

    high = narrow(lambda power: excess(power) <= 0, 3.0, 30.0, absolute=1e-3).above
    steps = theorem9_schedule(int(10**high), 10, 1.0, DELTA).steps
    return Outcome(
        "not testable" if steps > 1e12 else "reproduced",
        "a better bound than Algorithm 1's",
        f"d = 10, eps = 1: the bound is smaller beyond N = 10^{high:.1f} only, where T = {steps:.1g}",
        "closed form",
        {"log10_N": high},
    )


CLAIMS = (
    Claim("momentum/theorem-6", "Theorem 6", "The bound on the mean gradient norm of Algorithm 1.", "upper",
          (PRESCRIBED,), theorem_6, "95% interval of every mean", "holds as a bound",
          "larger than G at every size that can be run"),
    Claim("momentum/theorem-6/rate", "Theorem 6, rate", "The rate N^-1/2 is that of privacy.", "rate", (PRESCRIBED,),
          rate_6, "0.15 in the exponent; a noise-free twin with the same slope leaves nothing to test", "not testable",
          "the schedule's own path length gives the same slope without any noise"),
    Claim("momentum/theorem-9", "Theorem 9", "The bound on the mean gradient norm of Algorithm 2.", "upper",
          (PRESCRIBED,), theorem_9, "95% interval of every mean", "holds as a bound", "thousands of times G"),
    Claim("momentum/theorem-9/overtakes", "Theorem 9 against Theorem 6", "Algorithm 2 has the better bound.", "ordering",
          (), overtakes, "T at the crossing must be below 10^12 to be run", "not testable",
          "constants and logarithms put the crossing far beyond any data set"),
)  # fmt: skip
