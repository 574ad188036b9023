"""Renyi divergences of the sampled Gaussian mechanism, for real orders, and their conversion to (epsilon, delta).

One step adds N(0, sigma^2) and moves by 1 with probability q: `base_from_mixture` <= `mixture_from_base` <=
`symmetrised`.
(a) In deviations z the ratio of mixture and base is r = 1 - q + q exp(z / sigma - 1 / (2 sigma^2)), and exp((order - 1)
D) is the mean of r^order, or of r^(1 - order); the third pair has the larger ratio on either side of z = 1 / (2 sigma),
where r = 1: the sum of both powers on the right.
(b) At a peak of -z^2 / 2 + k log r, k > 0, z = a w with a = k / sigma, where the second law's share w of r rises from 0
to 1 like a logistic function of z / sigma, and the second derivative is at most 0: so w <= 1 / 2 means z <= 2 sigma,
and w >= 1 / 2 means a - z <= 2 sigma; and always z <= a, beyond which it falls like -(z - a)^2 / 2. For k < 0 the one
peak gains at most |k| log 1 / (1 - q) over z = 0.
(c) With x = order - 1 > 0 (Canonne, Kamath and Steinke, 2020, Proposition 12)
    epsilon = rdp - log(1 + 1 / x) - (log delta + log(1 + x)) / x,
    log delta = x (rdp - epsilon - log(1 + 1 / x)) - log(1 + x).
Any order is valid, so that a search which misses the best one is loose but never wrong.
(d) The best of a random number K of private runs, released alone (Papernot and Steinke, arXiv 2110.03620); K and the
other outputs stay secret, a run draws its own candidate uniformly, and its score is part of its output. K is Poisson
with mean m, or truncated negative binomial: with shape h and 0 < gamma <= 1 (Definition 1 there) P(K = k) =
(1 - gamma)^k / (gamma^-h - 1) prod_{l < k} (l + h) / (l + 1), k = 1, 2, .. Shape 1 is the geometric law, and the limit
h = 0 the logarithmic one, (1 - gamma)^k / (k log(1 / gamma)).
(e) Truncated negative binomial (Theorem 2): the curve of one run at the same order, plus log E[K] / (order - 1), plus
(1 + h) times the least of (1 - 1 / a) curve(a) + log(1 / gamma) / a.
(f) Poisson (Theorem 6): the same with m times the delta of one run at epsilon log(1 + 1 / (order - 1)) for the price:
the delta of its loss distribution where that is known, and of its Renyi curve elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dpexp.accounting.curve import implied_delta
from dpexp.accounting.functions import exprel
from dpexp.accounting.mixtures import log_excess, log_mean_excess
from dpexp.accounting.search import minimum, narrow

_REACH = 14.0  # deviations beyond a peak that are integrated
_LEAST, _MOST = 0.02, 1e150
"""noise multipliers outside of which the step is bounded as if the record were always there, which loses next to
nothing, or no number"""
_PLACES: list[float] = np.log(np.geomspace(5e-4, 4e3, 25)).tolist()
"""log(order - 1) at places between which the best one is searched"""
_CLOSE = 2e-5
"""how closely log(order - 1) is computed: epsilon is flat there, and misses the least by about the square of it"""
_GOLDEN = (3.0 - math.sqrt(5.0)) / 2  # where in its interval the search of `minimum` begins
_SMALLER = 30.0
"""-log of how much smaller a delta may be that implies one, and of the least one for which that is tried"""
Rdp = Callable[[float], float]  # order -> Renyi divergence


def base_from_mixture(order: float, q: float, sigma: float) -> float:
    """D_order(N(0, sigma^2) || (1-q) N(0, sigma^2) + q N(1, sigma^2)); order > 1. Relative error about 1e-13.

    The printed S_alpha of `noisy-sgd`, Definition 2.10. No privacy bound by itself: it stays below log 1/(1-q) whatever
    the noise, and neighbours can be exchanged.
    """
    # E r^(1 - order) is that of the least r, 1 - q, which r exceeds with a probability below P(Z > 25) = 1e-138
    if 0 < q < 1 and 0 <= sigma < _LEAST and order > 1:
        return -math.log1p(-q)
    return _divergence(order, q, sigma, 1.0 - order)


def mixture_from_base(order: float, q: float, sigma: float) -> float:
    """D_order((1-q) N(0, sigma^2) + q N(1, sigma^2) || N(0, sigma^2)), as accountants of add-remove compute it."""
    return _divergence(order, q, sigma, float(order))


def symmetrised(order: float, q: float, sigma: float) -> float:
    """The larger of both for the pair with the trade-off curve C_q(G(1 / sigma)) of Dong, Roth and Su; order > 1."""
    return _divergence(order, q, sigma, None)


@lru_cache(maxsize=50_000)
def _divergence(order: float, q: float, sigma: float, power: float | None) -> float:
    """Of the mean of this power of r; None: of both, on the half line. Raises ValueError for other arguments."""
    if not (order > 1 and 0 <= q <= 1 and sigma >= 0):
        raise ValueError(f"the order is above 1, q in [0, 1] and noise at least 0, not {order}, {q} and {sigma}")
    if q == 0 or math.isinf(sigma):
        return 0.0
    if q == 1 or not _LEAST <= sigma < _MOST:
        return order / (2 * sigma * sigma) if sigma * sigma > 0 else math.inf

    @np.errstate(all="ignore")
    def log_integrand(z: np.ndarray) -> np.ndarray:
        exponent = z / sigma - 1 / (2 * sigma * sigma)
        # beyond e^700 r is q e^exponent to all digits
        log_r = np.log1p(q * np.expm1(np.minimum(exponent, 700.0)))
        if exponent.max() > 700.0:
            log_r = np.where(exponent < 700.0, log_r, math.log(q) + exponent)
        if power is not None:
            return np.asarray(log_excess(log_r, power) - z * z / 2)
        # both together are (r^order - 1) (1 - r^(1 - order)), r > 1
        both = np.log(np.expm1(-order * log_r) * np.expm1((1 - order) * log_r))
        return np.asarray(order * log_r + both - z * z / 2)

    # (b), and both laws
    k, start = power or order, 0.0 if power else 1 / (2 * sigma)
    left, top = math.sqrt(_REACH**2 - 2 * min(k, 0.0) * -math.log1p(-q)), max(1.0, k) / sigma
    ends = [(-left, min(2 * sigma, top)), (1 / sigma, 1 / sigma), (max(-left, top - 2 * sigma), top)]
    ranges = (np.arange(math.floor(a - _REACH - start), b + _REACH - start) for a, b in ends)
    starts = np.unique(np.concatenate([*ranges]))
    return log_mean_excess(log_integrand, starts if power else starts[starts >= 0] + start, 1 / sigma) / (order - 1)


def improved_eps(order: float, rdp: float, delta: float) -> float:
    """Epsilon, at least 0, at delta > 0 of a Renyi divergence of that order."""
    x = order - 1
    return max(0.0, rdp - math.log1p(1 / x) - (math.log(delta) + math.log1p(x)) / x)


def least_over_orders(value: Callable[[float], float]) -> float:
    """The least value over orders > 1 that a search finds, of values that have one valley; inf where none is finite.

    So have both of (c): epsilon times order - 1, and log delta, are convex in the order.
    """
    low, high = _PLACES[0], _PLACES[-1]
    if not math.isfinite(value(1 + math.exp(low + _GOLDEN * (high - low)))):
        best = min(range(len(_PLACES)), key=lambda k: value(1 + math.exp(_PLACES[k])))
        low, high = _PLACES[max(0, best - 1)], _PLACES[min(len(_PLACES) - 1, best + 1)]
    return minimum(lambda x: value(1 + math.exp(x)), low, high, xatol=_CLOSE)


def eps_of_curve(curve: Rdp, delta: float) -> float:
    """Smallest epsilon over real orders of a Renyi curve; inf if none is finite."""
    return least_over_orders(lambda order: improved_eps(order, curve(order), delta))


def delta_of_curve(curve: Rdp, eps: float) -> float:
    """Delta at epsilon, at the best order: its own by (c), or what a larger epsilon at a smaller delta implies."""

    def log_delta(order: float) -> float:
        x, rdp = order - 1, curve(order)

        def implied(smaller: float) -> float:
            return math.log(implied_delta(improved_eps(order, rdp, math.exp(smaller)), math.exp(smaller), eps))

        own = min(x * (rdp - eps - math.log1p(1 / x)) - math.log1p(x), 0.0)
        return min(own, minimum(implied, own - _SMALLER, own, xatol=1e-5)) if own > -_SMALLER else own

    return math.exp(min(least_over_orders(log_delta), 0.0))


def best_of(rdp: Rdp, delta: Callable[[float], float], runs: float, shape: float) -> Rdp:
    """Renyi curve of the best of K runs, from the curve of one and its delta at epsilon; `runs` is the mean of K.

    `shape` is that of the truncated negative binomial law of K, or inf for Poisson, with no release where K = 0.
    """
    if math.isinf(shape):

        def poisson(order: float) -> float:
            """(f)."""
            eps = -math.log1p(-1 / order)  # log(1 + 1 / (order - 1))
            known = delta(eps)
            return rdp(order) + runs * (known if known < 1 else delta_of_curve(rdp, eps)) + math.log(runs) / (order - 1)

        return poisson
    gamma = gamma_of(shape, runs)
    price, mean = price_of_repeating(rdp, shape, gamma), mean_runs(shape, gamma)
    return lambda order: rdp(order) + price + math.log(mean) / (order - 1)


def mean_runs(shape: float, gamma: float) -> float:
    """E[K] of the truncated negative binomial distribution, K >= 1, 0 < gamma <= 1."""
    # h (1 / gamma - 1) / (1 - gamma^h), in which (e^x - 1) / x has its limit at x = 0
    x = -math.log(gamma)
    return float(exprel(x) / exprel(-shape * x))


def gamma_of(shape: float, mean: float) -> float:
    """The gamma, rounded down, with which the mean number of runs is at least `mean` >= 1."""
    # the mean falls with gamma: a gamma below the right one means more runs, which cost no less
    exponent = narrow(lambda x: mean_runs(shape, math.exp(-x)) >= mean, 0.0, 600.0, relative=1e-13)
    return math.exp(-exponent.above)


def price_of_repeating(curve: Rdp, shape: float, gamma: float) -> float:
    """(1 + shape) min over orders a >= 1 of (1 - 1 / a) curve(a) + log(1 / gamma) / a: the price of (e)."""
    # any order is valid, so that a missed minimum is loose at most; at a = 1 it is log(1 / gamma)
    cost = -math.log(gamma)
    return (1 + shape) * min(cost, least_over_orders(lambda a: (1 - 1 / a) * curve(a) + cost / a))
