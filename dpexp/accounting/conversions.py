"""From Renyi divergences to (epsilon, delta), at the best order; the Gaussian ones are in `gaussian`.

Any order is valid, so that a search which misses the best one is loose but never wrong. With x = order - 1 > 0
(Canonne, Kamath and Steinke, 2020, Proposition 12)

    epsilon = rdp - log(1 + 1 / x) - (log delta + log(1 + x)) / x,
    log delta = x (rdp - epsilon - log(1 + 1 / x)) - log(1 + x).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpexp.accounting.search import GOLDEN, Least, least

Rdp = Callable[[float], float]
"""order -> Renyi divergence"""
_PLACES: list[float] = np.log(np.geomspace(5e-4, 4e3, 25)).tolist()
"""log(order - 1) between the first and the last of which the best is sought"""
_AROUND = _PLACES[1] - _PLACES[0]
_WIDE = -30.0, 90.0
_CLOSE = 2e-5
"""how closely log(order - 1) is found: epsilon is flat there, and misses the least by about the square of it"""


def improved_eps(order: float, rdp: float, delta: float) -> float:
    """Epsilon, at least 0, at delta > 0 of a Renyi divergence of that order."""
    x = order - 1
    return max(0.0, rdp - math.log1p(1 / x) - (math.log(delta) + math.log1p(x)) / x)


def _log_delta(x: float, rdp: float, eps: float) -> float:
    return x * (rdp - eps - math.log1p(1 / x)) - math.log1p(x)


def least_over_orders(value: Callable[[float], float], wide: bool = False) -> Least:
    """The order > 1 and the least value that a search finds, of values that have one valley; inf where none is finite.

    So have epsilon and log delta of a curve of divergences: epsilon times order - 1, and log delta, are convex in the
    order. `wide` is for a straight curve, whose best order can be far beyond that of others.
    """
    low, high = _WIDE if wide else (_PLACES[0], _PLACES[-1])
    if not math.isfinite(value(1 + math.exp(low + GOLDEN * (high - low)))):  # where the search would begin
        best = min(range(len(_PLACES)), key=lambda k: value(1 + math.exp(_PLACES[k])))
        low, high = _PLACES[max(0, best - 1)], _PLACES[min(len(_PLACES) - 1, best + 1)]
    found = least(lambda x: value(1 + math.exp(x)), low, high, xatol=1e-9 if wide else _CLOSE)
    return Least(1 + math.exp(found.x), found.value)


def eps_near(curve: Rdp, order: float, delta: float) -> float:
    """The smallest epsilon of a curve that a search by its own values finds around an order."""
    x = math.log(order - 1)

    def eps(log_excess: float) -> float:
        return improved_eps(1 + math.exp(log_excess), curve(1 + math.exp(log_excess)), delta)

    return least(eps, x - _AROUND, x + _AROUND, xatol=1e-4).value


def eps_of_curve(curve: Rdp, delta: float, sharp: Rdp | None = None, wide: bool = False) -> tuple[float, float]:
    """Smallest epsilon over real orders of a Renyi curve, and the order that gives it; (inf, nan) if none is finite.

    Where `sharp` is given it is the curve that counts, evaluated at one order: `curve` is nearly the same for less and
    finds that order.
    """
    order, eps = least_over_orders(lambda order: improved_eps(order, curve(order), delta), wide)
    if not math.isfinite(eps):
        return math.inf, math.nan
    return improved_eps(order, sharp(order), delta) if sharp else eps, order


def delta_of_curve(curve: Rdp, eps: float, wide: bool = False) -> float:
    """Delta at epsilon, at the best order."""
    return math.exp(min(least_over_orders(lambda order: _log_delta(order - 1, curve(order), eps), wide).value, 0.0))
