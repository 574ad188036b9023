"""One number for a whole privacy curve: mu of Gaussian differential privacy up to a floor, and its regret.

Gomez, Kulynych, Kaissis, Hayes, Balle and Honkela (2025, arXiv 2503.10945) summarise a mechanism by the least mu whose
curve is nowhere better, and by the regret, how far the mechanism can be above it. Without a floor the mu of sampled
Gaussian steps is always that of no sampling, sqrt(T) / z: the rarest losses decide. So a floor d is part of it:
delta(eps) <= max(delta_mu(eps), d) for all eps, and hence f(a) >= f_mu(a) - d for the trade-off curve f.
"""

from __future__ import annotations

import heapq
import math
from itertools import pairwise

import numpy as np

from dpexp.privacy.accounting.gdp import delta_of, mu_of
from dpexp.privacy.accounting.tradeoff import CURVE, SMALL, Profile, gaussian_beta

CLOSE = 1e-5
"""relative gap between mu and what the same curve certainly needs, at which the search ends"""
MOST_CELLS = 400
RATES = np.concatenate([np.geomspace(1e-4, 1e-2, 9), np.linspace(1e-2, 0.99, 50)[1:]])
"""false positive rates at which trade-off curves are compared: they are steep near 0"""


def mu_up_to(profile: Profile, floor: float, close: float = CLOSE) -> float:
    """The least mu, rounded up, with delta(eps) <= max(delta_mu(eps), floor) for all eps >= 0; inf if none is found.

    The search ends at a relative gap of `close`, on the safe side.

    (a) On a cell [eps(d1), eps(d2)] with d1 > d2 the curve is at most d1, and delta_mu at least its value at the right
    end. So the mu with delta_mu(eps(d2)) = d1 covers the cell, and the largest over all cells covers everything above
    the floor. (b) The mu with delta_mu(eps(d)) = d is needed at the places themselves: the cell with the largest mu is
    halved until that is near. (c) A cell that less than what is needed covers is never the one with the largest mu.
    """
    most = profile.advantage
    if most <= floor:
        return 0.0
    if most >= 1:  # (b) at epsilon 0
        return math.inf
    deltas = [most * (floor / most) ** (k / 16) for k in range(17)]
    eps = {d: 0.0 if d == most else profile.eps(d) for d in deltas}
    if not all(map(math.isfinite, eps.values())):
        return math.inf
    needed = 0.0
    for d in deltas:
        needed = _larger(needed, eps[d], d)  # (b)
    cells: list[tuple[float, float, float]] = []

    def add(above: float, below: float, at: float) -> None:
        """A cell between two deltas, whose right end is the epsilon `at` (a)."""
        if (mu := _larger(0.999999 * needed, at, above)) > 0.999999 * needed:  # (c)
            heapq.heappush(cells, (-mu, above, below))

    for a, b in pairwise(deltas):
        add(a, b, eps[b])
    for _ in range(MOST_CELLS):
        covering, a, b = cells[0]
        if -covering <= needed * (1 + close):
            break
        heapq.heappop(cells)
        middle = math.sqrt(a * b)
        at = profile.eps(middle)
        needed = _larger(needed, at, middle)
        add(a, middle, at)
        add(middle, b, profile.eps(b))
    return -cells[0][0] * (1 + 1e-9)


def _larger(mu: float, eps: float, delta: float) -> float:
    """The larger of mu and `mu_of`: what mu-GDP has at epsilon says with one question where that is mu."""
    return mu if mu > 0 and delta_of(mu, eps) > delta * (1 + 1e-9) else max(mu, mu_of(eps, delta))


def regret(mu: float, attained: Profile) -> float:
    """How far the mechanism can be above mu: the least D with f(a + D) - D <= f_mu(a) at all a of `RATES`.

    f is rounded up, but a rate between those may need a little more: .1359, where .1354 is found, for mu = 4 and the f
    of mu = 2, the worst of six pairs that were tried.

    (a) f is what a pair attains, rounded up at some rates; between them its chord is above it, since f is convex.
    (b) A rate is asked once it could decide: until then the chord over it stands for it, raised by what rounding up may
    have added.
    (c) Those that do decide are asked once more with all digits, until those that decide are known.
    """
    rates = np.array([0.0, *RATES, 1.0])
    betas = np.array([1.0, *np.full(len(RATES), np.nan), 0.0])
    gaussian = np.array([gaussian_beta(mu, float(a)) for a in RATES])
    precise = {0, len(rates) - 1}

    def ask(k: int) -> None:
        if math.isnan(betas[k]):
            betas[k] = attained.beta(float(rates[k]), curve=True)

    def above(middle: float) -> tuple[float, int]:
        """The largest f(a + D) - D - f_mu(a) at D = middle, and where."""
        while True:
            # (b)
            known = ~np.isnan(betas)
            chords = np.interp(rates, rates[known], betas[known])
            upper = np.where(known, betas, chords + CURVE * np.maximum(chords, SMALL))
            # (a)
            at = np.minimum(RATES + middle, 1.0)
            excess = np.interp(at, rates, upper) - middle - gaussian
            worst = int(excess.argmax())
            after = int(np.searchsorted(rates, at[worst]))
            if excess[worst] <= 0 or not np.isnan(betas[[after - 1, after]]).any():
                return float(excess[worst]), worst
            ask(after - 1)
            ask(after)

    while True:
        low, high, worst = 0.0, 1.0, 0
        while high - low > 1e-6:
            middle = (low + high) / 2
            excess, at = above(middle)
            if excess <= 0:
                high = middle
            else:
                low, worst = middle, at
        # (c): the two rates whose chord decided last
        after = int(np.searchsorted(rates, min(RATES[worst] + high, 1.0)))
        rough = {after - 1, after} - precise
        if not rough:
            return high
        for k in rough:
            ask(k)
            betas[k] = min(betas[k], attained.beta(float(rates[k])))
        precise |= rough
