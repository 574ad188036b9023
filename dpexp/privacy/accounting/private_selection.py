"""The price of choosing the best of a random number of private runs (Papernot and Steinke, arXiv 2110.03620).

K is drawn, a mechanism Q is run K times with fresh noise, and the output of the best run is released, by an order on
the outputs; K and the other outputs stay secret. Q draws its own candidate uniformly, and its score is part of its
output: what orders the outputs must be as private as they are. A fixed number of runs is not covered: their losses
add up by composition.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpexp.core.bisection import narrow
from dpexp.core.brent import least
from dpexp.engine.elementary import log
from dpexp.privacy.accounting.conversions import ORDERS

Curve = Callable[[float], float]
"""order -> Renyi divergence of one run"""


def mean_runs(shape: float, gamma: float) -> float:
    """E[K] of the truncated negative binomial distribution (Definition 1 there), K >= 1, 0 < gamma <= 1.

    shape 1 is geometric with success probability gamma; shape 0 is the logarithmic distribution.
    """
    if gamma == 1:
        return 1.0
    log_gamma = math.log(gamma)
    if shape == 0:
        return -(1 - gamma) / (gamma * log_gamma)
    return -shape * (1 - gamma) / (gamma * math.expm1(shape * log_gamma))


def gamma_of(shape: float, mean: float) -> float:
    """The gamma, rounded down, with which the mean number of runs is at least `mean` >= 1."""
    if mean <= 1:
        return 1.0
    found = narrow(lambda x: mean_runs(shape, math.exp(-x)) >= mean, 0.0, 600.0, relative=1e-13)
    return math.exp(-found.above)


def price_of_repeating(curve: Curve, shape: float, gamma: float) -> float:
    """(1 + shape) min over orders a >= 1 of (1 - 1 / a) curve(a) + log(1 / gamma) / a: a part of `repeated_rdp`.

    Any order is valid, so that a missed minimum is loose at most; at a = 1 it is log(1 / gamma).
    """
    cost = -math.log(gamma)
    return (1 + shape) * min(cost, _least_over_orders(lambda a: (1 - 1 / a) * curve(a) + cost / a))


def repeated_rdp(order: float, divergence: float, mean: float, price: float) -> float:
    """Renyi divergence of the best of K runs, K truncated negative binomial (Theorem 2): order > 1."""
    return divergence + price + math.log(mean) / (order - 1)


def poisson_rdp(order: float, divergence: float, mean: float, delta: float) -> float:
    """The same of K ~ Poisson(mean), nothing being released where K = 0 (Theorem 6): order > 1.

    `delta` is that of one run at the epsilon log(1 + 1 / (order - 1)).
    """
    return divergence + mean * delta + math.log(mean) / (order - 1)


def delta_of_curve(curve: Curve, eps: float) -> float:
    """Delta at epsilon, at the best order (Canonne, Kamath and Steinke, 2020, Proposition 12)."""

    def log_delta(a: float) -> float:
        return (a - 1) * (curve(a) - eps) + a * math.log1p(-1 / a) - math.log(a - 1)

    return math.exp(min(_least_over_orders(log_delta), 0.0))


def _least_over_orders(value: Curve) -> float:
    """The least value over orders > 1 that a search finds: on a grid, and then between its points."""
    grid = log(ORDERS - 1)

    def at(log_excess: float) -> float:
        return value(1 + math.exp(log_excess))

    values = [at(float(x)) for x in grid]
    best = int(np.argmin(values))
    if not math.isfinite(values[best]):
        return values[best]
    found = least(at, float(grid[max(0, best - 1)]), float(grid[min(len(grid) - 1, best + 1)]), xatol=1e-4)
    return min(values[best], found.value)
