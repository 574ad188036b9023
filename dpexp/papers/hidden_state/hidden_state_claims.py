"""The claims of `hidden-state`: decided by exact laws in one dimension and by composition."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from dpexp.papers.hidden_state.hidden_state_figures import REACH, Q
from dpexp.privacy.analyses.hidden_state import last_iterate_delta
from dpexp.privacy.exact.walk import HockeyStick, Walk, WalkLaw
from dpexp.reporting.checks import EXACT, above, near

Field = Callable[[np.ndarray], np.ndarray]
FIELDS: dict[str, Field] = {
    "repelling": lambda y: np.sign(y) * 0.5,
    "double well": lambda y: np.clip(0.8 * (y - y**3), -0.5, 0.5),
    "no other gradient": lambda y: 0 * y,
}


def _push(shift: float) -> Field:
    return lambda y: y + shift


def pair_of(diameter: float, q: float, field: Field) -> tuple[Walk, Walk]:
    """Walks whose record pushes by -1/2 or +1/2, one record a batch."""
    # panels do not reach across the places where a field has a corner
    kinks = tuple(np.linspace(-diameter / 2, diameter / 2, 9)[1:-1])
    down, up = (Walk(diameter / 2, ((1 - q, lambda y: y + field(y)), (q, _push(s))), kinks) for s in (-0.5, 0.5))
    return down, up


CASES = {
    f"{name}, diameter {diameter:g}": (name, diameter, q)
    for name in FIELDS
    for diameter, q in ((1.0, 0.05), (2.0, 0.2), (4.0, 0.1))
}
"""a loss, and in noise units the diameter of the set; one record a batch, chosen with probability q"""
PUSH = 0.5  # eta C in noise units: no step of a batch is longer


def bound_holds() -> dict[str, float]:
    """delta(eps, T) over exact hockey-stick divergences of clipped, non-convex walks."""
    ratios = {}
    for (label, (name, diameter, q)), steps, eps in product(CASES.items(), (1, 10, 1000), (0.0, 0.5)):
        # a smaller delta is rounding error, of which no ratio says anything
        if (exact := exact_delta(pair_of(diameter, q, FIELDS[name]), steps, eps)) > 1e-12:
            bound = last_iterate_delta(eps, diameter + 2 * PUSH, q, steps)
            ratios[f"{label}, T = {steps}, eps = {eps:g}"] = bound / exact
    return ratios


def exact_delta(pair: tuple[Walk, Walk], steps: int, eps: float) -> float:
    """The larger hockey-stick divergence of the two orders of a pair."""
    p, r = (WalkLaw(walk, steps) for walk in pair)
    return max(HockeyStick(p, r)(eps), HockeyStick(r, p)(eps))


def converges() -> dict[str, tuple[float, float]]:
    """The bound after 100 steps under its limit, at the slide's parameters; exact deltas after 10^6 steps over 10^3."""
    values = {}
    for eps in (0.0, 1.0, 4.0):
        # growth of what should stand still, beside the limit and beside exact laws
        late, limit = (last_iterate_delta(eps, REACH, Q, steps) for steps in (100, math.inf))
        values[f"bound, eps = {eps:g}, limit {limit:.4g}"] = (0.0, limit / late - 1)
    for name, field in FIELDS.items():
        pair = pair_of(2.0, 0.2, field)
        values[f"exact, {name}"] = (0.0, exact_delta(pair, 10**6, 0.0) / exact_delta(pair, 10**3, 0.0) - 1)
    return values


CHECKS = {
    "hidden-state/main": above(bound_holds, "at least the exact delta of every loss"),
    "hidden-state/converges": near(converges, 1e-6, "growth of delta", uncertainty=EXACT),
}  # fmt: skip
