"""What one pair of neighbours attains of messages in a random order: epsilon, rounded down.

(a) Two values: everybody answers by randomised response, and all others hold the same bit. The number of ones is all
    that a random order shows: p B(k - 1) + (1 - p) B(k) against the exchanged, with B of Bin(n - 1, 1 / (a + 1)) and
    p = a / (a + 1).
(b) Three values, all others with the third: E (W_1 + .. + W_n)_+ / n with W = a - E, 1 - a E, (1 - E) / a at (1, 1, a)
    / (a + 2). Of m values of the first two kinds A ~ Bin(m, 1/2) are of the first, and the sum is s A + c_m.
(c) Any cells of a message, P0 and P1 the record's laws and R all others': the event that the sum of all scores
    (P0 - E P1) / R is at least k shows log((P - delta) / Q). Scores are rounded to whole numbers at random, so that
    their mean is kept: it is the best event of this pair but for that.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.accounting.binomials import binomial_log_masses, likely_counts
from dpexp.accounting.compose import TooWide
from dpexp.accounting.functions import exp, log, ndtr
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.shuffle import Tilt, between, cap_cells, coins, eps_at, grid_of, pure_mu

CELLS = 6000
"""of a message with one number"""
MASSES = 1e-13
"""relative error of a cell's probabilities, charged for every user"""
DECIDES = 7.0
"""deviations of the sum of scores"""
FAR = 9.0
"""deviations of it beyond which it is in one of the two last cells"""


def two_values(pure_eps: float, users: int, delta: float) -> float:
    """(a)."""
    truth = 1 / (1 + math.exp(-pure_eps))
    if users == 1:
        return max(math.log(max(truth - delta, 1 - truth) / (1 - truth)), 0.0)
    counts, _ = likely_counts(users - 1, 1 - truth, -60.0)
    counts = np.append(counts, counts[-1] + 1)
    both = [
        np.where((k >= 0) & (k < users), exp(binomial_log_masses(np.clip(k, 0, users - 1), users - 1, 1 - truth)), 0.0)
        for k in (counts - 1, counts)
    ]
    over, under = (truth * both[k] + (1 - truth) * both[1 - k] for k in (0, 1))

    def attained(eps: float) -> float:
        e = math.exp(eps) * (1 + 2e-11)
        return max(float(np.maximum(p - e * q, 0.0).sum()) for p, q in ((over, under), (under, over))) * (1 - 1e-11)

    return eps_at(attained, delta, "below", pure_eps, eps_of(pure_mu(pure_eps, users), delta))


def three_values(pure_eps: float, users: int, delta: float) -> float:
    """(b)."""
    a = math.exp(pure_eps)
    m, logs = likely_counts(users, 2 / (a + 2), -60.0)
    masses = exp(logs)

    def attained(eps: float) -> float:
        e = math.exp(eps)
        s, rest = (a - 1) * (1 + e), m * (1 - a * e) + (users - m) * (1 - e) / a
        k = np.ceil(-rest / s)
        gain, loss = s * m / 2 * coins(m - 1, k - 1), rest * coins(m, k)
        return float((masses * (np.maximum(gain + loss, 0.0) - 1e-11 * (gain + np.abs(loss)))).sum()) / users

    return eps_at(attained, delta, "below", pure_eps, eps_of(pure_mu(pure_eps, users), delta))


def gaussian(mu: float, users: int, delta: float) -> float:
    """(c) for means mu apart, in units of the noise, all others' being the second one."""
    edges = np.linspace(-FAR, FAR + mu, CELLS)
    other, record = (np.concatenate([[ndtr(x[0])], between(x), [ndtr(-x[-1])]]) for x in (edges, edges - mu))
    return _event(record, other, other, users, delta)


def caps(pure_eps: float, share: float, users: int, delta: float) -> float:
    """(c) for opposite caps, all others' messages being uniform, or from one of the two."""
    cells = cap_cells(pure_eps, share)
    uniform = np.array([share, share, 1 - 2 * share])
    used = uniform > 1e-12
    laws = [law[used] / law[used].sum() for law in (cells.record, cells.other, uniform)]
    return max(_event(laws[0], laws[1], others, users, delta) for others in laws)


def _event(record: np.ndarray, other: np.ndarray, rest: np.ndarray, users: int, delta: float) -> float:
    """The largest log((P - delta) / Q) of events that some score is for; all arguments are masses on cells [A]."""
    best, most = 0.0, math.log(float((record / other).max()))
    eps = min(eps_of(math.sqrt(float(((record - other) ** 2 / rest).sum()) / users), delta), 0.5 * most)
    for _ in range(20):
        found = _shown(record, other, rest, users, delta, eps)
        done = found <= best > 0 or abs(found - eps) <= 0.03 * eps
        best = max(best, found)
        # at the largest ratio itself no score is above 0
        eps = min(best, (1 - 1e-6) * most) or eps / 4
        if done:
            break
    return best


def _shown(record: np.ndarray, other: np.ndarray, rest: np.ndarray, users: int, delta: float, eps: float) -> float:
    """The best event whose scores are for this eps."""
    values = np.minimum((record - math.exp(eps) * other) / rest, 1e100)
    # a value that the others' sum does not outweigh decides alone
    for _ in range(4):
        mean, square = float((rest * values).sum()), float((rest * values * values).sum())
        values = np.minimum(values, users * max(-mean, 0.0) + DECIDES * math.sqrt(users * square))
    try:
        grid = grid_of(values, rest, users, 1 << (17 if users <= 100_000 else 18), float(values.max()))
    except TooWide:
        return 0.0
    cells, halves = grid.split(values)
    record, other, rest = (np.concatenate([law * half for half in halves]) for law in (record, other, rest))
    others = grid.tilt(cells, rest)
    # events whose factor e^(-l k) is a number
    first = max(0, -grid.low - math.floor(600 / (grid.rate * grid.interval)))
    places = grid.interval * np.arange(grid.low + first, grid.high + 1)
    kernel = math.sqrt(1 + 1 / (2 * grid.rate * grid.interval))
    decay = exp(-grid.rate * places)

    def tails(law: np.ndarray, last: Tilt, sign: float) -> np.ndarray:
        masses, error = grid.sum(others, users - 1, last)
        charge = error * kernel + grid.outside([(cells, rest, users - 1), (cells, law, 1)])
        above = np.cumsum((masses[first:] * decay)[::-1])[::-1] + sign * (charge + 1e-12) * decay
        cumulant = (users - 1) * others.cumulant + last.cumulant
        scale = sign * users * (others.rounding + last.rounding + MASSES)
        return log(np.maximum(above, 0.0)) + cumulant + scale

    shown = exp(np.minimum(tails(record, grid.tilt(cells, record), -1.0), 0.0)) - delta
    hidden = tails(other, grid.tilt(cells, other), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.where(shown > 0, np.log(shown) - hidden, -np.inf)))
