"""The price of choosing the best of a random number of private runs (Papernot and Steinke, arXiv 2110.03620).

A mechanism is run K times with fresh noise, and the output of the best run is released; K and the other outputs stay
secret. A run draws its own candidate uniformly, and its score is part of its output. A fixed number of runs is not
covered: their losses add up by composition.

(a) K is Poisson with mean m, or truncated negative binomial: with shape h and 0 < gamma <= 1 (Definition 1 there)
P(K = k) = (1 - gamma)^k / (gamma^-h - 1) prod_{l < k} (l + h) / (l + 1), k = 1, 2, .. Shape 1 is the geometric law, and
the limit h = 0 the logarithmic one, (1 - gamma)^k / (k log(1 / gamma)).
(b) Truncated negative binomial (Theorem 2): the Renyi curve of one run at the same order, plus log E[K] / (order - 1),
plus a price that does not depend on the order: (1 + h) times the least of (1 - 1 / a) curve(a) + log(1 / gamma) / a.
(c) Poisson (Theorem 6): the same with m times the delta of one run at epsilon log(1 + 1 / (order - 1)) for the price:
the delta of its loss distribution where that is known, and of its Renyi curve elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpexp.accounting.renyi import Rdp, delta_of_curve, least_over_orders
from dpexp.accounting.search import narrow


def best_of(rdp: Rdp, delta: Callable[[float], float], runs: float, shape: float) -> Rdp:
    """Renyi curve of the best of K runs, from the curve of one and its delta at epsilon; `runs` is the mean of K.

    `shape` is that of the truncated negative binomial law of K, or inf for Poisson, with no release where K = 0.
    """
    if math.isinf(shape):

        def poisson(order: float) -> float:
            """(c)."""
            eps = -math.log1p(-1 / order)  # log(1 + 1 / (order - 1))
            known = delta(eps)
            return rdp(order) + runs * (known if known < 1 else delta_of_curve(rdp, eps)) + math.log(runs) / (order - 1)

        return poisson
    gamma = gamma_of(shape, runs)
    price, mean = price_of_repeating(rdp, shape, gamma), mean_runs(shape, gamma)
    return lambda order: rdp(order) + price + math.log(mean) / (order - 1)


def mean_runs(shape: float, gamma: float) -> float:
    """E[K] of the truncated negative binomial distribution, K >= 1, 0 < gamma <= 1."""
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
    # the mean falls with gamma: a gamma below the right one means more runs, which cost no less
    exponent = narrow(lambda x: mean_runs(shape, math.exp(-x)) >= mean, 0.0, 600.0, relative=1e-13)
    return math.exp(-exponent.above)


def price_of_repeating(curve: Rdp, shape: float, gamma: float) -> float:
    """(1 + shape) min over orders a >= 1 of (1 - 1 / a) curve(a) + log(1 / gamma) / a: the price of (b)."""
    # (b): any order is valid, so that a missed minimum is loose at most; at a = 1 it is log(1 / gamma)
    cost = -math.log(gamma)
    return (1 + shape) * min(cost, least_over_orders(lambda a: (1 - 1 / a) * curve(a) + cost / a))
