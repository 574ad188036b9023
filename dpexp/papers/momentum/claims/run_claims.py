"""`momentum` and its runs: bounds and rates at the prescribed schedules, and which of the tuned methods is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.papers.momentum.momentum_runs import DELTA, METHODS, PRESCRIBED, TUNED, best_rows, last_rows
from dpexp.problems.finite_sum import RippledMean
from dpexp.reporting.claim import Check, Outcome, Verdict
from dpexp.theory.momentum.momentum_formulas import theorem6_printed, theorem9_printed
from dpexp.theory.slopes import RATE_TOLERANCE, slope_weights


def printed_bound(theorem: int, rows: Any) -> Outcome:
    """The bound of a theorem against the mean gradient norm of the runs of its algorithm with printed noise."""
    method, bound_of = {6: ("tree", theorem6_printed), 9: ("reduced", theorem9_printed)}[theorem]
    rows = rows[(rows.method == method) & (rows.variant == "paper")].sort_values("N")
    bounds = []
    for row in rows.itertuples():
        p = RippledMean(N=int(row.N), d=int(row.d))
        # F >= -amplitude, so the gap is at most this
        gap = p.objective(p.start())[0] + p.amplitude
        bounds.append(bound_of(p.count, p.dimension, 1.0, DELTA, int(row.step), gap, p.lipschitz, p.smoothness))
    ratios = [float(bound / high) for bound, high in zip(bounds, rows.ci_hi, strict=True)]
    # no gradient is longer than G, whatever the run does
    vacuous = min(bounds) > p.lipschitz
    return Outcome(
        "false" if np.any(bounds < rows.ci_lo) else "holds as a bound",
        "the measured mean gradient norm is below the bound",
        f"bound / measured: {min(ratios):.3g} to {max(ratios):.3g}, N = {rows.N.min():,} to {rows.N.max():,}"
        + ("; every bound is above G, so it says nothing" if vacuous else ""),
        "95% intervals of the means",
        {"least": min(ratios), "most": max(ratios), "vacuous": vacuous},
    )


def rate_6(prescribed: Any) -> Outcome:
    """Slope in N of the runs with exact noise, and that of their noise-free twins."""
    slopes, errors = {}, {}
    for variant in ("exact", "none"):
        own = (prescribed.method == "tree") & (prescribed.variant == variant)
        rows = prescribed[own].sort_values("N").tail(4)
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


def tuned_places(results: Path) -> list[dict[str, Any]]:
    """The best private settings of the tuned runs: method, place and its words, mean and interval over G, ends in words."""
    rows: Any = best_rows(results, TUNED)
    rows = rows[np.isfinite(rows.eps)].sort_values(["N", "d", "eps"])
    keys = ("method", "ends", "mean", "ci_lo", "ci_hi")
    return [
        {"place": f"N = {r.N}, d = {r.d}, eps = {r.eps:g}"} | {name: getattr(r, name) for name in keys}
        for r in rows.itertuples()
    ]


def smaller(
    places: Sequence[Mapping[str, Any]], than: str, predicted: str, inside: bool = False, other: bool = False
) -> Outcome:
    """Whether Algorithm 2 ends with smaller gradients than another method, or with `other` the other way round.

    Reproduced if certainly so in most places and certainly not so in none, false if the reverse. With `inside`
    Algorithm 2 counts as better only where the other's best setting is inside its grid. The words name every end.
    """
    records = {(r["method"], r["place"]): r for r in places}
    better, worse, words = 0, 0, []
    for (name, place), mine in records.items():
        theirs = records.get((than, place))
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


def of_gradients(check: Callable[[Any], Outcome]) -> Check:
    """A check of the mean gradient norms of the prescribed runs."""
    return Check(lambda evidence: check(last_rows(evidence.results, PRESCRIBED, "mean_grad_norm")), (PRESCRIBED,))


PRACTICE = "Algorithm 2 ends with smaller gradients than Algorithm 1, both tuned"
FULL_BATCH = "noisy full-batch descent ends with smaller gradients than Algorithm 2, both tuned"
CHECKS = {
    "momentum/theorem-6": of_gradients(partial(printed_bound, 6)),
    "momentum/theorem-6/rate": of_gradients(rate_6),
    "momentum/theorem-9": of_gradients(partial(printed_bound, 9)),
    "momentum/section-4/practice": Check(
        lambda evidence: smaller(tuned_places(evidence.results), "tree", PRACTICE, inside=True), TUNED
    ),
    "momentum/section-4/full-batch": Check(
        lambda evidence: smaller(tuned_places(evidence.results), "descent", FULL_BATCH, other=True), TUNED
    ),
}
