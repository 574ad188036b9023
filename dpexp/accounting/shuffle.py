"""Messages in a secret random order: the epsilon of all of them, rounded up (docs page shuffle, theorem 1).

With iid tokens V, delta(eps) <= E (V_1 + .. + V_n)_+ / n. Below E = e^eps, a = e^eps_0, and c is the radius of the ball
of means in units of the noise.

(a) Messages that are eps_0-DP: V = a - E and 1 - a E with probability 1 / (a + 1) each, else 0. Sums are binomials.
(b) Caps: V = a - E (mass l q), 1 - a E (l q) and 1 - E (l (1 - 2 q)), l = 1 / (q a + 1 - q).
(c) Gaussian messages in R^p with means in the ball: V = e^(c (r + t)) - E e^(c (r - t)) under the blanket
    (2 pi)^(-p / 2) e^(-(r + c)^2 / 2), r the norm of a message and t its coordinate along the record. Cells are
    rectangles of u = r + t = x^2 and w = r - t = y^2, in which the volume is S (x y)^(p - 2) (x^2 + y^2) dx dy with the
    area S of the unit sphere of R^(p - 1).
(d) On a cell V is replaced by the two ends of an interval that holds it, its mean kept: convex order rises. Cells with
    the largest densities, of delta / 100, are left out: V is 0 there, and their probability is charged once.
(e) The farthest negative values are raised, which moves the mean by at most 1e-4 of itself.
(f) Each value goes to its two neighbours on a grid, mean kept.
(g) Sums are tilted, as in `dpexp.accounting.compose`, whose letters (d) to (i) hold with the kernel k(x) = x e^(-l x),
    at most 1 / (l e), and |k|_2^2 <= 1 / (l e)^2 + 1 / (4 l^3 h). The cell of 0, which nearly all tokens are in, is no
    part of the transform, so that the error is relative to the norm of the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.accounting.binomials import likely_counts
from dpexp.accounting.compose import TooWide
from dpexp.accounting.curve import Side
from dpexp.accounting.functions import exp, expm1, gauss_legendre, log, log1p, ndtr
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.grid import UNIT
from dpexp.accounting.search import narrow

QUADRATURE = 1e-11
"""relative error of a cell's masses, charged for every user"""
REACH = 9.0
"""deviations of a norm beyond which a message is left out: e^(-REACH^2 / 2) = 3e-18"""
_OUT = 36.0
"""-log of the tilted mass that may lie beyond either end of a window"""
_CLOSE = 2e-4
"""how closely delta is met, relatively"""


class Cells(NamedTuple):
    """The laws of a record's message on cells [A]: blanket and both records, and the range of their densities there."""

    blanket: np.ndarray
    record: np.ndarray
    other: np.ndarray
    record_range: tuple[np.ndarray, np.ndarray]
    """least and largest density of the record's law over the blanket"""
    other_range: tuple[np.ndarray, np.ndarray]
    missing: float = 0.0
    """probability of the record's message to be in no cell"""

    def kept(self, share: float) -> Cells:
        """(d) without the cells of the largest densities that have this probability together."""
        order = np.argsort(-np.maximum(self.record_range[1], self.other_range[1]))
        gone = np.cumsum(self.record[order])
        first = int(np.searchsorted(gone, share))
        rest, lost = order[first:], float(gone[first - 1]) if first else 0.0
        over, under = ((low[rest], high[rest]) for low, high in (self.record_range, self.other_range))
        return Cells(self.blanket[rest], self.record[rest], self.other[rest], over, under, self.missing + lost)

    def tokens(self, eps: float) -> tuple[np.ndarray, np.ndarray]:
        """Values [2 A] and their probabilities; with the rest the token is 0."""
        e = math.exp(eps)
        low = self.record_range[0] - e * self.other_range[1]
        high = self.record_range[1] - e * self.other_range[0]
        mean = (self.record - e * self.other) / self.blanket
        upper = np.clip((mean - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
        return np.concatenate([low, high]), np.concatenate([self.blanket * (1 - upper), self.blanket * upper])

    @property
    def chi(self) -> float:
        """E V^2 at eps = 0: eps is near that of Gaussian DP with mu = sqrt(chi / n)."""
        return float(((self.record - self.other) ** 2 / self.blanket).sum())


def coins(tosses: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """P(Bin(tosses, 1/2) >= heads), whole numbers [A] -> [A]."""
    from scipy.special import betainc

    inside = betainc(np.maximum(heads, 1.0), np.maximum(tosses - heads + 1, 1.0), 0.5)
    return np.where(heads <= 0, 1.0, np.where(heads > tosses, 0.0, inside))


def pure_delta(eps: float, pure_eps: float, users: int) -> float:
    """Delta at eps >= 0 of messages that are pure_eps-DP, rounded up: (a)."""
    if eps >= pure_eps:
        return 0.0
    a, e = math.exp(pure_eps), math.exp(eps)
    # another user's message shows either value with probability 1 / (a + 1); of the counts left out each is below e^-60
    counts, logs = likely_counts(users - 1, 2 / (a + 1), -60.0)
    k = np.ceil((counts + 1) * (a * e - 1) / ((a - 1) * (1 + e)))
    before, above = coins(counts, k - 1), coins(counts, k)
    gain, loss = (a - e) / (a + 1) * (before - above), (e - 1) * above
    return float((exp(logs) * (np.maximum(gain - loss, 0.0) + 1e-9 * gain + 1e-11 * loss)).sum()) + users * 1e-26


def cap_cells(pure_eps: float, share: float) -> Cells:
    """(b): a cap of this share of all directions, any two caps."""
    a = math.exp(pure_eps)
    low = 1 / (share * a + 1 - share)
    blanket = low * np.array([share, share, max(1 - 2 * share, 1e-300)])
    over, under = np.array([a, 1.0, 1.0]), np.array([1.0, a, 1.0])
    return Cells(blanket, blanket * over, blanket * under, (over, over), (under, under))


@lru_cache(maxsize=8)
def ball_cells(c: float, dimension: int) -> Cells:
    """(c): all means within c of one point, any two of them; c > 0, dimension >= 1."""
    width, lost = min(0.2, max(0.12 / c, 0.1)), 2 * math.exp(-((REACH - 0.2) ** 2) / 2)
    far = c + math.sqrt(dimension) + REACH
    near = max(0.0, math.sqrt(dimension) - c - REACH)
    edges = width * np.arange(math.ceil(2 * far / width) + 1)
    if dimension == 1:
        # t = r or -r: one of u and w is 0
        places = edges / 2
        record, other = between(places - c), between(places + c)
        ends = exp(2 * c * places)
        low, high, one = ends[:-1], ends[1:], np.ones(len(ends) - 1)
        halves = [np.concatenate(pair) for pair in ((other, other), (record, other), (other, record))]
        over = np.concatenate([low, one]), np.concatenate([high, one])
        under = np.concatenate([one, low]), np.concatenate([one, high])
        return Cells(halves[0], halves[1], halves[2], over, under, lost)
    i, j = np.nonzero(np.add.outer(edges[1:], edges[1:]) > 2 * near)
    inside = edges[i] + edges[j] < 2 * far
    i, j = i[inside], j[inside]
    nodes, weights = gauss_legendre(6)
    roots = np.sqrt(edges)
    half = np.diff(roots) / 2
    x = (roots[:-1] + half)[:, None] + half[:, None] * nodes
    area = math.log(2) + (dimension - 1) / 2 * math.log(math.pi) - math.lgamma((dimension - 1) / 2)
    constant = area - dimension / 2 * math.log(2 * math.pi)
    square, steps = x * x, half[:, None] * weights
    powers = (dimension - 2) * log(x)
    u, w = square[i][:, :, None], square[j][:, None, :]
    heights = exp(constant + powers[i][:, :, None] + powers[j][:, None, :] - ((u + w) / 2 + c) ** 2 / 2) * (u + w)
    more = exp(c * square) * steps
    blanket, record, other = (
        np.einsum("kab,ka,kb->k", heights, of_u[i], of_w[j])
        for of_u, of_w in ((steps, steps), (more, steps), (steps, more))
    )
    used = blanket > 1e-290
    ends = exp(c * edges)
    over, under = ((ends[:-1][k][used], ends[1:][k][used]) for k in (i, j))
    return Cells(blanket[used], record[used], other[used], over, under, lost)


def between(places: np.ndarray) -> np.ndarray:
    """Normal probabilities between ascending places [A + 1] -> [A], each to its own digits."""
    return np.where(places[1:] <= 0, np.diff(ndtr(places)), -np.diff(ndtr(-places)))


class Tilt(NamedTuple):
    """One law on the grid h, tilted by e^(rate value) and wrapped; its transform, and what that costs."""

    cumulant: float
    transform: np.ndarray
    norm: float
    """2-norm of the weights but for the cell of 0"""
    rounding: float
    """relative error of a weight"""


class Grid(NamedTuple):
    """A rate, an interval h, the number of cells of transforms, and the window of a sum in which its tilted mass is."""

    rate: float
    interval: float
    size: int
    low: int
    high: int
    chernoff: tuple[float, float]
    """rates at which the mass beyond both ends is bounded"""

    def split(self, values: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """(f) the two cells next to each value, [2 A], and the shares [A] of both with which its mean is kept."""
        lower = np.floor(values / self.interval)
        share = np.clip(values / self.interval - lower, 0.0, 1.0)
        return np.concatenate([lower, lower + 1]), (1 - share, share)

    def tilt(self, cells: np.ndarray, masses: np.ndarray) -> Tilt:
        """Of a law with probabilities [A] on whole cells [A], and 0 with the rest."""
        powers = self.rate * self.interval * cells
        cumulant = float(_cumulants(powers, masses))
        weights = masses * exp(powers - cumulant)
        wrapped = np.bincount(cells.astype(np.int64) % self.size, weights=weights, minlength=self.size)
        apart = float(wrapped[0]) + _zero(masses) * math.exp(-cumulant)
        wrapped[0] = 0.0
        rounding = UNIT * (16 + float(np.abs(powers).max()) + abs(cumulant))
        return Tilt(cumulant, np.fft.rfft(wrapped) + apart, math.sqrt(float(np.square(wrapped).sum())), rounding)

    def outside(self, laws: Sequence[tuple[np.ndarray, np.ndarray, int]]) -> float:
        """A bound on the tilted mass of a sum of laws (cells, masses, count) beyond the window."""

        def cumulant(rate: float) -> float:
            step = rate * self.interval
            return sum(count * float(_cumulants(step * cells, masses)) for cells, masses, count in laws)

        at, (left, right) = cumulant(self.rate), self.chernoff
        below = cumulant(self.rate - left) - at + left * self.interval * self.low
        above = cumulant(self.rate + right) - at - right * self.interval * self.high
        return math.exp(min(below, 0.0)) + math.exp(min(above, 0.0))

    def sum(self, law: Tilt, count: int, last: Tilt | None = None) -> tuple[np.ndarray, float]:
        """Tilted masses of a sum of `count` laws and `last` on the window's cells; a bound on their error's 2-norm."""
        every = [(law, count), *([(last, 1)] if last else [])]
        forward = 8 * UNIT * math.log2(self.size)
        steps = forward * sum(k * one.norm for one, k in every)
        spectrum = np.zeros(self.size // 2 + 1, dtype=np.complex128)
        # a power below e^-60 is left out
        used = np.flatnonzero(np.abs(law.transform) > math.exp(-60 / max(count, 1)))
        spectrum[used] = _power(law.transform[used], count) * (last.transform[used] if last else 1.0)
        length = math.sqrt(2 * float(np.square(np.abs(spectrum)).sum()) / self.size)
        error = math.exp(min(steps * math.sqrt(self.size), 700.0)) * steps
        error += (5 * UNIT * (count + 1) + forward) * length + 2 * math.exp(-60)
        masses = np.fft.irfft(spectrum, self.size)
        return np.roll(masses, -self.low)[: self.high - self.low + 1], error


def _zero(masses: np.ndarray) -> float:
    """The probability of 0 beside these, where it is more than rounding."""
    rest = 1 - float(masses.sum())
    return rest if rest > 1e-12 else 0.0


def _cumulants(powers: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """log E e^power of laws with masses [A] at powers [.., A], and at 0 with the rest."""
    near = (masses * expm1(powers)).sum(axis=-1)
    if np.all(near > -0.5):
        return log1p(near)
    return np.asarray(np.where(near > -0.5, log1p(near), log((masses * exp(powers)).sum(axis=-1) + _zero(masses))))


def _power(base: np.ndarray, count: int) -> np.ndarray:
    """By squaring, so that a product has a relative error of count times that of one."""
    found = np.ones_like(base)
    while count:
        found, base, count = (found * base if count & 1 else found), base * base, count >> 1
    return found


def grid_of(values: np.ndarray, masses: np.ndarray, users: int, size: int, more: float = 0.0) -> Grid:
    """The grid on which the positive part of a sum of tokens is sought, and of one more value; some value is above 0.

    The rate l has n K'(l) = 1 / l: where s e^(-l s), the kernel, is largest. Raises TooWide.
    """
    largest = float(values.max())

    def moments(rate: float) -> tuple[float, float]:
        tilted = masses * exp(rate * values)
        total = float(tilted.sum()) + _zero(masses)
        mean = float((tilted * values).sum()) / total
        return mean, float((tilted * values * values).sum()) / total - mean * mean

    at = narrow(
        lambda x: users * math.exp(x) * moments(math.exp(x))[0] >= 1,
        math.log(1e-13 / largest), math.log(500 / largest), absolute=0.02,
    )  # fmt: skip
    rate = math.exp(at.above)
    deviation = math.sqrt(max(users * moments(rate)[1], 1e-12 * largest**2))
    tried = math.sqrt(2 * _OUT) / deviation * 2.0 ** -np.arange(0, 9)

    def cumulants(rates: np.ndarray) -> np.ndarray:
        return users * _cumulants(np.multiply.outer(rates, values), masses)

    base = float(cumulants(np.array([rate]))[0])
    lows = -(_OUT + cumulants(rate - tried) - base) / tried
    right = tried[(rate + tried) * largest < 600]
    right = right if len(right) else np.array([50 / largest])
    highs = (_OUT + cumulants(rate + right) - base) / right
    low, high = min(float(lows.max()), 0.0), float(highs.min()) + more
    if not math.isfinite(high - low):
        raise TooWide("tokens of too different sizes")
    interval = (high - low) / (size - 8)
    best = float(tried[lows.argmax()]), float(right[highs.argmin()])
    return Grid(rate, interval, size, math.floor(low / interval) - 2, math.ceil(high / interval) + 2, best)


def _raised(values: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """(e)."""
    order = np.argsort(values)
    v, m = values[order], masses[order]
    moved = v * np.cumsum(m) - np.cumsum(m * v)
    limit = 1e-4 * abs(float((m * v).sum()))
    return np.asarray(np.maximum(values, v[max(int(np.searchsorted(moved, limit)) - 1, 0)]))


def _positive_part(values: np.ndarray, masses: np.ndarray, users: int) -> float:
    """E (V_1 + .. + V_n)_+ of iid tokens, rounded up."""
    values, masses = values[masses > 0], masses[masses > 0]
    if not values.max() > 0:
        return 0.0
    values = _raised(values, masses)
    grid = grid_of(values, masses, users, 1 << (16 + (users > 100_000) + (users > 500_000)))
    cells, halves = grid.split(values)
    masses = np.concatenate([masses * half for half in halves])
    law = grid.tilt(cells, masses)
    window, error = grid.sum(law, users)
    # (g)
    l, h = grid.rate, grid.interval
    places = h * np.arange(1, grid.high + 1)
    peak = 1 / (l * math.e)
    charge = error * math.sqrt(peak**2 + 1 / (4 * l**3 * h)) + peak * grid.outside([(cells, masses, users)])
    total = float((places * exp(-l * places) * window[1 - grid.low :]).sum())
    charge += 4 * UNIT * len(places) * abs(total)
    return math.exp(min(users * law.cumulant, 700.0) + users * law.rounding) * max(total + charge, 0.0)


def token_delta(cells: Cells, eps: float, users: int) -> float:
    """Delta at eps >= 0 for tokens on cells, rounded up."""
    try:
        found = _positive_part(*cells.tokens(eps), users) / users
    except (TooWide, OverflowError):
        return 1.0
    return min(1.0, found * math.exp(users * QUADRATURE) + cells.missing + 8 * UNIT * (1 + math.exp(eps)))


def pure_mu(pure_eps: float, users: int) -> float:
    """About the mu of (a): sqrt(chi / n) with chi = E V^2 = 2 (a - 1)^2 / (a + 1) at eps = 0."""
    a = math.exp(pure_eps)
    return (a - 1) * math.sqrt(2 / (a + 1) / users)


def token_eps(cells: Cells, users: int, delta: float, local: float) -> float:
    """Epsilon at delta, rounded up; never above `local`, what holds when the order is known."""
    kept = cells.kept(delta / 100)
    guess = eps_of(math.sqrt(cells.chi / users), delta)
    return eps_at(lambda eps: token_delta(kept, eps, users), delta, "above", local, guess)


def eps_at(delta_at: Callable[[float], float], delta: float, side: Side, most: float, guess: float) -> float:
    """The end on this side of where delta is met, at most `most`: above, it was seen to be met, or `most`.

    By secants of log(-log delta) in log eps, which is nearly straight.
    """
    low, high, last = 0.0, most, None
    eps = min(max(guess, 1e-9 * most), 0.9 * most)
    near = (delta * (1 - _CLOSE), delta) if side == "above" else (delta, delta * (1 + _CLOSE))
    target = math.log(-math.log(sum(near) / 2))
    for _ in range(60):
        found = delta_at(eps)
        low, high = (eps, high) if found > delta else (low, eps)
        if near[0] <= found <= near[1] or high - low <= 1e-6 * high:
            break
        here = math.log(eps), math.log(-math.log(min(max(found, 1e-300), 1 - 1e-16))) - target
        slope = (here[1] - last[1]) / (here[0] - last[0]) if last and here[0] != last[0] else 2.0
        eps = math.exp(here[0] - min(max(here[1] / slope, -1.5), 1.5)) if slope > 0 else (low + high) / 2
        if not low < eps < high:
            eps = (low + high) / 2
        last = here
    return high if side == "above" else low
