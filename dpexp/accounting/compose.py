"""Sums of independent losses, at any delta: Fourier transforms of the tilted law, with a bound on all rounding.

(a) A Fourier transform computes masses with an absolute error of about 1e-16, and delta = 1e-14 is a sum of masses
below that. So each loss is tilted first: w(l) = p(l) e^(t l - K(t)), K(t) = log sum p(l) e^(t l), with one rate t > 0
for all factors.
(b) The product of the tilted laws is the tilted product, with K's added, so that with G the tilted law of the sum and K
the sum of the K's,

    delta(eps) = sum over l > eps of p(l) (1 - e^(eps - l)) = e^(K - t eps) sum over l > eps of G(l) k(l - eps),
    k(x) = e^(-t x) (1 - e^-x) <= kappa(t) = t^t / (1 + t)^(1 + t).

(c) With t at the saddle point, K'(t) = eps + 1 / t + 1 / (1 + t), an absolute error in G is a relative one in delta.

Errors, all charged against the stated side (u = 2^-53, N points of the transform, W cells of the window, T_k
factors of the k-th law w_k, F_k its transform, |F_k| <= 1):

(d) Window. Tilted mass outside it is at most 2 e^-36 by Chernoff's bound; the transform wraps it around. It changes
  delta by at most e^(K - t eps) kappa 2 e^-36.
(e) Forward transforms. The 2-norm of a transform's error is at most eps_F = 8 u log2 N times that of its result
  (Higham, Accuracy and Stability, Theorem 24.2, for radix 2, with 7 u a level; a radix 3 or 5 pass done as a dense
  product costs less than 8 u a bit, and N has at most one such factor). The cell with the largest weight of a law is
  put at 0, left out of its transform and added to it, where it is a constant: so |error of F_k|_2 <= eps_F sqrt(N)
  |w_k|_2 with w_k without that cell, and (f) has one more u a factor.
  One factor of the product is replaced at a time; all others are at most 1, or 1 + e_k where already replaced, e_k =
  eps_F sqrt(N) |w_k|_2: the product's error has 2-norm at most exp(sum T_k e_k) sum T_k eps_F sqrt(N) |w_k|_2.
(f) Powers, by squaring: a product of complex numbers has a relative error of at most sqrt(5) u (Brent, Percival and
  Zimmermann, 2007), and the error of each of the factors. So a product of n factors, in any order, has one of at most
  (1 + sqrt(5) u)^(n - 1) (1 + u)^n - 1 <= q = 4 u n, n = sum T_k. Frequencies at which it is below e^-60 are
  left out: together they have a 2-norm of at most 2 e^-60.
(g) Inverse transform: eps_F times the 2-norm of the spectrum. Transforms have |g|_2 = |G|_2 / sqrt(N). Altogether the
  masses are off by g with

      |g|_2 <= E = exp(sum T_k e_k) sum T_k eps_F |w_k|_2 + q |F|_2 / sqrt(N) + eps_F |F|_2 / sqrt(N),

  and delta by at most e^(K - t eps) E |k|_2 (Cauchy and Schwarz). On a grid of interval h, k being unimodal,
  |k|_2^2 <= kappa^2 + (integral of k^2) / h = kappa^2 + 2 / (2t (2t + 1) (2t + 2) h).
(h) Tilting: w has the relative error rho = u (8 + |log p| + |t l| + |K|), hence G at most exp(sum T_k rho_k), cell by
  cell.
(i) Sums over the window, of e^(-t x) and of e^(-(1 + t) x), of W numbers each with a weight: relative 4 W u at most.
  For other kernels k (`positive_part`, `log_tails`) this holds with their own largest value and 2-norm.
(j) Losses are grid points to 2 u relative: the sum moves by at most 2 u sum T_k max |l|, which is added to eps. Delta
  falls with a slope of at most 1, and at an eps below that move the rest of it is added to delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpexp.accounting.curve import Side
from dpexp.accounting.functions import exp, log
from dpexp.accounting.loss_grid import UNIT, Discrete
from dpexp.accounting.search import first_reached, least

Parts = Sequence[tuple[Discrete, int]]
"""laws on one grid, and how many times each is summed"""
_OUTSIDE = 36.0
"""-log of the tilted mass that may lie beyond either end of the window: 2e-16"""
MOST_CELLS = 1 << 22
"""a wider window is refused"""
_LEFT_OUT = 60.0
"""-log of what may be left of the product at a frequency that is left out: 9e-27, far below what rounding leaves"""
_AT_ONCE = 1 << 13
"""numbers of a spectrum that are raised to a power at once, which stay in the cache"""
_KEPT_CELLS = 1 << 20
"""numbers of all transforms that are kept for further questions, and of the largest law whose own transform is"""
_CERTAIN = 25.0
"""-log of 1 - delta from which on 1 is the bound that is stated: 1e-11"""
RATIO, _FIRST, _LAST = 1.1, -170, 340
"""rates are powers of it, with exponents in this range, so that one transform serves nearby deltas and no result
depends on what was asked before"""
_POOR, _SEARCHED = 1e-3, 1 << 20
"""error relative to delta from which on other rates are tried, where a transform keeps at most so many numbers"""
_VANISHING = 1e-12
"""a delta that is smaller than this part of another is not computed more closely"""
_DEVIATION_RATES = np.geomspace(1e-3, 30, 28)
"""rates of Chernoff's bound that are tried, times a deviation of the sum: small ones for heavy tails"""
Answer = tuple[float, float]
"""a bound on eps or delta, and the part of delta that is charged for errors"""


class TooWide(ValueError):
    """The window has more than `MOST_CELLS` cells."""


class Composed:
    """Sum of independent losses; bounds on its curve from the given side. Raises TooWide."""

    def __init__(self, parts: Parts, interval: float, side: Side) -> None:
        self.parts, self.interval, self.side = [part for part in parts if part[1] > 0], interval, side
        self._transforms: dict[float, Tilted] = {}
        self._saddles: dict[float, tuple[float, float]] = {}
        """by rate"""

    @cached_property
    def lost(self) -> float:
        """Probability that some loss is unbounded."""
        if self.side == "below":
            return 0.0
        return -math.expm1(sum(count * math.log1p(-min(law.unbounded, 1 - 1e-16)) for law, count in self.parts))

    @cached_property
    def _coarse(self) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """Losses, log masses and counts of about the same laws on a few hundred points, to choose rates with."""
        laws = []
        for law, count in self.parts:
            cells = np.arange(len(law.masses), dtype=np.float64)
            total = law.masses.sum()
            if total == 0:
                continue
            mean = int((law.masses * cells).sum() / total)
            away = np.unique(np.rint(np.geomspace(1, max(2, len(cells)), 150)).astype(np.int64))
            starts = np.unique(np.clip(np.concatenate([[0], mean - away, [mean], mean + away]), 0, len(cells) - 1))
            masses = np.add.reduceat(law.masses, starts)
            used = masses > 0
            centres = np.add.reduceat(law.masses * cells, starts)[used] / masses[used]
            laws.append((self.interval * (law.start + centres), log(masses[used]), count))
        return laws

    def _cumulants(self, rate: float) -> tuple[float, float, float]:
        """K and its first two derivatives, roughly."""
        sums = np.zeros(3)
        for losses, log_masses, count in self._coarse:
            exponents = rate * losses + log_masses
            top = exponents.max()
            weights = exp(exponents - top)
            total = weights.sum()
            mean = float((weights * losses).sum()) / total
            variance = float((weights * (losses - mean) ** 2).sum()) / total
            sums += count * np.array([top + math.log(total), mean, variance])
        return float(sums[0]), float(sums[1]), max(float(sums[2]), 1e-300)

    def _saddle(self, rate: float) -> tuple[float, float]:
        """The eps for which the rate is best, and about log delta there."""
        if rate not in self._saddles:
            value, mean, variance = self._cumulants(rate)
            eps = mean - 1 / rate - 1 / (1 + rate)  # (c)
            # the sum over G is about 1 / (t (1 + t) sqrt(2 pi K'')) at the saddle point, and never above 1
            level = value - rate * eps - math.log(rate * (1 + rate) * math.sqrt(2 * math.pi * variance) + 1)
            self._saddles[rate] = eps, level
        return self._saddles[rate]

    def _last_power(self, beyond: Callable[[float, float], float]) -> int:
        """The largest power of RATIO at which `beyond`, of its eps and log delta, is negative; it rises with them."""
        return first_reached(lambda power: beyond(*self._saddle(RATIO**power)), _FIRST - 1, _LAST) - 1

    def _transform(self, rate: float) -> Tilted:
        """The transform at this rate, kept for a while. Raises TooWide."""
        tilted = self._transforms.pop(rate, None) or Tilted(self.parts, self.interval, rate, self.side)
        self._transforms[rate] = tilted
        while sum(t.cells for t in self._transforms.values()) > _KEPT_CELLS and len(self._transforms) > 1:
            self._transforms.pop(next(iter(self._transforms)))
        return tilted

    def _ask(self, power: int, answer: Callable[[Tilted], Answer], enough: float = 0.0) -> float:
        """The answer of the transform of this power of RATIO, or the best of a few rates where rounding is felt.

        From above another rate gains nothing once the answer is at most `enough`.
        """
        # every rate is valid, and a bad one is only loose
        power = min(max(power, _FIRST), _LAST)
        first = self._transform(RATIO**power)
        bound, share = answer(first)
        if share <= _POOR or first.cells > _SEARCHED or (self.side == "above" and bound <= enough):
            return bound
        # rounding is felt where one large loss is as likely as many small ones: the tilted law has two humps, and
        # between two rates that are close its mean leaps over the eps in question
        sign = 1.0 if self.side == "above" else -1.0

        def value(log_rate: float) -> float:
            try:
                return sign * answer(Tilted(self.parts, self.interval, math.exp(log_rate), self.side))[0]
            except TooWide:
                return math.inf

        log_rate = math.log(RATIO)
        best = least(value, (power - 1) * log_rate, (power + 2) * log_rate, xatol=0.03 * log_rate)
        return sign * min(sign * bound, best.value)

    def eps(self, delta: float) -> float:
        """Above: an eps >= 0 with delta(eps) <= delta, inf where none is found. Below: one with delta(eps) >= delta."""
        if not self._coarse or self.lost >= delta:
            return math.inf if self.lost >= delta and self.side == "above" else 0.0
        level = math.log(delta - self.lost)
        power = self._last_power(lambda eps, log_delta: level - log_delta if eps >= 0 else -math.inf)
        return self._ask(power, lambda t: t.eps(delta - self.lost))

    def delta(self, eps: float) -> float:
        """A bound on delta(eps) from this side, eps >= 0."""
        if not self._coarse:
            return self.lost
        # 1 - delta is the mean of min(1, e^(eps - l)), which is at most e^((eps - l) / 2)
        if self.side == "above" and eps / 2 + self._cumulants(-0.5)[0] < -_CERTAIN:
            return 1.0
        power = self._last_power(lambda at, _: at - eps)
        # what vanishes beside the probability of an unbounded loss, to which it is added, is good enough
        return min(1.0, self.lost + self._ask(power, lambda t: t.delta(eps), _VANISHING * self.lost))

    def rough_delta(self, eps: float) -> float:
        """About delta(eps) of bounded losses, by the saddle point: no bound, and at best within a factor of a few."""
        power = self._last_power(lambda at, _: at - eps)
        return math.exp(min(self._saddle(RATIO**power)[1], 0.0)) if self._coarse else 0.0


@dataclass(frozen=True, eq=False)
class _Tilt:
    """One law after tilting: cells [C] from the first, weights [C] of sum 1, and what it costs."""

    start: int
    cells: np.ndarray
    weights: np.ndarray
    cumulant: float
    """K of one factor"""
    rounding: float
    """rho of (h)"""
    farthest: float
    """max |l|"""

    @cached_property
    def mean(self) -> float:
        return float((self.weights * self.cells).sum())

    @cached_property
    def heaviest(self) -> int:
        """The cell with the largest weight, from which the transform counts."""
        return int(self.cells[self.weights.argmax()])

    def log_moments(self, rates: np.ndarray, coarse: bool = False) -> np.ndarray:
        """log of the mean of e^(rate (cell - mean)), for each rate; or about that, from some fifty cells."""
        cells, log_weights = self._coarse if coarse else (self.cells, self._log_weights)
        exponents = np.multiply.outer(rates, cells - self.mean) + log_weights
        tops = exponents.max(axis=1)
        return np.asarray(tops + log(exp(exponents - tops[:, None]).sum(axis=1)))

    @cached_property
    def _log_weights(self) -> np.ndarray:
        return log(self.weights)

    @cached_property
    def _coarse(self) -> tuple[np.ndarray, np.ndarray]:
        starts = np.arange(0, len(self.weights), 1 + len(self.weights) // 64)
        weights = np.add.reduceat(self.weights, starts)
        return np.add.reduceat(self.cells * self.weights, starts) / weights, log(weights)

    def transform(self, size: int) -> tuple[np.ndarray, float]:
        """Of so many points, and the bound on the 2-norm of its error over sqrt(size): (e)."""
        places = (self.cells.astype(np.int64) - self.heaviest) % size
        wrapped = np.bincount(places, weights=self.weights, minlength=size)
        constant, wrapped[0] = wrapped[0], 0.0
        error = 8 * UNIT * math.log2(size) * math.sqrt(float(np.square(wrapped).sum()))
        return np.fft.rfft(wrapped) + constant, error


@lru_cache(maxsize=2)
def _kept_transform(tilt: _Tilt, size: int) -> tuple[np.ndarray, float]:
    """Searches ask about other numbers of the same step at once."""
    return tilt.transform(size)


@lru_cache(maxsize=2)
def _tilt(law: Discrete, interval: float, rate: float) -> _Tilt:
    cells, log_masses = law.support
    losses = interval * (law.start + cells)
    powers = rate * losses
    # (a), the largest exponent taken out, so that no power overflows
    exponents = log_masses + powers
    top = float(exponents.max())
    cumulant = top + math.log(float(exp(exponents - top).sum()))
    weights = exp(exponents - cumulant)  # with this K, however it was rounded
    # (h), logarithms of masses being at most 0
    rounding = UNIT * (8 + float((np.abs(powers) - log_masses).max()) + abs(cumulant))
    used = weights > 0  # below 1e-308: far less than what the window misses
    return _Tilt(law.start, cells[used], weights[used], cumulant, rounding, float(max(-losses[0], losses[-1])))


class Tilted:
    """The tilted law of the sum on a window: bounds on delta at every loss >= 0 of the grid in it."""

    def __init__(self, parts: Parts, interval: float, rate: float, side: Side) -> None:
        tilts = [(_tilt(law, interval, rate), count) for law, count in parts]
        self.interval, self.rate, self._above = interval, rate, side == "above"
        self.cumulant = math.fsum(count * t.cumulant for t, count in tilts)
        low, high = _window(tilts)  # (d)
        origin = sum(count * t.start for t, count in tilts)
        if high - low + 1 > MOST_CELLS:
            raise TooWide(f"{high - low + 1} cells")
        law, error = _sum(tilts, high - low + 1)  # with E
        middle = sum(count * t.heaviest for t, count in tilts)
        # (c): the rate is the saddle point of this loss, since K'(t) is the mean of the tilted sum
        self._saddle = math.fsum(n * (t.start + t.mean) for t, n in tilts) - (1 / rate + 1 / (1 + rate)) / interval
        # losses below 0 are not needed for eps >= 0
        first = max(low, -origin)
        # negative entries of the computed law are kept: setting them to 0 would add up their absolute values; where
        # every loss is negative, delta(0) is what may lie outside the window
        self._masses = np.roll(law, middle - first)[: high + 1 - first] if first <= high else np.zeros(1)
        self.cells, self.first = len(self._masses), first + origin
        self._decays, self._row = (interval * rate, interval * (1 + rate)), math.isqrt(self.cells - 1) + 1
        self._starts = np.arange(0, self.cells, self._row)
        kappa = math.exp(rate * math.log(rate) - (1 + rate) * math.log1p(rate))
        spread = 2 / (2 * rate * (2 * rate + 1) * (2 * rate + 2) * interval)  # integral of k^2, in cells
        self._norm = error
        # E |k|_2 of (g), and what the window of (d) misses; both over e^(K - t eps)
        self._error = math.sqrt(kappa**2 + spread) * error + 2 * kappa * math.exp(-_OUTSIDE)
        # (h), which enlarges what is stated from above and lessens it from below, as all errors do
        self._sign = 1.0 if self._above else -1.0
        self._tilting = math.exp(self._sign * min(sum(count * t.rounding for t, count in tilts), 700.0))
        self._shift = 2 * UNIT * sum(count * t.farthest for t, count in tilts)  # (j)

    @cached_property
    def _rows(self) -> list[np.ndarray]:
        """s_d(k) = sum over cells j >= k of G_j e^(-d (j - k)) of both decays d: rows of the window, added up once."""
        padding = np.zeros(len(self._starts) * self._row - self.cells)
        padded = np.append(self._masses, padding).reshape(-1, self._row)
        return [(padded * np.exp(-d * np.arange(self._row))).sum(axis=1) for d in self._decays]

    def eps(self, delta: float) -> Answer:
        """Above: an eps with delta(eps) <= delta, the least but for rounding; inf where the window has none.

        Below: an eps with delta(eps) >= delta, the largest but for rounding; 0 where the window has none.
        """
        k = self._fewest(delta)
        if self._above and k >= self.cells:
            return math.inf, math.inf
        if k == 0:
            eps = self.loss(0)
            charged = math.inf if eps > 0 else 0.0
            # (j)
            enough = not self._above or (eps == 0 and self._bound(0) + self._shift <= delta)
            return (0.0 if enough else eps + self._shift), charged
        charge = self._charge(k if self._above else k - 1)
        eps = self.loss(k if self._above else k - 1)
        if k < self.cells and self._discounted(k)[1] > 0:
            between = self._between(k, delta / self._tilting - self._sign * self._charge(k))
            eps = between if self._above else max(eps, between)
        return max(0.0, eps * (1 + self._sign * 1e-13) + self._sign * self._shift), charge / delta

    def delta(self, eps: float) -> Answer:
        """A bound on delta(eps)."""
        # (j)
        below_zero = max(0.0, self._shift - eps) if self._above else 0.0
        eps = max(0.0, eps - self._sign * self._shift)
        k = self._cell(eps)
        if k < 0:
            return 1.0 if self._above else self._bound(0), math.inf
        if k >= self.cells:
            return self._bound(self.cells - 1) if self._above else 0.0, math.inf
        near, far = self._discounted(k)
        # (b) with k(x) = e^(-t x) - e^(-(1 + t) x), whose two sums are known at the next loss of the grid
        value = self._scale(k) * (near - math.exp(eps - self.loss(k)) * far)
        charge = self._charge(k)
        bound = max(0.0, (value + self._sign * charge) * self._tilting) + below_zero
        return bound, charge / bound if bound > 0 else math.inf

    @property
    def positive_part(self) -> float:
        """A bound on the mean of S_+ of the sum S: the kernel is x e^(-t x)."""
        places = self.interval * (self.first + np.arange(self.cells))
        total = float((places * exp(-self.rate * places) * self._masses).sum())
        largest = 1 / (self.rate * math.e)
        charge = math.sqrt(largest**2 + 1 / (4 * self.rate**3 * self.interval)) * self._norm
        charge += 2 * largest * math.exp(-_OUTSIDE) + 4 * UNIT * self.cells * abs(total)
        return max(total + self._sign * charge, 0.0) * self._tilting * math.exp(min(self.cumulant, 700.0))

    @property
    def log_tails(self) -> np.ndarray:
        """Bounds on log P(S >= loss) at every loss of the window: the kernel is e^(-t x)."""
        decay = exp(-self.rate * self.interval * (self.first + np.arange(self.cells)))
        charge = math.sqrt(1 + 1 / (2 * self.rate * self.interval)) * self._norm + 2 * math.exp(-_OUTSIDE)
        tails = np.cumsum((self._masses * decay)[::-1])[::-1] * (1 + self._sign * 4 * UNIT * self.cells)
        return log(np.maximum(tails + self._sign * charge * decay, 0.0)) + self.cumulant + math.log(self._tilting)

    def loss(self, k: int) -> float:
        """The k-th loss of the window."""
        return self.interval * (self.first + k)

    def _cell(self, eps: float) -> int:
        """The first loss of the window that is at least eps; -1 for an eps before the window."""
        k = math.ceil(eps / self.interval * (1 - 1e-15)) - self.first
        return k if k >= 0 else -1

    def _discounted(self, k: int) -> tuple[float, float]:
        """s_d(k) of both decays: what is left of k's row, cell by cell, and the rows after it."""
        row = -(-k // self._row)
        ahead = self._masses[k : row * self._row]
        near, far = (
            float((ahead * np.exp(-d * np.arange(len(ahead)))).sum())
            + float((rows[row:] * np.exp(-d * (self._starts[row:] - k))).sum())
            for d, rows in zip(self._decays, self._rows, strict=True)
        )
        return near, far

    def _scale(self, k: int) -> float:
        return math.exp(min(self.cumulant - self.rate * self.loss(k), 700.0))

    def _errors(self, near: float) -> float:
        """(d) to (g), and (i) of two sums; over e^(K - t eps)."""
        return self._error + 8 * UNIT * self.cells * abs(near)

    def _charge(self, k: int) -> float:
        """Errors of delta at eps between the losses k - 1 and k."""
        # e^(K - t eps) falls, so that the errors at k - 1 are the larger ones
        return self._scale(k - 1) * self._errors(self._discounted(k)[0])

    def _bound(self, k: int) -> float:
        """A bound on delta at the k-th loss."""
        near, far = self._discounted(k)
        return max(near - far + self._sign * self._errors(near), 0.0) * self._scale(k) * self._tilting

    def _fewest(self, level: float) -> int:
        """The first loss whose bound is at most `level`, after one whose bound is larger; all cells where none is."""

        def below(k: int) -> float:
            bound = self._bound(k)
            ratio = level / bound if bound > 0 else math.inf
            return math.log(ratio) if ratio > 0 else -math.inf

        # bounds fall from loss to loss but for rounding: whatever the search passes over, what it ends at was
        # computed; next to the saddle point log delta falls by the rate for each unit of the loss
        return first_reached(below, -1, self.cells, self._saddle - self.first, self.rate * self.interval)

    def _between(self, k: int, level: float) -> float:
        """The eps at which scale_k (near_k - e^(eps - loss_k) far_k) = level, between the losses k - 1 and k."""
        near, far = self._discounted(k)
        inside = near - level / self._scale(k)
        low, high = self.loss(k - 1), self.loss(k)
        if far <= 0 or inside <= 0:
            return low if inside <= 0 else high
        return min(max(high + math.log(inside / far), low), high)


def _window(tilts: Sequence[tuple[_Tilt, int]]) -> tuple[int, int]:
    """Cells of the sum, counted from its least, beyond whose ends Chernoff's bound leaves e^-36 of its
    mass."""
    centre = math.fsum(count * t.mean for t, count in tilts)
    variance = math.fsum(count * float((t.weights * (t.cells - t.mean) ** 2).sum()) for t, count in tilts)
    rates = _DEVIATION_RATES / math.sqrt(max(variance, 1e-12))
    # P(sum >= x) <= M(r) e^(-r x) for any r > 0, and r < 0 to the left: which is best can be read off roughly
    both = np.stack([-rates, rates])
    about = np.sum([count * t.log_moments(both.ravel(), coarse=True) for t, count in tilts], axis=0)
    best = both[[0, 1], ((about.reshape(both.shape) + _OUTSIDE) / rates).argmin(axis=1)]
    ends = (centre + (np.sum([count * t.log_moments(best) for t, count in tilts], axis=0) + _OUTSIDE) / best).tolist()
    largest = sum(count * int(t.cells[-1]) for t, count in tilts)
    smallest = sum(count * int(t.cells[0]) for t, count in tilts)
    return max(smallest, math.floor(ends[0])), min(largest, math.ceil(ends[1]))


def _sum(tilts: Sequence[tuple[_Tilt, int]], cells: int) -> tuple[np.ndarray, float]:
    """Masses of the sum, wrapped around at least so many cells, each law counted from its `heaviest` cell; and the
    bound E on the 2-norm of their rounding errors."""
    # (d): no larger than the window, onto which the laws are wrapped
    size = _transform_size(cells)
    # at which the product is a number: with many factors, the low ones
    frequencies: np.ndarray | None = None
    product, forward, growth = np.ones(1, dtype=np.complex128), 0.0, 0.0
    for tilt, count in tilts:
        law, error = _kept_transform(tilt, size) if size <= _KEPT_CELLS else tilt.transform(size)
        forward += count * error  # (e): T_k eps_F |w_k|_2, and T_k e_k below
        growth += count * error * math.sqrt(size)
        # (f): what is below e^-60 is left out
        law = law if frequencies is None else law[frequencies]
        large = np.flatnonzero(_square(law) > math.exp(-2 * _LEFT_OUT / count))
        parts = [_power(law[large[k : k + _AT_ONCE]], count) for k in range(0, len(large), _AT_ONCE)]
        product = np.concatenate(parts) if frequencies is None else _product(product[large], np.concatenate(parts))
        there = _square(product) > math.exp(-2 * _LEFT_OUT)
        frequencies, product = (large if frequencies is None else frequencies[large])[there], product[there]
    assert frequencies is not None, "a sum of no laws"
    # |F|_2 / sqrt(N): the full spectrum has every entry twice but for the first and the last, so never too small
    length = math.sqrt(2 * float(_square(product).sum()) / size)
    factors = sum(count for _, count in tilts)
    # (f), what is left out, and (g)
    lost = (4 * UNIT * factors + 8 * UNIT * math.log2(size)) * length + 2 * math.exp(-_LEFT_OUT)
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    spectrum[frequencies] = product
    return np.fft.irfft(spectrum, size), math.exp(min(growth, 700.0)) * forward + lost


def _square(z: np.ndarray) -> np.ndarray:
    """Of the absolute values."""
    return np.asarray(np.square(z.real) + np.square(z.imag))


def _power(base: np.ndarray, count: int) -> np.ndarray:
    """The count-th power of complex numbers, count >= 1, by squaring."""
    product = base if count & 1 else None
    while count := count >> 1:
        base = _product(base, base)
        if count & 1:
            product = base if product is None else _product(product, base)
    assert product is not None
    return product


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Each operation rounded by itself, so that no result depends on what a processor fuses."""
    product = np.empty_like(a)
    product.real, product.imag = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    return product


def _transform_size(count: int) -> int:
    """The least of 2^k, 3 2^k and 5 2^k that is at least `count`."""
    return min(odd << max(0, math.ceil(math.log2(count / odd))) for odd in (1, 3, 5) if odd <= 2 * count)
