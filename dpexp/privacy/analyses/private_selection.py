"""The price of choosing the best of a random number of private runs (Papernot and Steinke, arXiv 2110.03620).

K is drawn, a mechanism Q is run K times with fresh noise, and the output of the best run is released, by an order on
the outputs; K and the other outputs stay secret. Q draws its own candidate uniformly, and its score is part of its
output: what orders the outputs must be as private as they are. A fixed number of runs is not covered: their losses
add up by composition.

(a) K is Poisson with mean m, or truncated negative binomial: with shape h and 0 < gamma <= 1 (Definition 1 there)

    P(K = k) = (1 - gamma)^k / (gamma^-h - 1)  prod_{l < k} (l + h) / (l + 1),   k = 1, 2, ...

Shape 1 is the geometric law P(K = k) = gamma (1 - gamma)^(k - 1), and the limit h = 0 is the logarithmic law
P(K = k) = (1 - gamma)^k / (k log(1 / gamma)). A config gives the mean, from which gamma follows.

(b) Truncated negative binomial (Theorem 2): the Renyi curve of one run at the order asked, plus log E[K] / (order - 1),
plus a price that does not depend on the order: (1 + h) times the least of (1 - 1 / a) curve(a) + log(1 / gamma) / a.

(c) Poisson (Theorem 6): the same with m times the delta of one run at epsilon log(1 + 1 / (order - 1)) for the price:
the delta of its loss distribution where that is known, and of its Renyi curve elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from dpexp.core.roots import least, narrow
from dpexp.privacy.accounting.conversions import ORDERS
from dpexp.privacy.accounting.quiet_functions import log
from dpexp.privacy.accounting.tradeoff import profile_of
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.analyses.from_curves import renyi_analysis

Curve = Callable[[float], float]
"""order -> Renyi divergence of one run"""
Delta = Callable[[float], float]
"""epsilon -> delta of one run"""


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
    # the mean falls with gamma: a gamma below the right one means more runs, which cost no less
    exponent = narrow(lambda x: mean_runs(shape, math.exp(-x)) >= mean, 0.0, 600.0, relative=1e-13)
    return math.exp(-exponent.above)


def price_of_repeating(curve: Curve, shape: float, gamma: float) -> float:
    """(1 + shape) min over orders a >= 1 of (1 - 1 / a) curve(a) + log(1 / gamma) / a: the price of (b)."""
    # (b): any order is valid, so that a missed minimum is loose at most; at a = 1 it is log(1 / gamma)
    cost = -math.log(gamma)
    return (1 + shape) * min(cost, _least_over_orders(lambda a: (1 - 1 / a) * curve(a) + cost / a))


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


DRAWN = "every run draws its candidate uniformly from a fixed list, with noise and batches of its own"
SCORED = (
    "the score by which runs are compared is computed from public records, or is a noisy release that the steps count: "
    "accuracy or loss on private records, held-out ones too, is neither"
)
SECRET = "the number of runs, the other runs and all their scores stay secret"


def selection(rdp: Curve, delta: Delta, runs: float, shape: float, curve: str, assumptions: Sequence[str]) -> Analysis:
    """The best of K runs, from the Renyi curve of one and its delta; `runs` is the mean of K.

    `shape` is that of the truncated negative binomial law of K, or inf for the Poisson law. `curve` says where the
    Renyi curve is from.
    """
    one = cache(rdp)
    theorem = "Theorem 6" if math.isinf(shape) else "Theorem 2"
    selected = _poisson(one, delta, runs) if math.isinf(shape) else _repeated(one, runs, shape)
    source = f"Papernot and Steinke (2110.03620), {theorem}, on {curve} of one run"
    return renyi_analysis("private-selection", source, ALL, selected, (*assumptions, DRAWN, SCORED, SECRET))


def delta_of_run(analyses: Sequence[Analysis], eps: float) -> float:
    """The least delta of one run at epsilon of what is known without a search; 1 where nothing is."""
    valid = [a for a in analyses if a.valid and a.released == ALL and (a.mu is not None or len(a.steps) == 1)]
    return min((profile_of(a).delta(eps) for a in valid), default=1.0)


def law(shape: float) -> str:
    """The law of the number of runs, in words."""
    return "Poisson" if math.isinf(shape) else f"truncated negative binomial, shape {shape:g}"


def _poisson(curve: Curve, delta: Delta, runs: float) -> Curve:
    """Renyi curve of the best of K runs, K ~ Poisson with mean `runs`, nothing being released where K = 0: (c)."""

    def selected(order: float) -> float:
        eps = -math.log1p(-1 / order)  # log(1 + 1 / (order - 1))
        return curve(order) + runs * min(delta_of_curve(curve, eps), delta(eps)) + math.log(runs) / (order - 1)

    return selected


def _repeated(curve: Curve, runs: float, shape: float) -> Curve:
    """The same of K truncated negative binomial: (b)."""
    gamma = gamma_of(shape, runs)
    price, mean = price_of_repeating(curve, shape, gamma), mean_runs(shape, gamma)
    return lambda order: curve(order) + price + math.log(mean) / (order - 1)
