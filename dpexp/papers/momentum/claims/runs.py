"""`momentum` beside runs: bounds and rates at the prescribed schedules, and section 4's idea that noise stops growing.

Theorems 6 and 9 are held against runs at their schedules; tuned runs say whether less noise helps where it can be run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.roots import narrow
from dpexp.papers.momentum.claims.assumed import mixing, scheduled
from dpexp.papers.momentum.claims.privacy import EXACT
from dpexp.papers.momentum.levels import crossing, fixed_path_levels
from dpexp.papers.momentum.rows import (
    DELTA,
    METHODS,
    PRESCRIBED,
    TUNED,
    G,
    prescribed_rows,
    tuned_rows,
    tuned_settings,
)
from dpexp.problems.robust_means import RippledMean
from dpexp.reporting.claim import Check, Outcome, Verdict, of_rows
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.row import above, near
from dpexp.reporting.slopes import RATE_TOLERANCE, slope_weights
from dpexp.theory.momentum.formulas import theorem6_printed, theorem6_schedule, theorem9_printed, theorem9_schedule


def printed_bound(theorem: int, evidence: Evidence) -> Outcome:
    """The bound of a theorem against the mean gradient norm of the runs of its algorithm with printed noise."""
    method, bound_of = {6: ("tree", theorem6_printed), 9: ("reduced", theorem9_printed)}[theorem]
    rows: Any = prescribed_rows(evidence.results)
    rows = rows[(rows.method == method) & (rows.variant == "paper")].sort_values("N")
    bounds = []
    for row in rows.itertuples():
        p = RippledMean(N=int(row.N), d=int(row.d))
        # F >= -amplitude, so the gap is at most this
        gap = p.objective(p.start())[0] + p.amplitude
        bounds.append(bound_of(p.count, p.dimension, 1.0, DELTA, int(row.step), gap, p.lipschitz, p.smoothness))
    ratios = [float(bound / high) for bound, high in zip(bounds, rows.ci_hi, strict=True)]
    # no gradient is longer than G, whatever the run does
    vacuous = min(bounds) > G
    return Outcome(
        "false" if np.any(bounds < rows.ci_lo) else "holds as a bound",
        "the measured mean gradient norm is below the bound",
        f"bound / measured: {min(ratios):.3g} to {max(ratios):.3g}, N = {rows.N.min():,} to {rows.N.max():,}"
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
        # the four largest N, whose errors are independent
        weights = slope_weights(x)
        slopes[variant] = float(weights @ y)
        errors[variant] = float(np.sqrt(np.sum((weights * (rows.se / rows["mean"]).to_numpy(float)) ** 2)))
    near = abs(slopes["exact"] + 0.5) + 2 * errors["exact"] < RATE_TOLERANCE  # the whole interval
    # runs without noise that fall as fast say that the noise is not what is seen
    alike = abs(slopes["exact"] - slopes["none"]) < RATE_TOLERANCE
    return Outcome(
        "not testable" if alike else "reproduced" if near else "false",
        "mean |grad F| falls like N^-1/2, because of the noise",
        f"slope of the four largest N: {slopes['exact']:.2f} with exact noise, {slopes['none']:.2f} without any",
        f"standard errors {errors['exact']:.3f} and {errors['none']:.3f}",
        slopes,
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


AS_SCHEDULED = (scheduled("tree", theorem6_schedule, "runs follow Theorem 6's schedule, with T >= N and alpha <= 1"),)


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


def tuned_places(results: Path) -> list[dict[str, Any]]:
    """The best private settings of the tuned runs: method, place and its words, mean and interval over G, ends in words."""
    rows: Any = tuned_rows(results)
    rows = rows[np.isfinite(rows.eps)].sort_values(["N", "d", "eps"])
    return [
        {"method": r.method, "place": f"N = {r.N}, d = {r.d}, eps = {r.eps:g}", "ends": r.ends}
        | {name: getattr(r, name) / G for name in ("mean", "ci_lo", "ci_hi")}
        for r in rows.itertuples()
    ]


def smaller(than: str, predicted: str, inside: bool = False, other: bool = False) -> Callable[[Evidence], Outcome]:
    """The check that Algorithm 2 ends with smaller gradients than another method, or with `other` the other way round.

    Reproduced if certainly so in most places and certainly not so in none, false if the reverse. With `inside`
    Algorithm 2 counts as better only where the other's best setting lies inside its grid. The words name every end.
    """

    def check(evidence: Evidence) -> Outcome:
        found = {(r["method"], r["place"]): r for r in tuned_places(evidence.results)}
        better, worse, words = 0, 0, []
        for (name, place), mine in found.items():
            theirs = found.get((than, place))
            # none of its settings is a candidate
            if name != "reduced" or theirs is None:
                continue
            # a rival whose best setting is at an end of its grid may have a better one beyond it
            # inside it more settings could not turn that round, as those of Algorithm 2 can only lower its own mean
            better += int(mine["ci_hi"] < theirs["ci_lo"] and not (inside and theirs["ends"]))
            worse += int(mine["ci_lo"] > theirs["ci_hi"])
            ends = [f"{METHODS[r['method']]} at an end: {r['ends']}" for r in (mine, theirs) if r["ends"]]
            words.append(f"{mine['mean']:.3g} against {theirs['mean']:.3g} ({', '.join([place, *ends])})")
        better, worse = (worse, better) if other else (better, worse)
        verdict: Verdict = "not at this sample size"
        if worse == 0 and 2 * better > len(words):
            verdict = "reproduced"
        elif better == 0 and 2 * worse > len(words):
            verdict = "false"
        return Outcome(
            verdict,
            predicted,
            f"certainly so in {better} of {len(words)} settings, certainly the other way round in {worse}; final |grad F| / G, "
            f"Algorithm 2 first: {'; '.join(words)}",
            "95% intervals, best of each grid",
            {"places": len(words), "better": better, "worse": worse},
        )

    return check


def _setting(row: Mapping[str, Any]) -> str:
    return f"{METHODS[row['method']]}, N = {row['N']:,}, d = {row['d']}, eps = {row['eps']:g}"


CERTIFIED_BY_ITERATES = "the noise of Algorithm 2 is what its iterates need, certified for every position of a record"
of_tuned = partial(of_rows, load=lambda evidence: tuned_settings(evidence.results), name=_setting)
GRIDS_ASSUME = (
    of_tuned(
        "every method's noise is set by an analysis that holds for it", holds=lambda r: r["guarantee"], guarantee=False
    ),
    of_tuned(
        CERTIFIED_BY_ITERATES,
        holds=lambda r: r["method"] != "reduced" or r["accountant"].startswith("certified-iterates"),
        accountant="exact-sensitivities",
    ),
    of_tuned(
        "both algorithms have alpha = 1 / N",
        holds=lambda r: r["method"] not in ("tree", "reduced") or abs(r["alpha_n"] - 1) < 1e-9,
        alpha_n=2.0,
    ),
)
"""of every private setting of the tuned grids"""


CHECKS = {
    "momentum/theorem-6": Check(partial(printed_bound, 6), (PRESCRIBED,)).assuming(*AS_SCHEDULED),
    "momentum/theorem-6/rate": Check(rate_6, (PRESCRIBED,)).assuming(*AS_SCHEDULED),
    "momentum/theorem-9": Check(partial(printed_bound, 9), (PRESCRIBED,)).assuming(
        scheduled("reduced", theorem9_schedule, "runs follow Theorem 9's schedule, with gamma <= 1/2 and alpha <= 1"),
    ),
    "momentum/abstract/rate": near(
        lambda: {label: (-2 / 3, exponent_9(*place)) for label, place in PLACES.items()}, HALF_WAY,
        "exponent of N in the bound", "misleading",
        lambda: "its term 6 G / sqrt(N) is the larger one for N above d^2 / eps^4", "closed form, over four decades",
    ).assuming(
        mixing({f"N = {n:.0e}, d = {d:.0e}": theorem9_schedule(n, d, 1.0, DELTA).gamma
                for n, d in ((10**40, 10), (10**44, 10), (10**25, 10**40), (10**29, 10**40))}),
    ),
    "momentum/theorem-9/overtakes": above(
        overtakes, "a better bound than Algorithm 1's, at sizes of data sets", "d = 10, eps = 1", "closed form",
        "10^12 / N from which on it is the smaller one", held="reproduced", otherwise="misleading",
    ),
    "momentum/section-4/noise": near(
        exponents, 0.05, "exponent of the noise in the epochs", more=by_their_iterates, uncertainty=EXACT,
    ),
    "momentum/section-4/practice": Check(
        smaller("tree", "Algorithm 2 ends with smaller gradients than Algorithm 1, both tuned", inside=True),
        TUNED,
    ).assuming(*GRIDS_ASSUME),
    "momentum/section-4/full-batch": Check(
        smaller("descent", "noisy full-batch descent ends with smaller gradients than Algorithm 2, both tuned", other=True),
        TUNED,
    ).assuming(*GRIDS_ASSUME),
}  # fmt: skip
