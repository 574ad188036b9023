"""`ldp-sgd`: what the remarks read off the printed bounds. Nothing is measured: the bounds are evaluated as printed.

The plain numbers are those of the linear problem with d = 5, rounded; every statement here is one about exponents, which
do not depend on them. Asymptotic exponents are local ones from n = 10^30 to 10^33, where what is of lower order is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpexp.papers.ldp_sgd.runs import constants_of, used
from dpexp.reporting.claim import Claim, Outcome, Verdict
from dpexp.reporting.evidence import Evidence
from dpexp.theory.ldp_sgd.psi import psi
from dpexp.theory.ldp_sgd.theorem3 import theorem3_printed, theorem3_recursion
from dpexp.theory.ldp_sgd.theorem4 import theorem4_printed_log10
from dpexp.theory.ldp_sgd.theorem5 import theorem5_last_iterate, theorem5_printed
from dpexp.theory.ldp_sgd.theorem6 import theorem6_visible

STEP, START, M_LOW, M_HIGH, C0 = 0.2, 7.0, 0.0831, 0.1764, 1.98
FAR = np.array([1e30, 1e33])
LAST = np.array([100_000])
EXACT = "none: the bounds are evaluated as printed"
SLACK = 0.02
"""what a logarithm adds to a local exponent at n = 10^30 is 1 / log n = 0.0145"""


def _strong(p: float, mu: float, alpha: float = 0.5) -> dict[str, Any]:
    return {
        "eta": STEP, "alpha": alpha, "m": M_LOW, "gradient_bound": C0, "p": p, "min_mu": mu, "delta0": START,
    }  # fmt: skip


def bound_of_sgd(p: float, mu: float) -> float:
    """Theorem 3 at n = 10^5, alpha = 1/2."""
    return float(theorem3_printed(LAST, **_strong(p, mu))[0])


def bound_of_asgd(p: float, mu: float) -> float:
    """Theorem 4 at n = 10^5, alpha = 2/3, where its summation B leaves room for the digits of the rest."""
    curvature: dict[str, Any] = {"M": M_HIGH, "hessian_lipschitz": 0.0583, "public_trace": 35.8}
    return float(10 ** theorem4_printed_log10(LAST, **_strong(p, mu, 2 / 3), **curvature)[0])


def _exponent(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Smallest and largest local exponent of x in y."""
    slopes = np.diff(np.log(y)) / np.diff(np.log(x))
    return float(slopes.min()), float(slopes.max())


DIMENSIONS = (6.0, 11.0, 21.0, 51.0, 101.0)
BUDGETS = (0.5, 1.0, 2.0, 3.0)


def _in_dimension(bound: Callable[[float, float], float]) -> tuple[float, float]:
    """Exponent of d in what the noise adds to a bound, at mu = 1."""
    return _exponent(DIMENSIONS, [bound(p, 1.0) - bound(0.0, 1.0) for p in DIMENSIONS])


def _in_budget(bound: Callable[[float, float], float]) -> tuple[float, float]:
    """Exponent of mu in what the noise adds to a bound, at p = 7."""
    return _exponent(BUDGETS, [bound(7.0, mu) - bound(7.0, math.inf) for mu in BUDGETS])


def _all_near(found: Sequence[tuple[float, float]], wanted: float) -> bool:
    """Exponents are exact up to the digits that the differences of bounds leave."""
    return all(abs(end - wanted) < 1e-4 for pair in found for end in pair)


def dimension(evidence: Evidence) -> Outcome:
    found = _in_dimension(bound_of_sgd)
    return Outcome(
        "reproduced" if _all_near([found], 1.0) else "false",
        "exponent 1 of d in what the noise adds to the bound",
        f"exponent {found[0]:.4f} to {found[1]:.4f} for d = 6 to 101",
        EXACT,
        {"exponent": list(found)},
    )


def budget(evidence: Evidence) -> Outcome:
    found = _in_budget(bound_of_sgd)
    whole = _exponent(BUDGETS, [bound_of_sgd(7.0, mu) for mu in BUDGETS])
    return Outcome(
        "reproduced" if _all_near([found], -2.0) else "false",
        "exponent -2 of mu in what the noise adds to the bound",
        f"exponent {found[0]:.4f} to {found[1]:.4f} for mu = 0.5 to 3; {whole[0]:.2f} to {whole[1]:.2f} in the whole bound",
        EXACT,
        {"exponent": list(found), "whole": list(whole)},
    )


def same_manner(evidence: Evidence) -> Outcome:
    """Both bounds contain d and mu through sigma~^2 alone, if the undefined C_{3,0} and C_{4,0} do not."""
    in_d = [_in_dimension(bound) for bound in (bound_of_sgd, bound_of_asgd)]
    in_mu = [_in_budget(bound) for bound in (bound_of_sgd, bound_of_asgd)]
    same = _all_near(in_d, 1.0) and _all_near(in_mu, -2.0)
    return Outcome(
        "reproduced" if same else "false",
        "the same exponents of d and of mu in what the noise adds to both bounds",
        f"of d: {in_d[0][1]:.4f} (Theorem 3), {in_d[1][1]:.4f} (Theorem 4); of mu: {in_mu[0][1]:.4f}, {in_mu[1][1]:.4f}",
        EXACT + ", with C_{3,0} = C_{4,0} = 0, which the paper does not define",
        {"d": [list(pair) for pair in in_d], "mu": [list(pair) for pair in in_mu]},
    )


MIXED = used(("budget_mix",))


def smallest_budget(evidence: Evidence) -> Outcome:
    """Theorem 3 for mixed budgets whose smallest is 1, over Theorem 3 for mu = 1 for all."""
    bounds = {}
    for run in MIXED(evidence):
        numbers = {key: constants_of(run)[key] for key in (*_strong(0, 0), "steps")}
        bounds[run.budget] = float(theorem3_printed(**numbers)[-1])
    mixed = {budget: bound / bounds["1"] for budget, bound in bounds.items() if budget not in ("1", "2")}
    same = all(math.isclose(ratio, 1.0, rel_tol=1e-9) for ratio in mixed.values()) and bounds["2"] < bounds["1"]
    return Outcome(
        "reproduced" if same else "false",
        "mixed budgets have the bound of their smallest, mu = 1",
        "bound / bound of mu = 1 for all: "
        + "; ".join(f"{budget} {ratio:.3f}" for budget, ratio in mixed.items())
        + f"; mu = 2 for all, whose mean of 1 / mu^2 is theirs, {bounds['2'] / bounds['1']:.3f}",
        EXACT,
        mixed,
    )


def alpha_one(evidence: Evidence) -> Outcome:
    """At alpha = 1 the printed bound has a limit above 0; the recursion it comes from falls like n^(-2 eta m)."""
    n = np.array([10**5, 10**7])
    printed = theorem3_printed(np.array([1e30]), **_strong(7, 1.0, 1.0))[0]
    noise = {"sensitivity": 3.91, "mean_inverse_square": 1.0}
    recursion = theorem3_recursion(n, eta=STEP, alpha=1.0, m=M_LOW, gradient_bound=C0, p=7, delta0=START, **noise)
    slope = float(np.log(recursion[1] / recursion[0]) / np.log(n[1] / n[0]))
    converges = math.isclose(slope, -2 * STEP * M_LOW, rel_tol=0.05)
    return Outcome(
        "false" if printed < 1e-6 else "misleading" if converges else "reproduced",
        "no convergence is assured at alpha = 1",
        f"the printed bound stays above {printed:.3g}; under the same conditions the recursion of its proof falls like "
        f"n^{slope:.4f}, and n^(-2 eta m) is n^{-2 * STEP * M_LOW:.4f}",
        EXACT,
        {"printed_limit": float(printed), "slope": slope},
    )


def below_psi(evidence: Evidence) -> Outcome:
    """psi_beta(t) < t^beta / beta for beta > 0 and < -1 / beta for beta < 0, with equality for large t."""
    t = np.geomspace(1.0, 1e30, 200)
    inside, ends = [], []
    for beta in (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0):
        limit = t**beta / beta if beta > 0 else np.full(t.shape, -1 / beta)
        inside.append(bool(np.all(psi(beta, t) <= limit * (1 + 1e-12))) and bool(psi(beta, t)[0] < limit[0]))
        ends.append(float(psi(beta, t)[-1] / limit[-1]))
    return Outcome(
        "reproduced" if all(inside) and all(abs(end - 1) < 1e-9 for end in ends) else "false",
        "psi below the limit everywhere, and equal to it for large t",
        f"below in {sum(inside)} of {len(inside)} cases; psi / limit at t = 10^30 is {min(ends):.12f} to {max(ends):.12f}",
        EXACT,
        {"ends": ends},
    )


def _flat(alpha: float, delta0: float = START) -> dict[str, Any]:
    return {"eta": STEP, "alpha": alpha, "gradient_bound": C0, "p": 7, "min_mu": 1.0, "delta0": delta0}


def _local(values: np.ndarray) -> float:
    """Local exponent of n between the two far steps."""
    return float(np.log(values[1] / values[0]) / np.log(FAR[1] / FAR[0]))


def rate_of_sgd(alpha: float) -> float:
    """Exponent of n in Theorem 5 as printed."""
    return _local(theorem5_printed(FAR, M=M_HIGH, **_flat(alpha)))


def rate_of_asgd(alpha: float) -> float:
    """Exponent of n in the visible terms of Theorem 6."""
    return _local(theorem6_visible(FAR, **_flat(alpha)))


def start(evidence: Evidence) -> Outcome:
    """The share of delta0 in Theorem 5, by difference, falls as fast as the whole."""
    gaps = {}
    for alpha in (0.4, 0.45, 0.6, 0.65, 0.7, 0.8, 0.9):
        whole, without = (theorem5_printed(FAR, M=M_HIGH, **_flat(alpha, delta0)) for delta0 in (START, 0.0))
        gaps[alpha] = _local(whole - without) - _local(whole)
    return Outcome(
        "reproduced" if all(abs(gap) < SLACK for gap in gaps.values()) else "false",
        "the exponent of the start's share is that of the whole bound",
        f"they differ by at most {max(map(abs, gaps.values())):.4f} for alpha = 0.4 to 0.9",
        EXACT,
        {f"{alpha:g}": gap for alpha, gap in gaps.items()},
    )


def half(evidence: Evidence) -> Outcome:
    """At alpha = 1/2 the third case divides by (1 - 2 alpha)^(1/2) = 0."""
    values = theorem5_printed(FAR, M=M_HIGH, **_flat(0.5))
    infinite = bool(np.all(np.isinf(values)))
    return Outcome(
        "misprint" if infinite else "reproduced",
        "a finite bound of order n^-1/4",
        "the bound is infinite at every n; the second case, which prints alpha > 1/2, is finite there"
        if infinite
        else "the bound is finite",
        EXACT,
    )


def optimal(evidence: Evidence) -> Outcome:
    rates = {alpha: rate_of_asgd(alpha) for alpha in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}
    best = min(rates, key=lambda alpha: rates[alpha])
    return Outcome(
        "reproduced" if best == 0.5 and abs(rates[best] + 0.5) < SLACK else "false",
        "exponent -1/2, at alpha = 1/2",
        f"exponent {rates[best]:.3f} at alpha = {best:g}; " + _listed(rates),
        EXACT + "; at alpha = 1/2 there is a logarithm besides",
        {f"{alpha:g}": rate for alpha, rate in rates.items()},
    )


def accelerates(evidence: Evidence) -> Outcome:
    """Theorem 6 against Theorem 5: faster below 2/3, and the same from there on."""
    gain = {a: rate_of_asgd(a) - rate_of_sgd(a) for a in (0.36, 0.4, 0.45, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)}
    faster = all(g < -SLACK for a, g in gain.items() if a < 0.65) and all(g < SLACK for g in gain.values())
    return Outcome(
        "reproduced" if faster else "false",
        "the exponent of Theorem 6 is below that of Theorem 5 for alpha < 2/3, and nowhere above it",
        "exponent of Theorem 6 minus that of Theorem 5: " + _listed(gain),
        EXACT,
        {f"{a:g}": g for a, g in gain.items()},
    )


def range_of_alpha(evidence: Evidence) -> Outcome:
    """Below 1/3 Theorem 5 is silent, Theorem 6 speaks; and so does a bound for the iterate without averaging."""
    n = np.array([10**4, 10**6])
    noise: dict[str, Any] = {"sensitivity": 3.91, "mean_inverse_square": 1.0}
    falls = {}
    for alpha in (0.2, 0.25, 0.3):
        same: dict[str, Any] = {"eta": STEP, "alpha": alpha, "gradient_bound": C0, "p": 7, "delta0": START}
        bound = theorem5_last_iterate(n, **same, **noise)
        falls[alpha] = float(np.log(bound[1] / bound[0]) / np.log(n[1] / n[0]))
    averaged = {alpha: rate_of_asgd(alpha) for alpha in falls}
    with_average, without = (all(slope < 0 for slope in found.values()) for found in (averaged, falls))
    return Outcome(
        "false" if not with_average else "misleading" if without else "reproduced",
        "convergence for alpha <= 1/3 needs averaging",
        "a bound for the iterate itself falls below alpha = 1/3 too: exponent from n = 10^4 to 10^6 "
        + _listed(falls)
        + "; Theorem 6, with averaging: "
        + _listed(averaged),
        EXACT + "; the bound for the iterate is proved where it is defined, ldp-sgd/theorem-5/last-iterate",
        {f"{alpha:g}": slope for alpha, slope in falls.items()},
    )


def summation(evidence: Evidence) -> Outcome:
    """The exponent of B's terms at huge k: below 0 and falling, B converges; at alpha = 1 it is bounded, B = O(n)."""
    k = np.array([1e60, 1e80])

    def term(alpha: float) -> np.ndarray:
        return -M_LOW * STEP * k ** (1 - alpha) / 4 + psi(1 - 2 * alpha, k) + 4 * STEP**3 * psi(1 - 3 * alpha, k)

    finite = {a: bool(term(a)[1] < term(a)[0] < -1e3) for a in (0.0, 0.1, 1 / 3, 0.5, 2 / 3, 0.9)}
    linear = bool(np.all(np.abs(term(1.0)) < 10))
    inside = all(ends for alpha, ends in finite.items() if alpha > 0) and linear
    verdict: Verdict = ("reproduced" if finite[0.0] else "misprint") if inside else "false"
    return Outcome(
        verdict,
        "B finite for alpha in [0, 1), and of order n at alpha = 1",
        "finite at alpha = "
        + ", ".join(f"{a:.3g}" for a, ends in finite.items() if ends)
        + "; infinite at alpha = "
        + (", ".join(f"{a:.3g}" for a, ends in finite.items() if not ends) or "none")
        + (", where the terms grow like exp((1 + 4 eta^3 - m eta / 4) k)" if not finite[0.0] else "")
        + f"; at alpha = 1 the terms {'are bounded, so that B = O(n)' if linear else 'are not bounded'}",
        EXACT,
        {f"{a:.3g}": ends for a, ends in finite.items()},
    )


def _listed(values: Mapping[float, float]) -> str:
    return ", ".join(f"{value:.3f} (alpha = {alpha:g})" for alpha, value in values.items())


NONE: tuple[str, ...] = ()
DIGITS = "the exponent to 1e-4, which is what differences of bounds leave of their digits"
LOGARITHM = f"{SLACK} in a local exponent, which leaves room for a logarithm"
STRONG = (
    Claim(
        "ldp-sgd/section-4/psi", "Section 4.1, below Condition 3",
        "psi_beta(t) is below t^beta / beta for beta > 0 and below -1 / beta for beta < 0, with asymptotic equality.",
        "upper", NONE, below_psi, "1e-9 in the ratio at t = 10^30", "reproduced", "",
        quote="for beta > 0, psi_beta(t) < t^beta/beta, while for beta < 0, we have psi_beta(t) < -1/beta",
        false_if="psi is above its limit at one t, or not equal to it at t = 10^30.",
    ),
    Claim(
        "ldp-sgd/remark-1/alpha-1", "Remark 1, convergence rate",
        "At alpha = 1 convergence of LDP-SGD is not assured.",
        "rate", NONE, alpha_one, "5% in the exponent of a recursion from n = 10^5 to 10^7", "misleading",
        "Theorem 3 assures none, but its own recursion does, as slowly as n^(-2 eta m)",
        quote="For a scenario where alpha = 1, convergence of the LDP-SGD estimator theta_n is not assured.",
        false_if="The printed bound vanishes at alpha = 1; misleading if the recursion behind it assures convergence all the same.",
    ),
    Claim(
        "ldp-sgd/remark-1/dimension", "Remark 1, parameter dimension",
        "The bound on the error of LDP-SGD is linear in the dimension.",
        "rate", NONE, dimension, DIGITS, "reproduced",
        "with C0, m and the start held fixed; for the error see ldp-sgd/remark-1/dimension-of-the-error",
        quote="The bound exhibits a linear relationship with the dimension d, a consequence of Gaussian noise being introduced to "
        "every parameter coordinate.",
        false_if="What the noise adds to the printed bound has another exponent of d than 1.",
    ),
    Claim(
        "ldp-sgd/remark-1/budget", "Remark 1, private budget",
        "The bound on the error of LDP-SGD falls like mu^-2.",
        "rate", NONE, budget, DIGITS, "reproduced",
        "what the noise adds falls so; for the error see ldp-sgd/remark-1/budget-of-the-error",
        quote="As mu_k increases, the overall bound of E(|theta_n - theta*|^2) reduces in a quadratic speed.",
        false_if="What the noise adds to the printed bound has another exponent of mu than -2.",
    ),
    Claim(
        "ldp-sgd/remark-1/smallest-budget", "Remark 1",
        "The bound on the error of LDP-SGD depends on the budgets through the smallest.",
        "value", ("budget_mix",), smallest_budget, "none: bounds are compared to 1e-9", "reproduced",
        "of the bound; the error depends on the mean of 1 / mu_i^2, see ldp-sgd/remark-1/mean-inverse-square",
        quote="and the smallest private budget min_k{mu_k^2} across all samples",
        false_if="Two lists of budgets with one smallest budget have different printed bounds.",
    ),
    Claim(
        "ldp-sgd/remark-2/summation", "Remark 2, summation B",
        "The summation B is finite for all alpha in [0, 1), and O(n) for alpha = 1.",
        "value", NONE, summation, "none: signs of exponents at k = 10^60 and 10^80", "misprint",
        "the interval should be open: B is finite for alpha in (0, 1), but at alpha = 0 its terms grow",
        quote="For all alpha in [0, 1), B is finite, while for alpha = 1, B = O(n).",
        false_if="The terms of B do not vanish for one alpha in [0, 1); a misprint if that is the closed end alone.",
    ),
    Claim(
        "ldp-sgd/remark-2/factors", "Remark 2, other factors",
        "The bounds on the errors of LDP-SGD and LDP-ASGD depend on d and mu in the same manner.",
        "rate", NONE, same_manner, DIGITS, "reproduced",
        "of the bounds; the estimators differ, see ldp-sgd/introduction/sensitivity",
        quote="is affected by the factors d and mu in the same manner as E(|theta_n - theta*|^2)",
        false_if="What the noise adds to the two bounds has different exponents of d or of mu.",
    ),
)  # fmt: skip
CONVEX = (
    Claim(
        "ldp-sgd/theorem-5/half", "Remark 3, convergence rate; Theorem 5, third case",
        "At alpha = 1/2 the bound of the third case is finite, of order n^-1/4.",
        "upper", NONE, half, "none", "misprint", "it divides by (1 - 2 alpha)^(1/2); the interval of the case should be open at 1/2",
        quote="For alpha in (1/3, 1/2], the convergence rate is O(n^-(3alpha-1)/2)",
        false_if="The third case is not finite at alpha = 1/2, which it includes.",
    ),
    Claim(
        "ldp-sgd/remark-3/start", "Remark 3, initial condition",
        "In the bound of Theorem 5 the initial condition vanishes at the rate of the whole.",
        "rate", NONE, start, LOGARITHM, "reproduced",
        "of the bound; the error of a risk that is not quadratic does not split into a share of the start and one of the noise",
        quote="For all alpha in (1/3, 1), the initial condition diminishes at the same rate as E{F(theta_n) - F(theta*)}.",
        false_if="The share of the start in the bound has another exponent of n than the bound.",
    ),
    Claim(
        "ldp-sgd/remark-4/optimal", "Remark 4",
        "The best rate of Theorem 6 is n^-1/2.",
        "rate", NONE, optimal, LOGARITHM, "reproduced", "at alpha = 1/2, and up to a logarithm",
        quote="Consequently, the optimal asymptotic rate stands at O(n^-1/2).",
        false_if="The bound falls faster for another alpha, or with another exponent than -1/2 at alpha = 1/2.",
    ),
    Claim(
        "ldp-sgd/remark-4/accelerates", "Remark 4",
        "Averaging improves the rate of the bound for alpha < 2/3, and worsens it nowhere.",
        "rate", NONE, accelerates, LOGARITHM, "reproduced",
        "of the printed rates; from alpha = 2/3 on they are the same",
        quote="and concurrently accelerates the rate of convergence",
        false_if="Theorem 6 has the larger exponent of n for one alpha, or the same for one below 2/3.",
    ),
    Claim(
        "ldp-sgd/remark-4/range", "Remark 4",
        "Averaging extends the range of alpha with convergence from (1/3, 1) to (0, 1).",
        "rate", NONE, range_of_alpha, "a bound on the iterate that falls between n = 10^4 and 10^6", "misleading",
        "true of the two printed theorems; the iterate converges for every alpha in (0, 1) without averaging, by a bound that "
        "needs no more than Theorem 6",
        quote="through averaging, the algorithm extends the alpha range ensuring convergence, shifting it from (1/3, 1) to (0, 1)",
        false_if="Averaging assures no convergence for one alpha <= 1/3; misleading if it is assured without averaging too.",
    ),
)  # fmt: skip
