"""Instances of noisy SGD in noise units: exact divergences in one dimension, and what the theorems assume of a setting.

With q = b / n, multiplier = b sigma / (2 L) and width = D / (eta sigma): one record moves a step by 1 / (2 multiplier)
and T-bar = D n / (L eta) = 2 width multiplier / q.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dpexp.privacy.exact.walk import Walk, WalkLaw, renyi, shifting

HALF, SLOPE, Q = 12.5, 0.25, 0.1
MULTIPLIER, WIDTH = 1 / (2 * SLOPE), 2 * HALF
SETTING = "n = 100, b = 10, L = 1, eta = 0.1, sigma = 0.4, D = 1"
WALK_ORDERS = (2.0, 8.0, 32.0)


def opposite(slope: float, half: float = HALF, q: float = Q, contraction: float = 1.0) -> tuple[Walk, Walk]:
    """The record's slope is -L or +L (`slope` noise units a step), the others are zero, or quadratic."""
    minus, plus = (shifting(half, ((1 - q, 0), (q, sign * slope)), slope=contraction) for sign in (-1, 1))
    return minus, plus


def flipped(slope: float, half: float, q: float, batch: int) -> tuple[Walk, Walk]:
    """All slopes are +L, and one record of `batch` in a batch is flipped: with fresh batches of fixed size."""
    drift = batch * slope
    return shifting(half, ((1, drift),)), shifting(half, ((1 - q, drift), (q, drift - 2 * slope)))


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
    first, second = (WalkLaw(walk, steps) for walk in pair)
    return max(renyi(first, second, order), renyi(second, first, order))


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
    curvature: float = 0.0  # eta M, the largest curvature of a loss over a step


class Wide(NamedTuple):
    """Where the lower bound is evaluated: batches of `batch`, a record's step `slope`."""

    q: float
    batch: int
    slope: float
    width: float


ORDER = 100.0  # of Theorem 4.1, footnote 11
