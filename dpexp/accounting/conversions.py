"""From Renyi divergences to (epsilon, delta); the Gaussian ones are in `gdp`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpexp.accounting.functions import log
from dpexp.accounting.search import least
from dpexp.accounting.surrogate import EACH_SIDE, least_modelled

ORDERS = 1 + np.geomspace(5e-4, 4e3, 25)
"""orders at which curves are evaluated before the best is refined"""
_PLACES: list[float] = log(ORDERS - 1).tolist()
_AROUND = _PLACES[1] - _PLACES[0]
_LOG_EXCESSES = -30.0, 90.0
"""between which log(order - 1) of a curve that is a line is searched; both functions have one valley there, since
epsilon times order - 1, and the logarithm of delta, are convex in the order"""


def classic_eps(order: float, rdp: float, delta: float) -> float:
    """rdp + log(1 / delta) / (order - 1) (Mironov, 2017, Proposition 3)."""
    return rdp + math.log(1 / delta) / (order - 1)


def improved_eps(order: float, rdp: float, delta: float) -> float:
    """rdp + log(1 - 1 / order) - log(delta order) / (order - 1), at least 0 (Canonne, Kamath and Steinke, 2020)."""
    product = delta * order
    # a product that is no number with all its digits is taken apart
    logarithm = math.log(product) if product > 1e-290 else math.log(delta) + math.log(order)
    return max(0.0, rdp + math.log1p(-1 / order) - logarithm / (order - 1))


def eps_near(curve: Callable[[float], float], order: float, delta: float) -> float:
    """The smallest epsilon of a curve that a search by its own values finds around an order."""
    x = math.log(order - 1)

    def eps(log_excess: float) -> float:
        return improved_eps(1 + math.exp(log_excess), curve(1 + math.exp(log_excess)), delta)

    return least(eps, x - _AROUND, x + _AROUND, xatol=1e-4).value


def eps_of_curve(
    curve: Callable[[float], float],
    delta: float,
    sharp: Callable[[float], float] | None = None,
) -> tuple[float, float]:
    """Smallest epsilon over real orders of a Renyi curve order -> divergence, and the order that gives it.

    (a) Any order is valid, so a search that misses the minimum is loose but never wrong.
    (b) The search is one in log(order - 1), and the logarithm of the divergence is what is smooth and costs much.
    (c) Where `sharp` is given it is the curve that counts, evaluated at one order: `curve` is nearly the same for less
    and finds that order.
    """
    divergences: dict[float, float] = {}

    def log_divergence(log_excess: float) -> float:
        divergences[log_excess] = found = curve(1 + math.exp(log_excess))
        return log_of(found)

    # (b)
    value = _eps_at(delta)
    best = least_modelled(_around_the_best(log_divergence, value), value, log_divergence, xatol=1e-4)
    if not math.isfinite(best.value):
        return math.inf, math.nan
    # (c); else the divergence as it was computed, since its logarithm lacks digits
    order, divergence = 1 + math.exp(best.x), divergences[best.x]
    return improved_eps(order, sharp(order) if sharp else divergence, delta), order


def eps_of_zcdp(rho: float, xi: float, delta: float) -> float:
    """The least epsilon at delta of (xi, rho)-zCDP, which is a Renyi divergence of at most xi + rho order."""
    if delta == 0 or rho == 0:
        return 0.0 if delta == 1 else math.inf if rho else xi

    def eps(x: float) -> float:
        excess = math.exp(x)
        more = (math.log(delta) + math.log1p(excess)) / excess
        return xi + rho * (1 + excess) - math.log1p(1 / excess) - more

    return max(0.0, least(eps, *_LOG_EXCESSES, xatol=1e-9).value)


def delta_of_zcdp(rho: float, xi: float, eps: float) -> float:
    """The least delta at epsilon >= 0 of (xi, rho)-zCDP (Canonne, Kamath and Steinke, 2020, Proposition 12)."""
    if eps == math.inf or (rho == 0 and xi <= eps):
        return 0.0

    def log_delta(x: float) -> float:
        excess = math.exp(x)
        return excess * (xi + rho * (1 + excess) - eps - math.log1p(1 / excess)) - math.log1p(excess)

    return math.exp(min(0.0, least(log_delta, *_LOG_EXCESSES, xatol=1e-9).value))


def eps_of_few_orders(curve: Callable[[float], float], delta: float) -> float:
    """The least epsilon of a curve over 31 orders: of one that costs much."""
    order = 0.0
    # 24 orders from 1.01 to 501, then seven around the best, from 0.7 to 1.4 times its excess over 1
    for excesses in (np.geomspace(1e-2, 500, 24), np.geomspace(0.7, 1.4, 7)):
        tried = 1 + excesses * (order - 1 if order else 1)
        eps = [improved_eps(a, curve(float(a)), delta) for a in tried]
        order = float(tried[np.argmin(eps)])
    return min(eps)


def _around_the_best(
    ask: Callable[[float], float], value: Callable[[float, float], float]
) -> list[tuple[float, float]]:
    """Those of `_PLACES` that decide where the least value is, with what was asked there."""
    # epsilon times order - 1 is convex in the order where the curve is one of Renyi divergences: so epsilon has no
    # second valley, and every fourth place tells where its own is
    known: dict[int, tuple[float, float]] = {}
    wanted = set(range(0, len(_PLACES), 4))
    while wanted:
        known |= {k: (_PLACES[k], ask(_PLACES[k])) for k in wanted}
        values = {k: value(*at) for k, at in known.items()}
        best = min(values, key=lambda k: (values[k], k))
        # where no place has a finite epsilon, all are asked before there is said to be none
        around = (
            range(max(0, best - EACH_SIDE), best + EACH_SIDE + 1)
            if math.isfinite(values[best])
            else range(len(_PLACES))
        )
        wanted = set(around) & set(range(len(_PLACES))) - set(known)
    return [known[k] for k in sorted(known)]


def _eps_at(delta: float) -> Callable[[float, float], float]:
    """log(order - 1), log of the divergence -> epsilon."""

    def eps(log_excess: float, log_divergence: float) -> float:
        if log_divergence > 700.0:
            return math.inf
        return improved_eps(1 + math.exp(log_excess), math.exp(log_divergence), delta)

    return eps


def log_of(divergence: float) -> float:
    """Its logarithm, -inf at 0."""
    return math.log(divergence) if divergence > 0 else -math.inf
