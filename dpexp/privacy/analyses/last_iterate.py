"""Bounds for the last iterate of projected noisy SGD: `noisy-sgd`, equations (3.6) and (5.3), and what repairs them.

Dimensionless: one step moves two neighbours apart by at most 1 / multiplier noise standard deviations, and the set has
diameter `width` of them: width = D / (eta sigma), multiplier = b sigma / (2 L), q = b / n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.core.brent import least
from dpexp.engine.elementary import exp
from dpexp.privacy.accounting.sampled_gaussian import base_from_mixture, mixture_from_base, symmetrised, with_each_noise

STEP: dict[str, Callable[[float, float, float], float]] = {
    "literal": base_from_mixture,
    "mixture": mixture_from_base,
    "symmetrised": symmetrised,
}
"""which one-step divergence is inserted; `literal` is the printed one, and not valid by itself"""
_SPLITS = 1 / (1 + exp(-np.linspace(-6, 9, 31)))
"""shares f of the noise variance that pay for the shift"""


class Optimum(NamedTuple):
    """A Renyi bound with the number of last steps and the noise share that give it."""

    rdp: float
    steps: int
    share: float


def composed(order: float, q: float, multiplier: float, steps: int, step: str) -> float:
    """All iterates: steps times one step (the linear bound, equation (1.1))."""
    return steps * STEP[step](order, q, multiplier)


def last_iterate(
    order: float,
    q: float,
    multiplier: float,
    width: float,
    steps: int,
    step: str,
    contraction: float = 1.0,
    refine: bool = True,
) -> Optimum:
    """Smallest over R <= steps and shares f of R S(q, multiplier sqrt(1-f)) + order width^2 / (2 f) shift(R).

    shift(R) = 1 / R for convex losses (equation (3.6)); with steps that contract by c < 1 the shifts are allocated
    proportionally to c^(T-t), which gives c^(2R) (1 - c^2) / (1 - c^(2R)): smaller than the printed c^(2R) of equation
    (5.3), and equal to 1 / R as c -> 1. c > 1 (non-convex smooth losses) is covered by the same formula. Without
    `refine` the shares are those of a grid, which loses less than one percent.
    """
    cost = _step_costs(order, q, multiplier, step)
    spread = order * width * width / 2
    best = Optimum(math.inf, steps, 0.0)
    for share, per_step in zip(_SPLITS, cost, strict=True):
        found = _over_steps(per_step, spread / share, steps, contraction)
        if found[0] < best.rdp:
            best = Optimum(found[0], found[1], float(share))
    if not refine or not math.isfinite(best.rdp):
        return best
    return _refined(best, order, q, multiplier, spread, steps, step, contraction)


@lru_cache(maxsize=4096)
def _step_costs(order: float, q: float, multiplier: float, step: str) -> tuple[float, ...]:
    noises = [multiplier * math.sqrt(1 - share) for share in _SPLITS.tolist()]
    return tuple(with_each_noise(STEP[step].__name__, order, q, noises))


def _refined(
    best: Optimum, order: float, q: float, multiplier: float, spread: float, steps: int, step: str, contraction: float
) -> Optimum:
    """Improve the share between its neighbours on the grid."""
    centre = math.log(best.share / (1 - best.share))

    def at(logit: float) -> tuple[float, int]:
        share = 1 / (1 + math.exp(-logit))
        cost = STEP[step](order, q, multiplier * math.sqrt(1 - share))
        return _over_steps(cost, spread / share, steps, contraction)

    found = least(lambda x: at(x)[0], centre - 0.5, centre + 0.5, xatol=1e-6)
    if found.value < best.rdp:
        return Optimum(found.value, at(found.x)[1], 1 / (1 + math.exp(-found.x)))
    return best


def _over_steps(cost: float, spread: float, most: int, contraction: float) -> tuple[float, int]:
    """Smallest cost R + spread shift(R) over whole 1 <= R <= most, and R. Convex in R, so no scan over steps."""
    if contraction == 1:
        ideal = math.sqrt(spread / cost) if cost > 0 else math.inf
        candidates = {1, most, *(min(most, max(1, int(r))) for r in (ideal, ideal + 1) if math.isfinite(r))}
        return min((cost * r + spread / r, r) for r in candidates)
    low, high = 1, most

    def value(r: int) -> float:
        return cost * r + spread * shift(r, contraction)

    while high - low > 2:
        a, b = low + (high - low) // 3, high - (high - low) // 3
        if value(a) <= value(b):
            high = b
        else:
            low = a
    return min((value(r), r) for r in range(low, high + 1))


def shift(steps: int, contraction: float) -> float:
    """c^(2R) (1 - c^2) / (1 - c^(2R)): squared shift over squared diameter, shared by R steps; 1 / R at c = 1."""
    if contraction == 1:
        return 1 / steps
    if contraction == 0:
        return 0.0
    rate = 2 * math.log(contraction)
    if contraction > 1:
        return math.expm1(rate) / -math.expm1(-rate * steps)
    return math.exp(rate * steps) * math.expm1(rate) / math.expm1(rate * steps)


def printed_strongly_convex(
    order: float, q: float, multiplier: float, width: float, steps: int, step: str, contraction: float, share: float
) -> Optimum:
    """Equation (5.3) as printed, the whole shift in the last step: R S + c^(2R) order width^2 / (2 f), at a share f."""
    cost = STEP[step](order, q, multiplier * math.sqrt(1 - share))
    spread = order * width * width / (2 * share)
    if contraction == 0:
        return Optimum(cost, 1, share)
    rates = 2 * math.log(contraction)
    ideal = math.log(cost / (-rates * spread)) / rates if cost > 0 else steps
    candidates = {min(steps, max(1, int(ideal) + k)) for k in (-1, 0, 1, 2)} | {1, steps}
    return min(Optimum(r * cost + math.exp(rates * r) * spread, r, share) for r in candidates)
