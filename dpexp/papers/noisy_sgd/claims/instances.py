"""Instances of noisy SGD in noise units: exact divergences in one dimension, and what the theorems assume of a setting.

With q = b / n, multiplier = b sigma / (2 L) and width = D / (eta sigma): one record moves a step by 1 / (2 multiplier)
and T-bar = D n / (L eta) = 2 width multiplier / q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dpexp.accounting.renyi import largest_order
from dpexp.privacy.attained.walk import Law, Walk, renyi, shifting
from dpexp.reporting.claim import Hypothesis, assumed

HALF, SLOPE, Q = 12.5, 0.25, 0.1
MULTIPLIER, WIDTH = 1 / (2 * SLOPE), 2 * HALF
SETTING = "n = 100, b = 10, L = 1, eta = 0.1, sigma = 0.4, D = 1"
WALK_ORDERS = (2.0, 8.0, 32.0)


def opposite(slope: float, half: float = HALF, q: float = Q, contraction: float = 1.0) -> tuple[Walk, Walk]:
    """The record's slope is -L or +L (`slope` noise units a step), the others are zero, or quadratic."""
    minus, plus = (shifting(half, [(1 - q, 0), (q, sign * slope)], slope=contraction) for sign in (-1, 1))
    return minus, plus


def flipped(slope: float, half: float, q: float, batch: int) -> tuple[Walk, Walk]:
    """All slopes are +L, and one record of `batch` in a batch is flipped: with fresh batches of fixed size."""
    drift = batch * slope
    return shifting(half, [(1, drift)]), shifting(half, [(1 - q, drift), (q, drift - 2 * slope)])


def springs(half: float, q: float) -> tuple[Walk, Walk]:
    """Batches of one; the other losses are (M/2) w^2 with eta = 1 / M, the record's is linear of slope -+L, L = M D / 2.

    A step without the record goes to 0, one with it by `half` noise units from where it is: all losses are convex,
    L-Lipschitz on the set and M-smooth, and eta <= 2 / M.
    """
    # eta = 1 / M takes a quadratic to its minimum in one step
    minus, plus = (Walk(half, ((1 - q, lambda y: 0 * y), (q, pushed(sign * half)))) for sign in (-1, 1))
    return minus, plus


def pushed(shift: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda y: y + shift


def both(pair: tuple[Walk, Walk], steps: int, order: float) -> float:
    """The larger Renyi divergence of the two orders of a pair."""
    one, other = (Law(walk, steps) for walk in pair)
    return max(renyi(one, other, order), renyi(other, one, order))


def exact(order: float, steps: int, contraction: float = 1.0) -> float:
    """Larger divergence of opposite slopes in `SETTING`."""
    return both(opposite(SLOPE, contraction=contraction), steps, order)


def cases(steps: tuple[int, ...]) -> Iterator[tuple[str, float, int]]:
    """Label, order and steps for all orders."""
    for order in WALK_ORDERS:
        for t in steps:
            yield f"order {order:g}, T = {t:,}", order, t


class Point(NamedTuple):
    """Where an upper bound is evaluated: L is that of the whole loss of a record, curvature included."""

    q: float
    multiplier: float
    order: float
    curvature: float = 0.0
    """eta M, the largest curvature of a loss over a step"""


class Wide(NamedTuple):
    """Where the lower bound is evaluated: batches of `batch`, a record's step `slope`."""

    q: float
    batch: int
    slope: float
    width: float


EQUAL = 1 + 1e-9
"""bounds of hypotheses are met with equality, up to rounding"""
small_steps = assumed("eta is at most 2 / M", lambda p: p.curvature <= 2, Point(0.1, 10.0, 2.0, 2.5))
"""convex smooth losses, so that gradient steps do not expand"""
enough_noise = assumed("sigma > 8 sqrt(2) L / b", lambda p: p.multiplier > 4 * math.sqrt(2), Point(0.1, 2.0, 2.0))
order_in_range = assumed(
    "1 < alpha <= alpha*(b/n, b sigma / (2 sqrt(2) L))",
    lambda p: 1 < p.order <= largest_order(p.q, p.multiplier / math.sqrt(2)) * EQUAL,
    Point(0.1, 6.0, 100.0),
)


def upper_bound(points: Mapping[str, Point]) -> tuple[Hypothesis, ...]:
    """All that Theorems 3.1 and 5.1 assume; the losses of the walks are convex by construction."""
    return small_steps(points), enough_noise(points), order_in_range(points)


C_D, C_SIGMA, C_ALPHA, ORDER = 1e3, 1e-3, 1e-7, 100.0
"""the constants of Theorem 4.1, footnote 11"""
wide_set = assumed("D >= 1000 eta L", lambda s: s.width * EQUAL >= C_D * s.batch * s.slope, Wide(1.0, 1, 1.0, 100.0))
little_noise = assumed(
    "sigma^2 <= D^2 / (1000 eta^2 T-bar)",
    lambda s: C_SIGMA * s.width**2 * EQUAL >= 0.75 * s.width / (s.q * s.slope),
    Wide(1.0, 1, 0.01, 100.0),
)
"""T-bar = 0.75 D n / (L eta) = 0.75 width / (q slope)"""


def lower_bound(settings: Mapping[str, Wide]) -> tuple[Hypothesis, ...]:
    """What Theorem 4.1 assumes."""
    return wide_set(settings), little_noise(settings)


contracting = assumed("every update contracts, by a factor of at most 1", lambda c: 0 <= c <= 1, 1.1)
best_step = assumed(
    "eta = 2 / (M + m)", lambda p: p[0] >= 1 and abs(p[1] - (p[0] - 1) / (p[0] + 1)) < 1e-12, (3.0, 0.9)
)
"""quadratics of curvature m contract by c = (kappa - 1) / (kappa + 1); (kappa, c) pairs"""
LEMMA_2_12 = (
    assumed("q < 1/5", lambda p: 0 < p[0] < 0.2, (0.3, 4.0, 2.0)),
    assumed("sigma >= 4", lambda p: p[1] >= 4, (0.1, 1.0, 2.0)),
    assumed("1 < alpha <= alpha*(q, sigma)", lambda p: 1 < p[2] <= largest_order(p[0], p[1]) * EQUAL, (0.1, 4.0, 50.0)),
)
"""(q, sigma, alpha) triples"""
