"""Claims of `momentum`: its privacy by exact sensitivities, its identities by force, its bounds and rates by runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpexp.algorithms.momentum_levels import crossing, fixed_path_levels, printed_levels
from dpexp.claims.claim import Claim, Outcome
from dpexp.claims.evidence import Evidence
from dpexp.claims.identities import equation_three_errors
from dpexp.figures.momentum_runs import METHODS, PRESCRIBED, TUNED, G, prescribed_rows, tuned_rows
from dpexp.privacy.gdp import delta_of, mu_of
from dpexp.privacy.tree_calibration import multipliers
from dpexp.privacy.tree_streams import (
    occurrence_sensitivities,
    printed_counts,
    printed_sensitivities,
    stream_mu,
    stream_sensitivities,
)
from dpexp.privacy.trees import (
    fixed_order,
    largest_node_sensitivity,
    node_counts,
    printed_count,
    reshuffled_bound,
    squared_sensitivities,
)
from dpexp.tables.momentum import bounds
from dpexp.theory.momentum import (
    theorem4_printed_hypothesis,
    theorem4_sigma,
    theorem6_printed,
    theorem6_schedule,
    theorem9_printed,
    theorem9_schedule,
)

DELTA = 1e-5
EXACT = "exact, up to rounding"


def theorem_4(evidence: Evidence) -> Outcome:
    """The exact mu of the printed noise over 1 / sigma, for one order and for all orders."""
    cases = [(n, k * n + extra) for n in (5, 20, 100, 1000) for k in (1, 3, 10) for extra in (0, n // 3)]
    ratios = []
    for n, steps in cases:
        count = printed_count(n, steps)
        held = max(reshuffled_bound(n, steps, 1 / n), squared_sensitivities(fixed_order(n, steps), 1 / n).max())
        ratios.append(2 * math.sqrt(count / held))
    return Outcome(
        "holds as a bound" if min(ratios) >= 1 else "contradicted",
        "the run with the printed noise is 1 / sigma-GDP, in any order",
        f"printed over needed noise: {min(ratios):.3g} to {max(ratios):.3g} over all orders, {len(cases)} pairs (N, T)",
        "rigorous bound over orders",
        {"least": min(ratios), "most": max(ratios)},
    )


def theorem_4_sigma(evidence: Evidence) -> Outcome:
    """sigma = 2 sqrt(log 1/delta) / eps against the exact conversion."""
    savings = {eps: multipliers(eps, DELTA).saving for eps in (0.1, 0.5, 1.0, 4.0, 8.0)}
    return Outcome(
        "holds as a bound" if min(savings.values()) >= 1 else "contradicted",
        "the printed sigma gives (eps, delta)-DP",
        "printed / least sigma: " + ", ".join(f"{v:.2f} (eps = {k:g})" for k, v in savings.items()) + "; delta = 1e-5",
        EXACT,
        {f"{k:g}": v for k, v in savings.items()},
    )


def theorem_4_hypothesis(evidence: Evidence) -> Outcome:
    """delta >= exp(-eps) as printed, at eps = 40."""
    eps = 40.0
    spent = delta_of(1 / theorem4_sigma(eps, DELTA), eps)
    counter = theorem4_printed_hypothesis(eps, DELTA) and spent > DELTA
    return Outcome(
        "contradicted" if counter else "reproduced",
        "(eps, delta)-DP whenever delta >= exp(-eps)",
        f"eps = {eps:g}, delta = {DELTA:g}: the condition holds, the exact delta is {spent:.3g}",
        EXACT,
        {"delta": spent},
    )


def node_sensitivity(evidence: Evidence) -> Outcome:
    """4 alpha G for every node, against the largest over reshuffled epochs at alpha = 1 / N."""
    largest = {n: 2 * largest_node_sensitivity(n, 1 / n, reshuffled=True) for n in (10, 100, 1000)}
    fixed = 2 * largest_node_sensitivity(1000, 1e-3)
    return Outcome(
        "contradicted" if max(largest.values()) > 4 * (1 + 1e-9) else "reproduced",
        "no node's sensitivity exceeds 4 alpha G for alpha >= 1 / N",
        "in alpha G, reshuffled: " + ", ".join(f"{v:.3g} (N = {n})" for n, v in largest.items())
        + f"; one order that repeats: {fixed:.3g}",
        "closed form, attained",
        {f"{n}": v for n, v in largest.items()} | {"fixed": fixed},
    )  # fmt: skip


def count_of_nodes(evidence: Evidence) -> Outcome:
    """The printed V against the largest number of nodes that hold a record in one order, for every T up to 5 N."""
    below = []
    for n in (3, 4, 5, 8):
        for steps in range(n, 5 * n + 1):
            if node_counts(fixed_order(n, steps)).max() > printed_count(n, steps) + 1e-9:
                below.append((n, steps))
    divided = [pair for pair in below if pair[1] % pair[0] == 0]
    return Outcome(
        "contradicted" if below else "holds as a bound",
        "no record is in more than V nodes",
        f"V is too small for {len(below)} pairs (N, T), N in 3, 4, 5, 8 and T <= 5 N, for {len(divided)} with N | T; "
        + (f"first: {below[0]}" if below else ""),
        "counted",
        {"below": len(below), "divided": len(divided)},
    )


def lemma_5(evidence: Evidence) -> Outcome:
    """Least one-step slack with sharp constants over all prescribed runs."""
    rows: Any = prescribed_rows(evidence.results, "lemma5_slack")
    worst = rows.loc[rows["mean"].idxmin()]
    held = bool((rows["mean"] >= -1e-9).all())
    return Outcome(
        "holds as a bound" if held else "contradicted",
        "the slack is not negative on any path, also with constants divided by 3/2",
        f"least mean slack over {len(rows)} settings: {worst['mean']:.3g} "
        f"({METHODS[worst['method']]}, {worst['variant']}, N = {worst['N']})",
        "holds on every path",
        {"least": float(worst["mean"])},
    )


def lemma_7(evidence: Evidence) -> Outcome:
    """The printed bound over the exact rms noise at Theorem 9's schedule."""
    from dpexp.theory.momentum import lemma7_printed

    ratios = {}
    for n in (1000, 10**5, 10**8):
        s = theorem9_schedule(n, 10, 1.0, DELTA)
        bound = lemma7_printed(n, 10, 1.0, DELTA, s.steps, s.alpha, s.eta, 1.0, 1.0)
        ratios[n] = bound / printed_levels(n, 10, 1.0, DELTA).reduced
    return Outcome(
        "holds as a bound" if min(ratios.values()) >= 1 else "contradicted",
        "E |m_hat - m| is at most the three terms",
        "bound / rms: " + ", ".join(f"{v:.3g} (N = {n:.0e})" for n, v in ratios.items()) + "; one order that repeats",
        "means over sampled steps: a few per cent",
        {f"{n}": v for n, v in ratios.items()},
    )


def equation_3(evidence: Evidence, reshuffled: bool = False) -> Outcome:
    """Equation (3) against the momentum on random gradients, every sum as printed."""
    errors = equation_three_errors(reshuffled)
    exact = max(errors) < 1e-10
    order = "a fresh order in every epoch" if reshuffled else "one order that repeats"
    return Outcome(
        "reproduced" if exact else "contradicted",
        "the estimate without noise equals the momentum",
        f"largest error {max(errors):.2g} on unit-normal gradients, N = 5, 8, 13, five epochs, {order}",
        "rounding",
        {"error": max(errors)},
    )


def equation_3_reshuffled(evidence: Evidence) -> Outcome:
    return equation_3(evidence, True)


def theorem_8(evidence: Evidence) -> Outcome:
    """Exact mu of the printed node noise over sqrt(3) / sigma, for L = G and for larger L."""
    ratios = {}
    for L in (1.0, 2.0, 4.0):
        n, steps = 200, 40_000
        eta = 1 / math.sqrt(n * steps)
        stds = np.array(printed_sensitivities(n, eta, 1.0)) * np.sqrt(printed_counts(n, steps))
        held = stream_sensitivities(n, steps, 1 / n, used_only=False)
        mu = stream_mu(held, occurrence_sensitivities(n, eta, 1.0, L), list(stds))
        ratios[L] = math.sqrt(3) / mu
    return Outcome(
        "contradicted" if min(ratios.values()) < 1 else "holds as a bound",
        "the printed noise is sqrt(3) / sigma-GDP for any smooth loss",
        "printed over needed noise: " + ", ".join(f"{v:.3g} (L = {k:g})" for k, v in ratios.items())
        + "; N = 200, 200 epochs, one order",
        EXACT,
        {f"{k:g}": v for k, v in ratios.items()},
    )  # fmt: skip


def printed_bound(evidence: Evidence, theorem: int) -> Outcome:
    """The bound against the runs with printed noise."""
    rows = [r for r in bounds(evidence.results).records if r["theorem"] == theorem]
    ratios = [r["bound"] / r["ci_hi"] for r in rows]
    vacuous = all(r["bound_over_G"] > 1 for r in rows)
    verdict = "contradicted" if min(r["bound"] / r["ci_lo"] for r in rows) < 1 else "holds as a bound"
    return Outcome(
        verdict,  # type: ignore[arg-type]
        "the measured mean gradient norm is below the bound",
        f"bound / measured: {min(ratios):.3g} to {max(ratios):.3g}, N = {rows[0]['N']:,} to {rows[-1]['N']:,}"
        + ("; every bound is above G, so it says nothing" if vacuous else ""),
        "95% intervals of the means",
        {"least": min(ratios), "most": max(ratios), "vacuous": vacuous},
    )


def theorem_6(evidence: Evidence) -> Outcome:
    return printed_bound(evidence, 6)


def theorem_9(evidence: Evidence) -> Outcome:
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
    verdict = "not testable" if alike else "reproduced" if near else "contradicted"
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

    low, high = 3.0, 30.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    steps = theorem9_schedule(int(10**high), 10, 1.0, DELTA).steps
    return Outcome(
        "not testable" if steps > 1e12 else "reproduced",
        "a better bound than Algorithm 1's",
        f"d = 10, eps = 1: the bound is smaller beyond N = 10^{high:.1f} only, where T = {steps:.1g}",
        "closed form",
        {"log10_N": high},
    )


def flat_noise(evidence: Evidence) -> Outcome:
    """Growth of the noise with the epochs at one path length, exactly calibrated."""
    early, late = fixed_path_levels(1000, 16, 2.2), fixed_path_levels(1000, 128, 2.2)
    slopes = [math.log(b / a) / math.log(8) for a, b in zip(early, late, strict=True)]
    at = crossing(1000, 2.2)
    right = abs(slopes[0] - 0.5) < 0.05 and abs(slopes[1]) < 0.05
    return Outcome(
        "reproduced" if right else "contradicted",
        "at one path length the noise grows like sqrt(K) in Algorithm 1 and not in Algorithm 2",
        f"exponents from 16 to 128 epochs: {slopes[0]:.3f} and {slopes[1]:.3f}; equal at {at:.0f} epochs (N = 1000)",
        EXACT,
        {"tree": slopes[0], "reduced": slopes[1], "crossing": at},
    )


def practice(evidence: Evidence) -> Outcome:
    """Whether Algorithm 2, tuned, has a smaller final gradient than Algorithm 1 and than full-batch descent."""
    rows: Any = tuned_rows(evidence.results).set_index(["method", "N", "d", "eps"])
    places = sorted({key[1:] for key in rows.index})
    worse = {"tree": 0, "descent": 0}
    for place in places:
        for other in worse:
            reduced, rival = rows.loc[("reduced", *place)], rows.loc[(other, *place)]
            worse[other] += int(reduced.ci_lo > rival.ci_hi)
    ours, plain = rows.loc[("reduced", *places[0])]["mean"] / G, rows.loc[("descent", *places[0])]["mean"] / G
    verdict = "contradicted" if max(worse.values()) == len(places) else "not at this sample size"
    return Outcome(
        verdict,  # type: ignore[arg-type]
        "less noise gives smaller gradients at sizes that can be run",
        f"of {len(places)} settings (N, d, eps), Algorithm 2 is certainly worse than Algorithm 1 in {worse['tree']}, than "
        f"full-batch descent in {worse['descent']}; final |grad F| / G at the first: {ours:.3g} against {plain:.3g}",
        "95% intervals, best of equal grids",
        {"places": len(places), **worse},
    )


def whole_saving(evidence: Evidence) -> Outcome:
    """Noise of Algorithm 1 with exact sensitivity and conversion over the printed one, at Theorem 6's schedule."""
    savings = {}
    for n in (250, 1000, 4000):
        steps = theorem6_schedule(n, 10, 1.0, DELTA).steps
        held = squared_sensitivities(fixed_order(n, steps), 1 / n).max()
        savings[n] = 2 * math.sqrt(printed_count(n, steps) / held) * theorem4_sigma(1.0, DELTA) * mu_of(1.0, DELTA)
    return Outcome(
        "holds as a bound" if min(savings.values()) >= 1 else "contradicted",
        "the printed noise suffices for (1, 1e-5)",
        "printed / needed: " + ", ".join(f"{v:.2f} (N = {n})" for n, v in savings.items()) + ", one order that repeats",
        EXACT,
        {f"{n}": v for n, v in savings.items()},
    )


NONE: tuple[str, ...] = ()
CLAIMS = (
    Claim("momentum/theorem-4", "Theorem 4", "Algorithm 1 with the printed noise is 1 / sigma-GDP.", "guarantee", NONE,
          theorem_4, "less noise than needed in one case contradicts it", "holds as a bound",
          "nodes of the largest sensitivity are few, so the slack in V pays for what 4 alpha G lacks"),
    Claim("momentum/theorem-4/sigma", "Theorem 4, sigma", "sigma = 2 sqrt(log(1/delta)) / eps gives (eps, delta)-DP.",
          "guarantee", NONE, theorem_4_sigma, "a smaller sigma than the exact one contradicts it", "holds as a bound",
          "the Renyi order is fixed at a poor value; exact conversion needs 1.4 to 2.2 times less noise"),
    Claim("momentum/theorem-4/hypothesis", "Theorem 4, condition", "The condition is delta >= exp(-eps).", "guarantee",
          NONE, theorem_4_hypothesis, "one counterexample", "contradicted", "the inequality is the wrong way round"),
    Claim("momentum/theorem-4/saving", "Theorem 4, as a whole", "The printed noise of Algorithm 1 suffices.", "upper",
          NONE, whole_saving, "less than the exact noise contradicts it", "holds as a bound",
          "sensitivity, unused right nodes and conversion each waste noise; the factors multiply"),
    Claim("momentum/theorem-4/node", "Theorem 4, proof", "A node's sensitivity is at most 4 alpha G.", "upper", NONE,
          node_sensitivity, "closed form; one larger value contradicts it", "contradicted",
          "reshuffling can put a record last in one epoch and first in the next"),
    Claim("momentum/theorem-4/count", "Theorem 4, V", "V bounds the nodes that hold a record.", "upper", NONE,
          count_of_nodes, "counted; one larger count contradicts it", "contradicted",
          "T / N must be rounded up; right whenever N divides T"),
    Claim("momentum/lemma-5", "Lemma 5", "Normalised steps find a small gradient if their directions err little.",
          "upper", (PRESCRIBED,), lemma_5, "rounding 1e-9", "holds as a bound",
          "true on every path, also with the constants 1, 1/2, 2 in place of 3/2, 3/4, 3"),
    Claim("momentum/lemma-7", "Lemma 7", "The noise of Algorithm 2 is at most the printed three terms.", "upper", NONE,
          lemma_7, "the rms value must be below", "holds as a bound", "loose by about 30; one order that repeats"),
    Claim("momentum/equation-3/fixed", "Equation (3), Lemma 17", "The estimate without noise is the momentum.", "value",
          NONE, equation_3, "1e-10 on unit-normal gradients", "reproduced", "exact when the order repeats"),
    Claim("momentum/equation-3/reshuffled", "Equation (3) in Algorithm 2", "The same with the printed reshuffling.",
          "value", NONE, equation_3_reshuffled, "1e-10 on unit-normal gradients", "contradicted",
          "it needs the record of step t to be that of step t - N; momentum plus noise is then not private either"),
    Claim("momentum/theorem-8", "Theorem 8", "Algorithm 2 with the printed noise is sqrt(3) / sigma-GDP.", "guarantee",
          NONE, theorem_8, "less noise than needed in one case contradicts it", "contradicted",
          "sensitivities 2 eta N lack L and a factor 2; V is four times too large, which saves it only for L up to about 2"),
    Claim("momentum/theorem-6", "Theorem 6", "The bound on the mean gradient norm of Algorithm 1.", "upper",
          (PRESCRIBED,), theorem_6, "95% interval of every mean", "holds as a bound",
          "larger than G at every size that can be run"),
    Claim("momentum/theorem-6/rate", "Theorem 6, rate", "The rate N^-1/2 is that of privacy.", "rate", (PRESCRIBED,),
          rate_6, "0.15 in the exponent; a noise-free twin with the same slope leaves nothing to test", "not testable",
          "the schedule's own path length gives the same slope without any noise"),
    Claim("momentum/theorem-9", "Theorem 9", "The bound on the mean gradient norm of Algorithm 2.", "upper",
          (PRESCRIBED,), theorem_9, "95% interval of every mean", "holds as a bound", "thousands of times G"),
    Claim("momentum/theorem-9/overtakes", "Theorem 9 against Theorem 6", "Algorithm 2 has the better bound.", "ordering",
          NONE, overtakes, "T at the crossing must be below 10^12 to be run", "not testable",
          "constants and logarithms put the crossing far beyond any data set"),
    Claim("momentum/section-4/noise", "Section 4", "Algorithm 2's noise does not grow with the number of epochs.", "rate",
          NONE, flat_noise, "0.05 in the exponent", "reproduced", "the idea of the paper, and it is right"),
    Claim("momentum/section-4/practice", "Section 4", "Less noise in the momentum means smaller gradients.", "ordering",
          TUNED, practice, "intervals apart in every setting", "contradicted",
          "before the crossing Algorithm 1 has less noise, and full batches spend no budget on the order of records"),
)  # fmt: skip
