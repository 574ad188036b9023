"""One number for a whole privacy curve: mu of Gaussian differential privacy up to a floor.

Gomez, Kulynych, Kaissis, Hayes, Balle and Honkela (2025, arXiv 2503.10945) summarise a mechanism by the least mu whose
curve is nowhere better. Without a floor d the mu of sampled Gaussian steps is always that of no sampling, sqrt(T) / z:
the rarest losses decide. With it delta(eps) <= max(delta_mu(eps), d) for all eps, and f(a) >= f_mu(a) - d for the
trade-off curve f.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import delta_of, mu_of
from dpexp.accounting.search import narrow

CLOSE, MOST_CELLS = 1e-5, 400
"""relative gap between mu and what the same curve certainly needs, at which the search ends; and cells that it tries"""


def mu_up_to(profile: Curve, floor: float, close: float = CLOSE) -> float:
    """The least mu, rounded up, with delta(eps) <= max(delta_mu(eps), floor) for all eps >= 0; inf if none is found.

    Exact where the profile is that of a mu. Else the search ends at a relative gap of `close`, on the safe side.
    (a) delta is convex in e^eps, so on a cell [eps(d1), eps(d2)] with d1 > d2 it is at most its chord. A mu whose curve
    is above the chord covers the cell, and the largest over all cells covers everything above the floor.
    (b) The mu with delta_mu(eps(d)) = d is needed at the places themselves: the cell with the largest mu is halved
    until that is near.
    """
    largest_delta = profile.advantage
    if largest_delta <= floor:
        return 0.0
    if profile.mu is not None:
        return profile.mu
    deltas = [largest_delta * (floor / largest_delta) ** (k / 16) for k in range(17)]
    eps = {d: 0.0 if d == largest_delta else profile.eps(d) for d in deltas} if largest_delta < 1 else {1.0: math.inf}
    if not all(map(math.isfinite, eps.values())):  # or (b) at epsilon 0
        return profile.unsampled
    needed = max(mu_of(eps[d], d) for d in deltas)  # (b)

    def covering(above: float, below: float) -> float:
        """The mu that covers the cell between two deltas (a); 0 where less than what is needed does."""
        chord = eps[above], above, eps[below], below
        if _is_above(0.999999 * needed, *chord):
            return 0.0
        # the largest: what the curve needs at the end to be above the whole cell
        largest = max(needed, mu_of(eps[below], above)) * (1 + 1e-9)
        return narrow(lambda mu: _is_above(mu, *chord), 0.999999 * needed, largest, relative=1e-9).above

    cells = [(covering(a, b), a, b) for a, b in pairwise(deltas)]
    for _ in range(MOST_CELLS):
        worst = max(cells)
        mu, a, b = worst
        if mu <= needed * (1 + close):
            break
        middle = math.sqrt(a) * math.sqrt(b)  # the product of two small deltas would be 0
        eps[middle] = profile.eps(middle)
        needed = max(needed, mu_of(eps[middle], middle))
        cells.remove(worst)
        cells += [(covering(a, middle), a, middle), (covering(middle, b), middle, b)]
    return min(max(needed, max(cells)[0]) * (1 + 1e-9), profile.unsampled)


def _is_above(mu: float, start: float, high: float, end: float, low: float) -> bool:
    """Whether the curve of mu is nowhere below the chord in e^eps from delta `high` at `start` to `low` at `end`."""
    if mu <= 0 or delta_of(mu, start) < high * (1 - 1e-12) or delta_of(mu, end) < low:
        return False
    width = -math.expm1(start - end)
    # the curve of mu has the slope -Phi(-mu / 2 - eps / mu) in e^eps: it is nearest where that is the chord's
    slope = (high - low) * math.exp(-end) / width if width > 0 else 0.0
    if not 0 < slope < 1:
        return delta_of(mu, end) >= high
    at = min(max(-mu * (mu / 2 + NormalDist().inv_cdf(slope)), start), end)
    share = -math.expm1(start - at) * math.exp(at - end) / width
    return delta_of(mu, at) >= high + share * (low - high)
