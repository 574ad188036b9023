"""From Renyi divergences to (epsilon, delta), at the best order; the Gaussian ones are in `gaussian`.

Any order is valid, so that a search which misses the best one is loose but never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpexp.accounting.functions import log
from dpexp.accounting.search import Least, least

Rdp = Callable[[float], float]
"""order -> Renyi divergence"""
_PLACES: list[float] = log(np.geomspace(5e-4, 4e3, 25)).tolist()
"""log(order - 1) at which curves are evaluated before the best is refined"""
_AROUND = _PLACES[1] - _PLACES[0]
_EACH_SIDE = 2
_CLOSE = 2e-5
"""how closely log(order - 1) is found: epsilon is flat there, and misses the least by about the square of it"""


def classic_eps(order: float, rdp: float, delta: float) -> float:
    """rdp + log(1 / delta) / (order - 1) (Mironov, 2017, Proposition 3)."""
    return rdp + math.log(1 / delta) / (order - 1)


def improved_eps(order: float, rdp: float, delta: float) -> float:
    """rdp + log(1 - 1 / order) - log(delta order) / (order - 1), at least 0 (Canonne, Kamath and Steinke, 2020)."""
    product = delta * order
    # a product that is no number with all its digits is taken apart
    logarithm = math.log(product) if product > 1e-290 else math.log(delta) + math.log(order)
    return max(0.0, rdp + math.log1p(-1 / order) - logarithm / (order - 1))


def least_over_orders(value: Callable[[float], float]) -> Least:
    """The order > 1 and the least value that a search finds, of values that have one valley; inf where none is finite.

    So have epsilon and log delta of a curve of divergences: epsilon times order - 1, and log delta, are convex in the
    order. Every fourth of the places shows where the valley is.
    """
    known: dict[int, float] = {}
    wanted = set(range(0, len(_PLACES), 4))
    while wanted:
        known |= {k: value(1 + math.exp(_PLACES[k])) for k in wanted}
        best = min(known, key=lambda k: (known[k], k))
        # where no place has a finite value, all are asked before there is said to be none
        if math.isfinite(known[best]):
            near = range(max(0, best - _EACH_SIDE), min(len(_PLACES), best + _EACH_SIDE + 1))
        else:
            near = range(len(_PLACES))
        wanted = set(near) - set(known)
    found = Least(1 + math.exp(_PLACES[best]), known[best])
    if not math.isfinite(found.value):
        return found
    low, high = _PLACES[max(0, best - 1)], _PLACES[min(len(_PLACES) - 1, best + 1)]
    closer = least(lambda x: value(1 + math.exp(x)), low, high, xatol=_CLOSE)
    return min(found, Least(1 + math.exp(closer.x), closer.value), key=lambda least: least.value)


def eps_near(curve: Rdp, order: float, delta: float) -> float:
    """The smallest epsilon of a curve that a search by its own values finds around an order."""
    x = math.log(order - 1)

    def eps(log_excess: float) -> float:
        return improved_eps(1 + math.exp(log_excess), curve(1 + math.exp(log_excess)), delta)

    return least(eps, x - _AROUND, x + _AROUND, xatol=1e-4).value


def eps_of_curve(curve: Rdp, delta: float, sharp: Rdp | None = None) -> tuple[float, float]:
    """Smallest epsilon over real orders of a Renyi curve, and the order that gives it; (inf, nan) if none is finite.

    Where `sharp` is given it is the curve that counts, evaluated at one order: `curve` is nearly the same for less and
    finds that order.
    """
    order, eps = least_over_orders(lambda order: improved_eps(order, curve(order), delta))
    if not math.isfinite(eps):
        return math.inf, math.nan
    return improved_eps(order, sharp(order), delta) if sharp else eps, order


def delta_of_curve(curve: Rdp, eps: float) -> float:
    """Delta at epsilon, at the best order (Canonne, Kamath and Steinke, 2020, Proposition 12)."""

    def log_delta(a: float) -> float:
        return (a - 1) * (curve(a) - eps) + a * math.log1p(-1 / a) - math.log(a - 1)

    return math.exp(min(least_over_orders(log_delta).value, 0.0))


def eps_of_zcdp(rho: float, xi: float, delta: float) -> float:
    """The least epsilon at delta of (xi, rho)-zCDP, which is a Renyi divergence of at most xi + rho order."""
    if delta == 0 or rho == 0:
        return 0.0 if delta == 1 else math.inf if rho else xi

    def eps(x: float) -> float:
        excess = math.exp(x)
        more = (math.log(delta) + math.log1p(excess)) / excess
        return xi + rho * (1 + excess) - math.log1p(1 / excess) - more

    return max(0.0, least(eps, -30.0, 90.0, xatol=1e-9).value)


def delta_of_zcdp(rho: float, xi: float, eps: float) -> float:
    """The least delta at epsilon >= 0 of (xi, rho)-zCDP (Canonne, Kamath and Steinke, 2020, Proposition 12)."""
    if eps == math.inf or (rho == 0 and xi <= eps):
        return 0.0

    def log_delta(x: float) -> float:
        excess = math.exp(x)
        return excess * (xi + rho * (1 + excess) - eps - math.log1p(1 / excess)) - math.log1p(excess)

    return math.exp(min(0.0, least(log_delta, -30.0, 90.0, xatol=1e-9).value))
