"""Messages in a secret random order: the epsilon of all of them, rounded up, and what a pair attains, rounded down.

(a) With iid tokens V, delta(eps) <= E (V_1 + .. + V_n)_+ / n (docs page shuffle, theorem 1); E = e^eps.
(b) Messages from a cap of directions: V has three values, `cap_cells` of the mechanism of shuffled messages.
(c) Gaussian messages in R^p, means in a ball of c noises: V = e^(c (r + t)) - E e^(c (r - t)) under the blanket
    (2 pi)^(-p / 2) e^(-(r + c)^2 / 2), r the norm of a message and t its coordinate along the record. Cells are
    rectangles of u = r + t = x^2 and w = r - t = y^2, of volume S (x y)^(p - 2) (x^2 + y^2) dx dy with the area S of
    the unit sphere of R^(p - 1).
(d) On a cell V is replaced by the two ends of an interval that holds it, its mean kept: convex order rises. Cells with
    the largest densities, of delta / 100, are left out: V is 0 there, and their probability is charged once.
(e) The farthest negative values are raised, which moves the mean by at most 1e-4 of itself.
(f) Each value goes to its two neighbours on a grid, mean kept, and `compose` sums them.
(g) From below: P0 and P1 are a record's laws on cells, R that of all others. The event that the sum of the scores
    (P0 - E P1) / R is at least 0 shows P(event) - E Q(event), whatever the scores are: they are rounded to the grid at
    random, their mean kept.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.accounting.compose import Tilted, TooWide
from dpexp.accounting.curve import largest_eps
from dpexp.accounting.functions import exp, gauss_legendre, log, normal_cells
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_grid import UNIT, Discrete
from dpexp.accounting.search import narrow, solve

QUADRATURE, MASSES = 1e-11, 1e-13  # relative errors of the masses of cells, from above and from below, for every user
REACH = 9.0  # deviations of a norm beyond which a message is left out: e^(-REACH^2 / 2) = 3e-18
DECIDES = 7.0  # deviations of the others' sum beyond which a score decides alone
Laws = tuple[np.ndarray, np.ndarray, np.ndarray]
"""for (g): of a record's message, of what replaces it, and of all others, on cells [A]"""


class Cells(NamedTuple):
    """The laws of a record's message on cells [A]: blanket and both records."""

    masses: np.ndarray  # of the blanket, of the record and of the other record, [3, A]
    densities: np.ndarray  # least and largest of both records' densities over the blanket, [2, 2, A]
    missing: float = 0.0  # probability of the record's message to be in no cell

    def without_largest(self, share: float) -> Cells:
        """(d) without the cells of the largest densities that have this probability together."""
        order = np.argsort(-self.densities[:, 1].max(axis=0))
        masses = np.append(0.0, np.cumsum(self.masses[1, order]))
        first = int(np.searchsorted(masses[1:], share))
        rest, missing = order[first:], self.missing + float(masses[first])
        return Cells(self.masses[:, rest], self.densities[..., rest], missing)


@lru_cache(maxsize=8)
def ball_cells(c: float, dimension: int) -> Cells:
    """(c): all means within c of one point, any two of them; c > 0, dimension >= 1."""
    width, lost = min(0.2, max(0.12 / c, 0.1)), 2 * math.exp(-((REACH - 0.2) ** 2) / 2)
    far, near = c + math.sqrt(dimension) + REACH, max(0.0, math.sqrt(dimension) - c - REACH)
    edges = width * np.arange(math.ceil(2 * far / width) + 1)
    ends = exp(c * edges)
    between = np.stack([ends[:-1], ends[1:]])
    if dimension == 1:
        # t = r or -r: one of u and w is 0
        record, other = normal_cells(edges / 2 - c)[1:-1], normal_cells(edges / 2 + c)[1:-1]
        laws, one = np.hstack([[other, record, other], [other, other, record]]), np.ones_like(between)
        return Cells(laws, np.concatenate([[between, one], [one, between]], axis=2), lost)
    sums = np.add.outer(edges, edges)
    i, j = np.nonzero((sums[1:, 1:] > 2 * near) & (sums[:-1, :-1] < 2 * far))
    nodes, weights = gauss_legendre(6)
    roots = np.sqrt(edges)
    half = np.diff(roots)[:, None] / 2
    x = roots[:-1, None] + half * (1 + nodes)
    area = math.log(2) + (dimension - 1) / 2 * math.log(math.pi) - math.lgamma((dimension - 1) / 2)
    constant = area - dimension / 2 * math.log(2 * math.pi)
    square, steps, powers = x * x, half * weights, (dimension - 2) * log(x)
    u, w = square[i][:, :, None], square[j][:, None, :]
    heights = exp(constant + powers[i][:, :, None] + powers[j][:, None, :] - ((u + w) / 2 + c) ** 2 / 2) * (u + w)
    more = exp(c * square) * steps
    pairs = (steps, steps), (more, steps), (steps, more)
    masses = np.array([np.einsum("kab,ka,kb->k", heights, of_u[i], of_w[j]) for of_u, of_w in pairs])
    used = masses[0] > 1e-290
    return Cells(masses[:, used], np.stack([between[:, i[used]], between[:, j[used]]]), lost)


def normal_laws(mu: float) -> Laws:
    """Those of means mu apart, in units of the noise, all others' being the second one."""
    edges = np.linspace(-REACH, REACH + mu, 6000)
    record, other = normal_cells(edges - mu), normal_cells(edges)
    return record, other, other


def _on_grid(values: np.ndarray, users: int, *masses: np.ndarray) -> tuple[float, float, list[Discrete]]:
    """(f) Interval and rate of the grid on which sums of `users` values [A] are sought beyond 0, and laws there.

    Its unit is 1 over the rate t at which sums are tilted, with n K'(t) = 1 / t about for the first of the laws.
    """
    largest, rest = float(values.max()), max(1 - float(masses[0].sum()), 0.0)

    def moments(log_rate: float) -> tuple[float, float]:
        """Mean and variance of a value after tilting."""
        tilted = masses[0] * exp(math.exp(log_rate) * values)
        total = float(tilted.sum()) + rest
        mean = float((tilted * values).sum()) / total
        return mean, float((tilted * values * values).sum()) / total - mean * mean

    ends = math.log(1e-13 / largest), math.log(500 / largest)
    at = narrow(lambda log_rate: users * math.exp(log_rate) * moments(log_rate)[0] >= 1, *ends, absolute=0.05).above
    rate, deviation = math.exp(at), math.sqrt(max(users * moments(at)[1], 1e-12 * largest**2))
    # rounding adds 81 n / 4^bits to the variance, relatively; the few values of pure messages have none of their own
    bits = (17 if len(values) < 8 else 16) + (users > 100_000) + (users > 500_000)
    width = max(18 * deviation, largest - float(values.min())) / (1 << bits)
    places = values / width
    lower = np.floor(places)
    # of the mass of a value that goes to the cell above, rounding raising its mean
    share = np.clip(places - lower + 4 * UNIT * np.abs(places), 0.0, 1.0)
    start = min(int(lower.min()), 0)
    cells = np.concatenate([lower, lower + 1, [0]]).astype(np.int64) - start

    def law(masses: np.ndarray) -> Discrete:
        rest = 1 - float(masses.sum())
        split = np.concatenate([masses * (1 - share), masses * share, np.array([rest if rest > 1e-12 else 0.0])])
        return Discrete(start, np.bincount(cells, split), 0.0)

    return rate * width, rate, [law(each) for each in masses]


def token_delta(cells: Cells, eps: float, users: int) -> float:
    """Delta at eps >= 0 for tokens on cells, rounded up."""
    e, (blanket, record, other), (over, under) = math.exp(eps), cells.masses, cells.densities
    # (d)
    low, high = over - e * under[::-1]
    upper = np.clip(((record - e * other) / blanket - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    values, masses = np.concatenate([low, high]), np.concatenate([blanket * (1 - upper), blanket * upper])
    values, masses, lost = values[masses > 0], masses[masses > 0], cells.missing + 8 * UNIT * (1 + e)
    if not values.max() > 0:
        return lost
    # (e)
    order = np.argsort(values)
    v, m = values[order], masses[order]
    moved, limit = v * np.cumsum(m) - np.cumsum(m * v), 1e-4 * abs(float((m * v).sum()))
    values = np.maximum(values, v[max(int(np.searchsorted(moved, limit)) - 1, 0)])
    try:
        interval, rate, (law,) = _on_grid(values, users, masses)
        tilted = Tilted([(law, users)], interval, 1.0, "above")
    except (TooWide, OverflowError):
        return 1.0
    # (f)
    return min(1.0, tilted.positive_part / rate / users * math.exp(users * QUADRATURE) + lost)


def token_eps(cells: Cells, users: int, delta: float, local: float) -> float:
    """Epsilon at delta, rounded up; never above `local`, what holds when the order is known."""
    smaller, (blanket, record, other) = cells.without_largest(delta / 100), cells.masses
    chi = float(((record - other) ** 2 / blanket).sum())
    guess = min(max(eps_of(math.sqrt(chi / users), delta), 1e-9 * local), 0.9 * local)

    @cache
    def delta_at(log_eps: float) -> float:
        # nearly straight in log epsilon
        eps = guess * math.exp(log_eps)
        return -math.log(min(max(token_delta(smaller, eps, users), 1e-300), 1 - 1e-16)) if eps < local else math.inf

    return min(local, guess * math.exp(solve(lambda x: 1 / delta_at(x), -1 / math.log(delta), 1e-4)))


def pair_eps(laws: Laws, users: int, delta: float, accuracy: float = MASSES) -> float:
    """Epsilon at delta that a record's laws and that of all others, of this relative accuracy, attain: (g)."""
    record, other, rest = laws
    largest = math.log(float((record / other).max()))
    mu = math.sqrt(float(((record - other) ** 2 / rest).sum()) / users)
    best, eps = 0.0, min(eps_of(mu, delta), 0.5 * largest)
    for _ in range(20):
        value = _event(laws, users, delta, eps, accuracy)
        close = value <= best > 0 or abs(value - eps) <= 0.03 * eps
        best = max(best, value)
        if close:
            break
        # at the largest ratio itself no score is above 0
        eps = min(best, (1 - 1e-6) * largest) or eps / 4
    return best


def _event(laws: Laws, users: int, delta: float, eps: float, accuracy: float) -> float:
    """The largest log((P - delta) / Q) of events whose scores are for this eps."""
    record, other, rest = laws
    values = np.minimum((record - math.exp(eps) * other) / rest, 1e100)
    # a value that the others' sum does not outweigh decides alone
    for _ in range(4):
        mean, square = float((rest * values).sum()), float((rest * values * values).sum())
        values = np.minimum(values, users * max(-mean, 0.0) + DECIDES * math.sqrt(users * square))
    try:
        interval, _, (own, with_record, with_other) = _on_grid(values, users, rest, record, other)
        others = [(own, users - 1)] if users > 1 else []
        over = Tilted([*others, (with_record, 1)], interval, 1.0, "below")
        under = Tilted([*others, (with_other, 1)], interval, 1.0, "above")
    except (TooWide, OverflowError):
        return 0.0
    first = max(over.first, under.first)
    log_p, log_q = (tilted.log_tails[first - tilted.first :] for tilted in (over, under))
    count = min(len(log_p), len(log_q))
    return largest_eps(exp(np.minimum(log_p[:count] - users * accuracy, 0.0)), log_q[:count] + users * accuracy, delta)
