"""One number for a whole privacy curve: mu of Gaussian differential privacy up to a floor.

Gomez, Kulynych, Kaissis, Hayes, Balle and Honkela (2025, arXiv 2503.10945) summarise a mechanism by the least mu whose
curve is nowhere better. Without a floor the mu of sampled Gaussian steps is always that of no sampling, sqrt(T) / z:
the rarest losses decide. So a floor d is part of it:
delta(eps) <= max(delta_mu(eps), d) for all eps, and hence f(a) >= f_mu(a) - d for the trade-off curve f.
"""

from __future__ import annotations

import heapq
import math
from itertools import pairwise

from dpexp.privacy.accounting.gdp import delta_of, mu_of
from dpexp.privacy.accounting.tradeoff import Profile

CLOSE = 1e-5
"""relative gap between mu and what the same curve certainly needs, at which the search ends"""
MOST_CELLS = 400


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
