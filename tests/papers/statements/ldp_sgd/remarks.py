"""`ldp-sgd`: what the remarks read off the printed bounds. Nothing is measured: the bounds are evaluated as printed.

The plain numbers are those of the linear problem with d = 5, rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dpexp.papers.ldp_sgd.claims.remarks import (
    ALPHAS,
    FAR,
    NUMBERS,
    SLACK,
    Cases,
    _local,
    bound,
    falls_like,
    rate_of,
)
from dpexp.reporting.row import EVALUATED, above, near
from dpexp.theory.ldp_sgd.linearised import linearised_moments, modes_of
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY
from dpexp.theory.ldp_sgd.terms import psi

STEP, M_LOW, M_HIGH = (NUMBERS[name] for name in ("eta", "m", "M"))


LAST = np.array([100_000])


def bound_of_sgd(p: float, mu: float) -> float:
    """Theorem 3 at n = 10^5, alpha = 1/2."""
    return float(bound("theorem-3", LAST, alpha=0.5, p=p, min_mu=mu)[0])


def bound_of_asgd(p: float, mu: float) -> float:
    """Theorem 4 at n = 10^5, alpha = 2/3, where its summation B leaves room for the digits of the rest."""
    return float(10 ** bound("theorem-4", LAST, alpha=2 / 3, p=p, min_mu=mu)[0])


def _fall(theorem: str, first: int, last: int, alpha: float) -> float:
    """A bound at the last step over that at the first."""
    found = bound(theorem, np.array([first, last]), alpha=alpha)
    return float(found[1] / found[0])


WITHOUT_NOISE = partial(bound, "theorem-4/without-b", FAR, public_trace=0.0, gradient_bound=0.0)
"""all that is left of Theorem 4 is what delta0 adds"""


DIMENSIONS = (6.0, 11.0, 21.0, 51.0, 101.0)


BUDGETS = (0.5, 1.0, 2.0, 3.0)


def _exponents(x: Sequence[float], y: Sequence[float], label: str, printed: float) -> Cases:
    """Smallest and largest local exponent of x in y, beside the printed one."""
    slopes = np.diff(np.log(y)) / np.diff(np.log(x))
    return {f"{label}, least": (printed, float(slopes.min())), f"{label}, largest": (printed, float(slopes.max()))}


def in_dimension(bound: Callable[[float, float], float], label: str = "d = 6 to 101") -> Cases:
    """Exponent of d in what the noise adds to a bound, at mu = 1."""
    # without coordinates there is no noise, so that the difference is what it adds
    return _exponents(DIMENSIONS, [bound(p, 1.0) - bound(0.0, 1.0) for p in DIMENSIONS], label, 1.0)


def in_budget(bound: Callable[[float, float], float], label: str = "mu = 0.5 to 3") -> Cases:
    """Exponent of mu in what the noise adds to a bound, at p = 7."""
    # the same against no privacy at all
    return _exponents(BUDGETS, [bound(7.0, mu) - bound(7.0, math.inf) for mu in BUDGETS], label, -2.0)


def same_manner() -> Cases:
    """Both bounds contain d and mu through sigma~^2 alone, if the undefined C_{3,0} and C_{4,0} do not."""
    bounds = {"Theorem 3": bound_of_sgd, "Theorem 4": bound_of_asgd}
    return {
        label: pair
        for name, bound in bounds.items()
        for found in (in_dimension(bound, f"of d, {name}"), in_budget(bound, f"of mu, {name}"))
        for label, pair in found.items()
    }


def start_in_the_average() -> str:
    """The start's part of E|theta_bar_n - theta*|^2 in an exact recursion without noise, of a quadratic risk."""
    silent = modes_of(np.diag([M_LOW, M_HIGH]), np.zeros((2, 2)), np.ones(2))
    slopes = []
    for alpha in (1 / 3, 0.5, 2 / 3):
        average = linearised_moments(np.array([10**5, 10**6]), np.array([2.0]), alpha, silent).average[0].sum(axis=1)
        slopes.append(f"{np.log10(average[1] / average[0]):.3f}")
    return f"the average itself forgets the start faster, with {', '.join(slopes)} in an exact recursion"


def start_in_theorem_5() -> Cases:
    """The exponent of what delta0 adds to Theorem 5, beside that of the whole."""
    found = {}
    for alpha in (a for a in ALPHAS if a > 1 / 3 and a != 0.5):
        whole, without = bound("theorem-5", FAR, alpha=alpha), bound("theorem-5", FAR, alpha=alpha, delta0=0.0)
        found[f"alpha = {alpha:g}"] = (_local(whole), _local(whole - without))
    return found


def as_slowly(ratio: float) -> str:
    printed = float(bound("theorem-3", np.array([1e30]), alpha=1.0)[0])
    slope = math.log(abs(ratio)) / math.log(100)
    return f"like n^{slope:.4f}, where n^(-2 eta m) is n^{-2 * STEP * M_LOW:.4f}; the printed bound stays above {printed:.3g}"


def psi_over_limit() -> Cases:
    """psi_beta over t^beta / beta (beta > 0) or -1 / beta (beta < 0) at t = 10^30; not a number where it is above."""
    t, found = np.geomspace(1.0, 1e30, 200), {}
    for beta in (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0):
        # never above its limit, and at the end near it: one number says both
        share = psi(beta, t) / (t**beta / beta if beta > 0 else -1 / beta)
        below = bool(np.all(share <= 1 + 1e-12)) and bool(share[0] < 1)
        found[f"beta = {beta:g}"] = (1.0, float(share[-1]) if below else math.nan)
    return found


def half() -> Cases:
    """At alpha = 1/2 the third case of Theorem 5 divides by (1 - 2 alpha)^(1/2) = 0."""
    return {"alpha = 1/2": (1.0, float(np.mean(np.isfinite(bound("theorem-5", FAR, alpha=0.5)))))}


def _term(alpha: float, factor: float = 1.0, step: float = STEP) -> np.ndarray:
    """The logarithm of B's terms at two huge k."""
    k = np.array([1e60, 1e80])
    return -M_LOW * step * k ** (1 - alpha) / 4 + factor * psi(1 - 2 * alpha, k) + 4 * step**3 * psi(1 - 3 * alpha, k)


def summation() -> Cases:
    """Whether B's terms vanish at huge k, so that B converges; at alpha = 1 whether they are bounded, so that B = O(n)."""
    finite = {f"alpha = {a:.3g}": (1.0, _vanish(_term(a))) for a in ALPHAS}
    return finite | {"alpha = 1, B / n": (1.0, float(np.all(np.abs(_term(1.0)) < 10)))}


def with_squared_steps() -> str:
    small = M_LOW / 8
    finite = "finite" if _vanish(_term(0.0, small**2, small)) else "infinite"
    return f"with eta^2 before psi_(1-2 alpha) and eta = m / 8, B is {finite} at alpha = 0"


def _vanish(term: np.ndarray) -> float:
    """1 where the exponent is below 0 and falls, else 0."""
    return float(term[1] < term[0] < -1e3)


def gain() -> Cases:
    """Theorem 6's exponent minus Theorem 5's: below 0 before alpha = 2/3, and 0 from there on."""
    found = {a: rate_of("theorem-6", a) - rate_of("theorem-5", a) for a in ALPHAS if a > 1 / 3 and a != 0.5}
    printed = {
        a: -(1 - a if a > 0.5 else a) + (a / 2 if a > 0.5 else (3 * a - 1) / 2) if a < 2 / 3 else 0.0 for a in found
    }
    return {f"alpha = {a:g}": (printed[a], value) for a, value in found.items()}


DIGITS = 1e-4


CHECKS = {
    "ldp-sgd/section-4/psi": near(psi_over_limit, 1e-9, "psi over its limit at t = 10^30"),
    "ldp-sgd/remark-1/alpha-1": above(
        lambda: {"eta m = 0.0166": _fall("theorem-3/recursion", 10**5, 10**7, 1.0)},
        "no convergence is assured at alpha = 1", "the recursion of the proof of Theorem 3", EVALUATED,
        "bound at n = 10^7 / at 10^5", as_slowly, "reproduced", "misleading",
    ),
    "ldp-sgd/remark-1/dimension": near(
        lambda: in_dimension(bound_of_sgd), DIGITS, "exponent of d in what the noise adds to the bound",
    ),
    "ldp-sgd/remark-1/budget": near(
        lambda: in_budget(bound_of_sgd), DIGITS, "exponent of mu in what the noise adds to the bound",
    ),
    "ldp-sgd/remark-2/summation": near(
        summation, 1e-9, "B finite (1) or not (0)", "misprint", with_squared_steps,
    ),
    "ldp-sgd/remark-2/start": near(
        lambda: {f"alpha = {a:.3g}": (-2.0, _local(WITHOUT_NOISE(alpha=a))) for a in ALPHAS}, SLACK,
        "exponent of n in what the start adds", more=start_in_the_average,
    ),
    "ldp-sgd/remark-2/factors": near(
        same_manner, DIGITS, "exponent",
        uncertainty=EVALUATED + ", with C_{3,0} = C_{4,0} = 0, whose appendix we do not have",
    ),
    "ldp-sgd/theorem-5/half": near(
        half, 1e-9, "share of all n at which the bound is finite", "misprint",
        lambda: "the second case, which prints alpha > 1/2, is finite there",
    ),
    "ldp-sgd/remark-3/start": near(start_in_theorem_5, SLACK, "exponent of n in what the start adds"),
    "ldp-sgd/remark-3/rate": falls_like("theorem-5", "sgd", NON_STRONGLY, but=(0.5,)),
    "ldp-sgd/remark-4/rate": falls_like("theorem-6", "asgd", NON_STRONGLY),
    "ldp-sgd/remark-4/accelerates": near(gain, 2 * SLACK, "exponent of Theorem 6 minus that of Theorem 5"),
    "ldp-sgd/remark-4/range": above(
        lambda: {f"alpha = {a:g}": _fall("theorem-5/last-iterate", 10**4, 10**6, a) for a in ALPHAS if 0 < a <= 1 / 3},
        "convergence for alpha <= 1/3 needs averaging", "ldp-sgd/theorem-5/last-iterate, which is proved", EVALUATED,
        "bound for the iterate at n = 10^6 / at 10^4", None, "reproduced", "misleading",
    ),
}  # fmt: skip
