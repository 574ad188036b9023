"""Bounds for the last iterate of projected noisy SGD: `noisy-sgd`, equations (3.6) and (5.3), and what repairs them.

Dimensionless: one step moves two neighbours apart by at most 1 / multiplier noise standard deviations, and the set has
diameter `width` of them: width = D / (eta sigma), multiplier = b sigma / (2 L), q = b / n.

(a) The last R steps count, each at the cost S of one step with the share 1 - f of its noise. The share f of all R hides
the width of the set, by which two runs can differ before them: order width^2 / (2 f) shift(R).
(b) For one share the sum R S + spread shift(R) is convex in R, with a stationary point in closed form.
(c) The best share is that of a grid, and then the best between its neighbours.

Full batches and batches in a fixed order have Gaussian-DP bounds by shifted interpolation (Bok, Su and Altschuler, ICML
2024, arXiv 2403.00278), and a random partition that is repeated in every epoch a Renyi bound (Ye and Shokri, 2022).
They take `per_step`, the largest distance that one step puts between neighbours, in noise standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpexp.accounting.functions import exp
from dpexp.accounting.renyi import base_from_mixture, symmetrised
from dpexp.accounting.search import minimum

STEP: dict[str, Callable[[float, float, float], float]] = {"literal": base_from_mixture, "symmetrised": symmetrised}
"""which one-step divergence is inserted; `literal` is the printed one, and not valid by itself"""
LOGITS: list[float] = np.linspace(-6.5, 9.5, 33).tolist()
SHARES: list[float] = (1 / (1 + exp(-np.array(LOGITS)))).tolist()
"""shares f = 1 / (1 + e^-logit) of the noise variance that pay for the shift"""


def composed(order: float, q: float, multiplier: float, steps: int, step: str) -> float:
    """All iterates: steps times one step (the linear bound, equation (1.1))."""
    return steps * STEP[step](order, q, multiplier)


def last_iterate(
    order: float, q: float, multiplier: float, width: float, steps: int, step: str, contraction: float = 1.0
) -> float:
    """Smallest over R <= steps and shares f of R S(q, multiplier sqrt(1-f)) + order width^2 / (2 f) shift(R).

    shift(R) = 1 / R for convex losses (equation (3.6)); with steps that contract by c < 1 the shifts are allocated
    proportionally to c^(T-t), which gives c^(2R) (1 - c^2) / (1 - c^(2R)): smaller than the printed c^(2R) of equation
    (5.3), and equal to 1 / R as c -> 1. c > 1 (non-convex smooth losses) is covered by the same formula.
    """
    spread = order * width * width / 2

    def bound(low: float, high: float) -> float:
        """What no share between these is below: a larger one makes a step cost more, and hiding the width less."""
        cost = STEP[step](order, q, multiplier * math.sqrt(1 - low))
        return over_steps(cost, spread / high, steps, contraction)  # (a)

    # (c): between two shares of the grid that may hold the best one the middle is tried, down to neighbours
    bounds = {k: bound(f, f) for k, f in enumerate(SHARES) if k % 8 == 0}
    for gap in (8, 4, 2):
        best = min(bounds.values())
        ends = [k for k in bounds if k + gap in bounds and bound(SHARES[k], SHARES[k + gap]) <= best]
        bounds |= {k + gap // 2: bound(SHARES[k + gap // 2], SHARES[k + gap // 2]) for k in ends}
    least, at = min((value, k) for k, value in bounds.items())
    if not math.isfinite(least):
        return least

    def at_logit(logit: float) -> float:
        share = 1 / (1 + math.exp(-logit))
        return bound(share, share)

    # (c): the cost is smooth in the share
    low, high = LOGITS[max(0, at - 1)], LOGITS[min(len(LOGITS) - 1, at + 1)]
    return min(least, minimum(at_logit, low, high, xatol=1e-5))


def over_steps(cost: float, spread: float, steps: int, contraction: float) -> float:
    """Smallest cost R + spread shift(R) over whole 1 <= R <= steps. Convex in R, so no scan over steps."""
    rate, ideal = 2 * math.log(contraction) if contraction > 0 else -math.inf, math.inf
    # (b): cost R + spread / R has its minimum there
    if cost > 0 and contraction == 1:
        ideal = math.sqrt(spread / cost)
    # (b): the slope of cost R + spread shift(R) is 0 where 4 sinh(R log c)^2 = (1 - c^2) (-2 log c) spread / cost
    elif cost > 0:
        # nothing is left of a shift after one step without a contraction
        ideal = 2 * math.asinh(math.sqrt(math.expm1(rate) * rate * spread / cost) / 2) / abs(rate) if contraction else 0
    first = math.floor(min(steps, ideal)) - 1
    return min(cost * r + spread * shift(r, contraction) for r in range(max(1, first), min(steps, first + 3) + 1))


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
) -> float:
    """Equation (5.3) as printed, the whole shift in the last step: R S + c^(2R) order width^2 / (2 f), at a share f."""
    cost = STEP[step](order, q, multiplier * math.sqrt(1 - share))
    spread = order * width * width / (2 * share)
    if contraction == 0:
        return cost
    rates = 2 * math.log(contraction)
    ideal = math.log(cost / (-rates * spread)) / rates if cost > 0 else steps
    candidates = {min(steps, max(1, int(ideal) + k)) for k in (-1, 0, 1, 2)} | {1, steps}
    return min(r * cost + math.exp(rates * r) * spread for r in candidates)


def full_batch_strongly_convex(per_step: float, contraction: float, steps: float) -> float:
    """mu of T full-batch steps that contract by c < 1: p sqrt((1-c^T)/(1+c^T) (1+c)/(1-c)); exact on quadratics."""
    power = 0.0 if math.isinf(steps) else contraction**steps
    return per_step * math.sqrt((1 - power) / (1 + power) * (1 + contraction) / (1 - contraction))


def full_batch_convex(per_step: float, width: float, steps: float) -> float:
    """mu of T full-batch steps on a set `width` noise units wide: min(sqrt T p, min_R (width + R p) / sqrt R)."""
    return min(_spread(per_step, width, steps), math.sqrt(steps) * per_step)


def cyclic_strongly_convex(per_step: float, contraction: float, batches: int, epochs: int) -> float:
    """mu of E epochs over l fixed batches, steps that contract by c < 1; per_step is that of one batch."""
    c, length = contraction, batches
    power = c ** (length * (epochs - 1))
    factor = c ** (2 * length - 2) * (1 - c * c) / (1 - c**length) ** 2 * (1 - power) / (1 + power)
    return per_step * math.sqrt(1 + factor)


def cyclic_convex(per_step: float, width: float, batches: int, epochs: int) -> float:
    """mu of E epochs over l fixed batches on a set `width` noise units wide; per_step is that of one batch.

    min(sqrt(E) p, min over 1 <= k < E of sqrt(p^2 + (width + k p)^2 / (k l))).
    """
    # The last visit is paid in its own step, k earlier ones and the width are spread evenly over the k l steps before
    # it; what follows is post-processing.
    spread = _spread(per_step, width, epochs - 1) / math.sqrt(batches)
    return min(math.sqrt(epochs) * per_step, math.hypot(per_step, spread))


def _spread(per_step: float, width: float, most: float) -> float:
    """The least (width + R p) / sqrt R over whole 1 <= R <= most: at width / p, next to it, or at an end; else inf."""
    ideal = width / per_step if per_step > 0 else math.inf
    candidates = {1, int(min(ideal, most, 2**62)), int(min(ideal, most - 1, 2**62)) + 1}
    return min(((width + r * per_step) / math.sqrt(r) for r in candidates if 1 <= r <= most), default=math.inf)
