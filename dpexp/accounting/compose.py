"""Sums of independent losses, at any delta: Fourier transforms of the tilted law, with a bound on all rounding.

(a) A Fourier transform computes masses with an absolute error of about 1e-16, and delta = 1e-14 is a sum of masses
below that. So each loss is tilted first: w(l) = p(l) e^(t l - K(t)), K(t) = log sum p(l) e^(t l), with one rate t > 0
for all factors.
(b) With G the tilted law of the sum, which is the product of the w, and K the sum of the K's,
    delta(eps) = sum over l > eps of p(l) (1 - e^(eps - l)) = e^(K - t eps) sum over l > eps of G(l) k(l - eps),
    k(x) = e^(-t x) (1 - e^-x) <= kappa(t) = t^t / (1 + t)^(1 + t).
(c) With t at the saddle point, K'(t) = eps + 1 / t + 1 / (1 + t), an absolute error in G is a relative one in delta.

Errors, all charged against the stated side (u = 2^-53, N points of the transform, W cells of the window, T_k
factors of the k-th law w_k, F_k its transform, |F_k| <= 1):
(d) Window. Tilted mass outside it is at most 2 e^-36 by Chernoff's bound; the transform wraps it around. It changes
  delta by at most e^(K - t eps) kappa 2 e^-36.
(e) Forward transforms. The 2-norm of a transform's error is at most eps_F = 8 u log2 N times that of its result
  (Higham, Accuracy and Stability, Theorem 24.2, for radix 2, with 7 u a level; a radix 3 or 5 pass done as a dense
  product costs less than 8 u a bit, and N has at most one such factor). The heaviest cell of a law is put at 0 and
  added to its transform as a constant: so |error of F_k|_2 <= eps_F sqrt(N) |w_k|_2 =: e_k with w_k without that cell,
  and (f) has one more u a factor. Of a law on few cells the transform is summed: half turns have an error of 6.3 u, and
  each term one of at most 16 u. One factor of the product is replaced at a time; all others are at most 1, or 1 + e_k
  where already replaced: the product's error has 2-norm at most exp(sum T_k e_k) sum T_k e_k.
(f) Powers, by squaring: a product of complex numbers has a relative error of at most sqrt(5) u (Brent, Percival and
  Zimmermann, 2007), or 2 u where operations are fused, and the error of each of the factors. So a product of n = sum
  T_k factors, in any order, has one of at most (1 + sqrt(5) u)^(n - 1) (1 + u)^n - 1 <= q = 4 u n. Frequencies at
  which it is below e^-60 are left out: together they have a 2-norm of at most 2 e^-60.
(g) Inverse transform: eps_F times the 2-norm of the spectrum. As |g|_2 = |G|_2 / sqrt(N), the masses are off by g with
  |g|_2 <= E = (exp(sum T_k e_k) sum T_k e_k + (q + eps_F) |F|_2) / sqrt(N), and delta by at most e^(K - t eps) E |k|_2
  (Cauchy and Schwarz). On a grid of interval h, k being unimodal, |k|_2^2 <= kappa^2 + (integral of k^2) / h =
  kappa^2 + 2 / (2t (2t + 1) (2t + 2) h).
(h) Tilting: w has the relative error rho = u (8 + |log p| + |t l| + |K|), hence G at most exp(sum T_k rho_k).
(i) Sums over the window, of e^(-t x) and of e^(-(1 + t) x), of W numbers each with a weight: relative 4 W u at most, in
  any order: from a cell to the end of its row, and row by row. For the kernels of `positive_part` and `log_tails` it
  holds with their own largest value and 2-norm.
(j) Losses are grid points to 2 u relative: the sum moves by at most 2 u sum T_k max |l|, which is added to eps. Delta
  falls with a slope of at most 1, and at an eps below that move the rest of it is added to delta.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpexp.accounting.curve import Side
from dpexp.accounting.functions import exp, log, log_sum
from dpexp.accounting.loss_grid import UNIT, Discrete
from dpexp.accounting.search import log_root, narrow, raised

_OUTSIDE = 36.0  # -log of the tilted mass that may lie beyond either end of the window: 2e-16
MOST_CELLS = 1 << 22  # a wider window is refused
_LEFT_OUT = 60.0  # -log of the product at a frequency that is left out: 9e-27, far below what rounding leaves
_AT_ONCE = 1 << 13  # numbers of a spectrum that are raised to a power at once, which stay in the cache
RATIO, _POWERS = 1.1, range(-170, 340)
"""rates are powers of it, with these exponents, so that no result depends on what was computed before"""
_SHARED, _PRECISE, _ROUNDING = 3, 2e-6, 1_000_000
"""every third rate serves nearby deltas too, if errors are at most this part of delta: of more factors they are not"""
_FEW, _MANY = 8, 100_000
"""cells of a law up to which its transform is summed term by term, which rounds less, of more factors than so many"""
_DEVIATION_RATES = np.geomspace(1e-3, 30, 28)  # of Chernoff's bound, times a deviation: small ones for heavy tails
_ROW = 512  # cells of a row of the window


class TooWide(ValueError):
    """The window has more than `MOST_CELLS` cells."""


class ComposedLoss:
    """Sum of independent losses, of laws on one grid and how many times each is summed; bounds from the given side.

    Raises TooWide.
    """

    def __init__(self, laws: Sequence[tuple[Discrete, int]], interval: float, side: Side) -> None:
        self.interval, self.side = interval, side
        # steps that show nothing on this grid from below are left out: whoever sees the others sees no more
        self.laws = tuple((law, n) for law, n in laws if n and (side == "above" or law.masses.any()))
        self._saddles: dict[int, tuple[float, float]] = {}

    @cached_property
    def lost(self) -> float:
        """Probability that some loss is unbounded."""
        if self.side == "below":
            return 0.0
        return -math.expm1(sum(count * math.log1p(-min(law.unbounded, 1 - 1e-16)) for law, count in self.laws))

    @cached_property
    def _coarse(self) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """Losses, log masses and counts of about the same laws on a few hundred points, to choose rates with."""
        laws = []
        for law, count in self.laws:
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

    def _cumulants(self, rate: float) -> np.ndarray:
        """K and its first two derivatives, roughly, [3]."""
        sums = np.zeros(3)
        for losses, log_masses, count in self._coarse:
            exponents = rate * losses + log_masses
            cumulant = log_sum(exponents)
            weights = exp(exponents - cumulant)
            mean = (weights * losses).sum()
            sums += count * np.array([cumulant, mean, (weights * (losses - mean) ** 2).sum()])
        return sums

    def _saddle(self, power: int) -> tuple[float, float]:
        """The eps for which this power of RATIO is the best rate, and about log delta there."""
        if power not in self._saddles:  # searches halve one range of powers, and ask the same ones first
            rate = RATIO**power
            value, mean, variance = self._cumulants(rate).tolist()
            eps = mean - 1 / rate - 1 / (1 + rate)  # (c)
            # the sum over G is about 1 / (t (1 + t) sqrt(2 pi K'')) at the saddle point, and never above 1
            least = math.log(rate * (1 + rate) * math.sqrt(2 * math.pi * variance) + 1)
            self._saddles[power] = eps, value - rate * eps - least
        return self._saddles[power]

    def _tilted(self, beyond: Callable[[float, float], bool]) -> Iterator[Tilted]:
        """Near and at the largest power of RATIO before `beyond`, of its eps and log delta, is true: all are valid."""
        power = _POWERS[max(bisect_left(_POWERS, True, key=lambda power: beyond(*self._saddle(power))) - 1, 0)]
        shared = power % _SHARED if sum(count for _, count in self.laws) <= _ROUNDING else 0
        for near in (power - shared, power):
            yield _transform(self.laws, self.interval, RATIO**near, self.side)

    def eps(self, delta: float) -> float:
        """Above: an eps >= 0 with delta(eps) <= delta, inf where none is found. Below: one with delta(eps) >= delta."""
        if not self._coarse or self.lost >= delta:
            return math.inf if self.lost >= delta and self.side == "above" else 0.0
        level = math.log(delta - self.lost)
        for tilted in self._tilted(lambda eps, log_delta: eps >= 0 and log_delta <= level):
            if tilted.is_precise(eps := tilted.eps(delta - self.lost)):
                break
        return eps

    def delta(self, eps: float) -> float:
        """A bound on delta(eps) from this side, eps >= 0."""
        if not self._coarse:
            return self.lost
        for tilted in self._tilted(lambda at, _: at >= eps):
            if tilted.is_precise(eps):
                break
        return min(1.0, self.lost + tilted.delta(eps))


@dataclass(frozen=True, eq=False)
class _TiltedLaw:
    """One law after tilting, and what it costs."""

    cells: np.ndarray  # of the grid, [C]
    weights: np.ndarray  # of sum 1, [C]
    mean: float
    heaviest: int  # the cell with the largest weight, from which the transform counts
    cumulant: float  # K of one factor
    rounding: float  # rho of (h)
    farthest: float  # max |l|


@lru_cache(maxsize=2)
def _tilt(law: Discrete, interval: float, rate: float) -> _TiltedLaw:
    cells, log_masses = law.support
    losses = interval * cells
    powers = rate * losses
    # (a)
    exponents = log_masses + powers
    cumulant = float(log_sum(exponents))
    weights = exp(exponents - cumulant)  # with this K, however it was rounded
    # (h), logarithms of masses being at most 0
    rounding = UNIT * (8 + float((np.abs(powers) - log_masses).max()) + abs(cumulant))
    used = weights > 0  # below 1e-308: far less than what the window misses
    cells, weights = cells[used], weights[used]
    mean, farthest = float((weights * cells).sum()), float(max(-losses[0], losses[-1]))
    return _TiltedLaw(cells, weights, mean, int(cells[weights.argmax()]), cumulant, rounding, farthest)


class Tilted:
    """The tilted law of the sum on a window: bounds on delta at every loss >= 0 of the grid in it. Raises TooWide."""

    def __init__(self, laws: Sequence[tuple[Discrete, int]], interval: float, rate: float, side: Side) -> None:
        tilts = [(_tilt(law, interval, rate), count) for law, count in laws]
        self.interval, self.rate, self._above = interval, rate, side == "above"
        self.cumulant = math.fsum(count * t.cumulant for t, count in tilts)
        low, high = _window(tilts)  # (d)
        if high - low + 1 > MOST_CELLS:
            raise TooWide(f"{high - low + 1} cells")
        masses, self._norm = _sum(tilts, high - low + 1)  # with E
        middle = sum(count * t.heaviest for t, count in tilts)
        # losses below 0 are not needed for eps >= 0
        self.first = first = max(low, 0)
        # negative entries of the computed law are kept: setting them to 0 would add up their absolute values; where
        # every loss is negative, delta(0) is what may lie outside the window
        self._masses = np.roll(masses, middle - first)[: high + 1 - first] if first <= high else np.zeros(1)
        self.cells = len(self._masses)
        # (h), which enlarges what is stated from above and lessens it from below, as all errors do
        self._sign = 1.0 if self._above else -1.0
        self._tilting = math.exp(self._sign * min(sum(count * t.rounding for t, count in tilts), 700.0))
        self._shift = 2 * UNIT * sum(count * t.farthest for t, count in tilts)  # (j)

    def _loss(self, k: int) -> float:
        return self.interval * (self.first + k)

    @cached_property
    def _rows(self) -> list[tuple[np.ndarray, list[float]]]:
        """Of both decays d: e^(-d i), [row + 1], and the sums over j >= k of G_j e^(-d (j - k)) where a row begins."""
        result = []
        rows = np.append(self._masses, np.zeros(-self.cells % _ROW)).reshape(-1, _ROW)
        for decay in (self.interval * self.rate, self.interval * (1 + self.rate)):
            powers = exp(-decay * np.arange(_ROW + 1))
            tails = [0.0]
            for own in (rows @ powers[:-1]).tolist()[::-1]:
                tails.append(own + float(powers[-1]) * tails[-1])
            result.append((powers, tails[::-1]))
        return result

    def _discounted(self, k: int) -> tuple[float, float]:
        """sum over cells j >= k of G_j e^(-d (j - k)) of both decays d: (i)."""
        row = k // _ROW + 1
        rest = self._masses[k : row * _ROW]
        after = row * _ROW - k
        near, far = (
            float(rest @ powers[: len(rest)]) + float(powers[after]) * tails[row] for powers, tails in self._rows
        )
        return near, far

    @cached_property
    def _error(self) -> float:
        """(d) to (g); over e^(K - t eps)."""
        rate = self.rate
        kappa = math.exp(rate * math.log(rate) - (1 + rate) * math.log1p(rate))
        spread = 2 / (2 * rate * (2 * rate + 1) * (2 * rate + 2) * self.interval)  # integral of k^2, in cells
        return math.sqrt(kappa**2 + spread) * self._norm + 2 * kappa * math.exp(-_OUTSIDE)

    def eps(self, delta: float) -> float:
        """Above: an eps with delta(eps) <= delta, the least but for rounding; inf where the window has none.

        Below: an eps with delta(eps) >= delta, the largest but for rounding; 0 where the window has none.
        """
        first, last = (max(0.0, self._loss(k) + self._sign * self._shift) for k in (0, self.cells - 1))
        if self.delta(last) > delta:
            return math.inf if self._above else last
        if self._above:
            for place in (0.0, first):
                if self.delta(place) <= delta:
                    return place
            return raised(log_root(self.delta, delta, first, last), self.delta, delta)
        # at the low end of the window nothing may be left but errors
        ends = narrow(lambda eps: self.delta(eps) <= delta, first, last, absolute=self.interval)
        if self.delta(ends.below) < delta:
            return 0.0
        at = log_root(self.delta, delta, *ends)
        return max(ends.below, -raised(-at, lambda eps: -self.delta(max(-eps, ends.below)), -delta))

    def delta(self, eps: float) -> float:
        """A bound on delta(eps)."""
        # (j)
        below_zero = max(0.0, self._shift - eps) if self._above else 0.0
        eps = max(0.0, eps - self._sign * self._shift)
        # the first loss that is at least eps, or an end of the window
        k = math.ceil(eps / self.interval * (1 - 1e-15)) - self.first
        if k < 0 or k >= self.cells:
            if self._above == (k < 0):
                return 1.0 if self._above else 0.0
            k = min(max(k, 0), self.cells - 1)
            eps = self._loss(k)
        near, far = self._discounted(k)
        # (b) with k(x) = e^(-t x) - e^(-(1 + t) x), whose two sums are known at the next loss of the grid
        value = near - math.exp(eps - self._loss(k)) * far
        # all errors, with (i) of two sums; they are over e^(K - t eps), which is larger than at that loss
        charge = self._error + 8 * UNIT * self.cells * abs(near)
        value += self._sign * math.exp(self.rate * (self._loss(k) - eps)) * charge
        scale = math.exp(min(self.cumulant - self.rate * self._loss(k), 700.0))
        return max(0.0, scale * value * self._tilting) + below_zero

    def is_precise(self, eps: float) -> bool:
        """Whether errors are next to nothing beside delta(eps)."""
        if not self._loss(0) <= eps < self._loss(self.cells - 1):
            return False
        near, far = self._discounted(min(math.ceil(eps / self.interval) - self.first, self.cells - 1))
        return self._error <= _PRECISE * (near - far)

    @cached_property
    def _losses(self) -> np.ndarray:
        """Of the window, [cells]."""
        return np.asarray(self.interval * (self.first + np.arange(self.cells)))

    @property
    def positive_part(self) -> float:
        """A bound on the mean of S_+ of the sum S: the kernel is x e^(-t x)."""
        total = float((self._losses * exp(-self.rate * self._losses) * self._masses).sum())
        largest = 1 / (self.rate * math.e)
        charge = math.sqrt(largest**2 + 1 / (4 * self.rate**3 * self.interval)) * self._norm
        charge += 2 * largest * math.exp(-_OUTSIDE) + 4 * UNIT * self.cells * abs(total)
        return max(total + self._sign * charge, 0.0) * self._tilting * math.exp(min(self.cumulant, 700.0))

    @property
    def log_tails(self) -> np.ndarray:
        """Bounds on log P(S >= loss) at every loss of the window: the kernel is e^(-t x)."""
        charge = math.sqrt(1 + 1 / (2 * self.rate * self.interval)) * self._norm + 2 * math.exp(-_OUTSIDE)
        decay = exp(-self.rate * self._losses)
        tails = np.cumsum((self._masses * decay)[::-1])[::-1] * (1 + self._sign * 4 * UNIT * self.cells)
        return log(np.maximum(tails + self._sign * charge * decay, 0.0)) + self.cumulant + math.log(self._tilting)


_transform = lru_cache(maxsize=16)(Tilted)  # kept for further questions


def _window(tilts: Sequence[tuple[_TiltedLaw, int]]) -> tuple[int, int]:
    """Cells of the sum beyond whose ends Chernoff's bound leaves e^-36 of its mass."""
    centre = math.fsum(count * t.mean for t, count in tilts)
    variance = math.fsum(count * float((t.weights * (t.cells - t.mean) ** 2).sum()) for t, count in tilts)
    rates = np.multiply.outer([-1, 1], _DEVIATION_RATES / math.sqrt(max(variance, 1e-12)))
    about, exact = np.zeros(rates.shape), np.zeros(2)
    # P(sum >= x) <= M(r) e^(-r x) for any r > 0, and r < 0 to the left: which is best can be read off some fifty cells
    for t, count in tilts:
        starts = np.arange(0, len(t.cells), 1 + len(t.cells) // 64)
        weights = np.add.reduceat(t.weights, starts)
        about += count * _log_moments(np.add.reduceat(t.cells * t.weights, starts) / weights - t.mean, weights, rates)
    best = rates[[0, 1], ((about + _OUTSIDE) / np.abs(rates)).argmin(axis=1)]
    for t, count in tilts:
        exact += count * _log_moments(t.cells - t.mean, t.weights, best)
    low, high = centre + (exact + _OUTSIDE) / best
    smallest, largest = (sum(count * int(t.cells[k]) for t, count in tilts) for k in (0, -1))
    return max(smallest, math.floor(low)), min(largest, math.ceil(high))


def _log_moments(cells: np.ndarray, weights: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """log of the mean of e^(rate cell), for each rate."""
    return log_sum(np.multiply.outer(rates, cells) + log(weights))


def _sum(tilts: Sequence[tuple[_TiltedLaw, int]], cells: int) -> tuple[np.ndarray, float]:
    """Masses of the sum, wrapped around at least so many cells, each law counted from its `heaviest` cell; and the
    bound E on the 2-norm of their rounding errors."""
    # (d): no larger than the window, onto which the laws are wrapped; the least of 2^k, 3 2^k and 5 2^k
    size = min(odd << max(0, math.ceil(math.log2(cells / odd))) for odd in (1, 3, 5) if odd <= 2 * cells)
    # frequencies at which the product is a number: with many factors, the low ones
    frequencies, product = np.arange(size // 2 + 1), np.broadcast_to(np.complex128(1), size // 2 + 1)
    forward = growth = 0.0
    for tilt, count in tilts:
        law, error = _spectrum(tilt, size, count > _MANY)
        forward += count * error
        growth += count * error * math.sqrt(size)
        law = law[frequencies]
        # (f): what is below e^-60 is left out
        large = np.flatnonzero(_square(law) > math.exp(-2 * _LEFT_OUT / count))
        powers = [_power(law[large[k : k + _AT_ONCE]], count) for k in range(0, len(large), _AT_ONCE)]
        product = product[large] * np.concatenate(powers)
        rest = _square(product) > math.exp(-2 * _LEFT_OUT)
        frequencies, product = frequencies[large][rest], product[rest]
    # |F|_2 / sqrt(N): the full spectrum has every entry twice but for the first and the last, so never too small
    length = math.sqrt(2 * float(_square(product).sum()) / size)
    factors = sum(count for _, count in tilts)
    # (f), what is left out, and (g)
    lost = (4 * UNIT * factors + 8 * UNIT * math.log2(size)) * length + 2 * math.exp(-_LEFT_OUT)
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    spectrum[frequencies] = product
    return np.fft.irfft(spectrum, size), math.exp(min(growth, 700.0)) * forward + lost


@lru_cache(maxsize=2)
def _spectrum(tilt: _TiltedLaw, size: int, many: bool) -> tuple[np.ndarray, float]:
    """The transform of one law, and a bound on its error over the root of the size: (e)."""
    places = (tilt.cells.astype(np.int64) - tilt.heaviest) % size
    if len(places) <= _FEW and many:
        turns = np.multiply.outer(places, np.arange(size // 2 + 1)) % size
        law = tilt.weights @ np.exp(-2j * math.pi / size * np.where(2 * turns > size, turns - size, turns))
        return law, 16 * UNIT * float(tilt.weights[places > 0].sum())
    wrapped = np.bincount(places, weights=tilt.weights, minlength=size)
    constant, wrapped[0] = wrapped[0], 0.0
    error = 8 * UNIT * math.log2(size) * math.sqrt(float(np.square(wrapped).sum()))
    return np.fft.rfft(wrapped) + constant, error


def _square(z: np.ndarray) -> np.ndarray:
    """Of the absolute values."""
    return np.asarray(np.square(z.real) + np.square(z.imag))


def _power(base: np.ndarray, count: int) -> np.ndarray:
    """The count-th power of complex numbers, count >= 1, by squaring."""
    result = base.copy()
    for bit in bin(count)[3:]:
        result *= result
        if bit == "1":
            result *= base
    return result
