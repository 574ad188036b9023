"""`ldp-sgd`: what the remarks read off the printed bounds. Nothing is measured: the bounds are evaluated as printed.

The plain numbers are those of the linear problem with d = 5, rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dpexp.papers.ldp_sgd.claims.remarks import ALPHAS, FAR, NUMBERS, SLACK, Cases, bound, local_bound
from dpexp.reporting.checks import above, near
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


def _vanish(term: np.ndarray) -> float:
    """1 where the exponent is below 0 and falls, else 0."""
    return float(term[1] < term[0] < -1e3)


DIGITS = 1e-4
CHECKS = {
    "ldp-sgd/remark-1/alpha-1": above(
        lambda: {"eta m = 0.0166": _fall("theorem-3/recursion", 10**5, 10**7, 1.0)},
        "",
        verdict="reproduced",
        otherwise="misleading",
    ),
    "ldp-sgd/remark-1/dimension": near(lambda: in_dimension(bound_of_sgd), DIGITS, ""),
    "ldp-sgd/remark-2/summation": near(summation, 1e-9, "", "misprint"),
    "ldp-sgd/remark-2/start": near(
        lambda: {f"alpha = {a:.3g}": (-2.0, local_bound(WITHOUT_NOISE(alpha=a))) for a in ALPHAS}, SLACK, ""
    ),
    "ldp-sgd/remark-2/factors": near(same_manner, DIGITS, ""),
    "ldp-sgd/theorem-5/half": near(half, 1e-9, "", "misprint"),
    "ldp-sgd/remark-4/range": above(
        lambda: {f"alpha = {a:g}": _fall("theorem-5/last-iterate", 10**4, 10**6, a) for a in ALPHAS if 0 < a <= 1 / 3},
        "",
        verdict="reproduced",
        otherwise="misleading",
    ),
}
