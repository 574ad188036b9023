"""Analyses from curves: a Renyi divergence at every order, or a delta at every epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from dpexp.accounting.conversions import eps_near, eps_of_curve
from dpexp.accounting.curve import eps_of_delta
from dpexp.privacy.analyses.analysis import Analysis, Released, guarantee

MISLED = 1e-4
"""relative difference of what was promised of an order and what the curve has there, from which on another search is
tried: a smooth difference of this size moves the order by about as much, and epsilon by its square"""


def renyi_analysis(
    name: str,
    source: str,
    released: Released,
    curve: Callable[[float], float],
    assumptions: Sequence[str],
    refused: str = "",
    nearly: Callable[[float], float] | None = None,
) -> Analysis:
    """From a Renyi curve, converted at its best real order (Canonne, Kamath and Steinke).

    `nearly` is about the curve, for less and no bound: it finds the order, from which the curve itself is followed
    where it was misled.
    """
    # whatever delta is, a search begins at the same orders
    every = cache(curve)
    about = cache(nearly) if nearly else every

    @cache
    def eps(delta: float) -> float:
        stated, order = eps_of_curve(about, delta, sharp=every)  # the curve's own at some order
        if not math.isfinite(stated) or math.isclose(about(order), every(order), rel_tol=MISLED):
            return stated
        return min(stated, eps_near(every, order, delta))

    return guarantee(name, source, released, eps, assumptions, curve, refused)


def hockey_stick_analysis(
    name: str,
    source: str,
    released: Released,
    delta: Callable[[float], float],
    assumptions: Sequence[str],
    refused: str = "",
) -> Analysis:
    """From a bound on delta as a decreasing function of epsilon."""

    @cache
    def eps(at: float) -> float:
        return eps_of_delta(delta, at)

    return guarantee(name, source, released, eps, assumptions, refused=refused)
