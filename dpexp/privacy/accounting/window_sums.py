"""Sums over a window of a law that is known by its cells, or by the few frequencies that many steps leave of it.

(a) For masses G_j, j < W, and a decay d > 0 per cell they are s_d(k) = sum over j >= k of G_j e^(-d (j - k)): what
`dpexp.privacy.accounting.tilted` makes a curve of, at two decays. The masses come from a spectrum of N points,

    G_j = (1 / N) sum over f of F_f e^(i w_f (b + j)),   w_f = 2 pi f / N,

b being the place of the first cell in the transform. With many frequencies an inverse transform gives the masses.

(b) After many steps all but the lowest hundred or so are 0, and each of them is a geometric sum over the cells from k
to W: with z_f = e^(i w_f - d),

    s_d(k) = P(b + k) - e^(-d (W - k)) P(b + W),   P(n) = sum over f of A_f e^(i w_f n),   A_f = F_f / (N (1 - z_f)),

which asks for no mass, however many cells the window has.

Which frequencies are left is known without a transform of the window. A law w of cells n, with mean m, deviation s and
fourth central moment mu_4, has the transform F(v) = sum of w_n e^(-i v n) at angles v in [0, pi]. Of T factors nearly
all of F^T is 0, and two bounds prove it:

(c) Near 0. |F|^2 = E cos(v (n - n')) for independent n, n', cos x <= 1 - x^2 / 2 + x^4 / 24, E (n - n')^2 = 2 s^2 and E
  (n - n')^4 = 2 mu_4 + 6 s^4. So -log |F(v)| >= s^2 v^2 / 2 (1 - v^2 c / 12), c = mu_4 / s^2 + 3 s^2, which increases
  as far as v^2 = 6 / c.
(d) Beyond. |F| changes by at most E |n - m| <= s for each unit of the angle. So it is at most its values at M evenly
  spaced angles, the transform of the law wrapped onto M points, plus pi s / M.
(e) Where both leave less than e^-60 of the product from some angle on, the frequencies below it are all that is
  needed: some 40, as many as the sum's deviation goes into its window, however long that is.
(f) Each is summed over the cells of the laws, of which there are few: cells are first + L a + b, so that e^(-i v n) is
  a product of two numbers of the unit circle, and a sum over all cells is one over b, b < L, and then one over a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from dpexp.core.elementary import circle
from dpexp.core.roots import narrow

UNIT = 2.0**-53
CELLS_PER_FREQUENCY = 64
"""cells of the window for each frequency from which on frequencies are summed: one costs about 25 operations on
numbers that are few, a cell of an inverse transform and of the sums over it about as many nanoseconds"""
LEFT_OUT = 60.0
"""-log of what may be left of the product at a frequency that is left out: 9e-27, far below what rounding leaves"""
_PARTS = (1 / 4, 1 / 16)
"""of 1 - |F| where the second bound begins: what the distance of an angle from the next sample may add to |F|. A law
with a few large losses beside many small ones has |F| next to 1 again, and needs the smaller one"""
_MOST_SAMPLES = 1 << 17
"""a transform of more samples takes as long as everything else"""
_SAMPLED = 1e-12
"""more than the rounding of a sample, of the moments and of the sum of the weights"""
TERMS_PER_POINT = 2.0
"""cells times frequencies for each point of the transform up to which sums are faster than a transform"""
_AT_ONCE = 1 << 16
"""numbers of an array that stay in the nearest cache"""


class Sums(NamedTuple):
    """The sums s_d(k) at two decays, and a bound on the rounding of their difference."""

    near: float
    far: float
    rounding: float


class WindowSums(Protocol):
    """The two sums at every cell of a window; a search for one cell asks for those on its way again."""

    cells: int
    held: int
    """numbers that are kept for it"""

    def at(self, k: int) -> Sums: ...


class Spectrum(NamedTuple):
    """What is left of the transform of a law: entries 0 .. N / 2 of a real one, without those that are 0."""

    kept: np.ndarray
    """increasing numbers of the frequencies, int64 [K]"""
    real: np.ndarray
    imaginary: np.ndarray
    size: int
    """points of the transform"""

    @property
    def length(self) -> float:
        """2-norm of the masses, by Parseval's equation."""
        # the full spectrum has every entry twice but for the first and, in an even size, the last: never too small
        return math.sqrt(2 * float((np.square(self.real) + np.square(self.imaginary)).sum()) / self.size)

    def masses(self) -> np.ndarray:
        """All of them, by an inverse transform."""
        product = np.zeros(self.size // 2 + 1, dtype=np.complex128)
        product.real[self.kept], product.imag[self.kept] = self.real, self.imaginary
        return np.fft.irfft(product, self.size)


class CellSums:
    """From the masses [W]."""

    def __init__(self, masses: np.ndarray, decays: tuple[float, float]) -> None:
        self.masses, self.cells, self.decays, self.held = masses, len(masses), decays, len(masses)
        self._row = math.isqrt(self.cells - 1) + 1
        self._starts = np.arange(0, self.cells, self._row)
        padded = np.append(masses, np.zeros(len(self._starts) * self._row - self.cells)).reshape(-1, self._row)
        self._rows = [(padded * np.exp(-d * np.arange(self._row))).sum(axis=1) for d in decays]

    def at(self, k: int) -> Sums:
        near, far = (self._sum(k, decay, rows) for decay, rows in zip(self.decays, self._rows, strict=True))
        # a weight and a sum of W numbers have a relative error of 4 W u at most
        return Sums(near, far, 8 * UNIT * self.cells * abs(near))

    def _sum(self, k: int, decay: float, rows: np.ndarray) -> float:
        """s_d(k) of (a)."""
        # what is left of k's row, cell by cell, and the rows after it, each known from its start
        row = -(-k // self._row)
        ahead = self.masses[k : row * self._row]
        first = (ahead * np.exp(-decay * np.arange(len(ahead)))).sum()
        return float(first + (rows[row:] * np.exp(-decay * (self._starts[row:] - k))).sum())


class FrequencySums:
    """From the spectrum; the first of W cells is the point `begin` of the transform."""

    def __init__(self, spectrum: Spectrum, begin: int, cells: int, decays: tuple[float, float]) -> None:
        self.spectrum, self.begin, self.cells, self.decays = spectrum, begin, cells, decays
        self.held = 9 * len(spectrum.kept)  # three arrays of the spectrum, two terms of two, and a place of two
        self._terms = [self._each(decay) for decay in decays]
        ends = circle(spectrum.kept * ((begin + cells) % spectrum.size), spectrum.size)
        self._ends = [_real_part(term, ends) for term in self._terms]
        sizes = (float((np.abs(real) + np.abs(imaginary)).sum()) for real, imaginary in self._terms)
        # A factor A_f has the relative error 12 u, a point of the circle 5 u, their product 3 u, and a sum of K terms
        # K u of the sum of their absolute values, for each of the two P and for the factor of the second.
        self._rounding = 2 * (len(spectrum.kept) + 24) * UNIT * math.fsum(sizes)
        self._known: dict[int, Sums] = {}

    def _each(self, decay: float) -> tuple[np.ndarray, np.ndarray]:
        """A_f of (b), twice but for frequencies without a conjugate."""
        kept, size = self.spectrum.kept, self.spectrum.size
        # sums of complex conjugates are twice the real part of one
        twice = np.where((kept == 0) | (2 * kept == size), 1.0, 2.0) / size
        (_, half_sine), (_, sine) = circle(kept, 2 * size), circle(kept, size)
        # 1 - e^-d cos w = 1 - e^-d + 2 e^-d sin^2(w / 2): both parts are positive, so that small ones keep their digits
        shrink = math.exp(-decay)
        a, b = -math.expm1(-decay) + 2 * shrink * half_sine * half_sine, -shrink * sine
        # a quotient by 1 - z = (1 - e^-d cos w) - i e^-d sin w is a product with its conjugate, over |1 - z|^2
        over = twice / (a * a + b * b)
        real, imaginary = self.spectrum.real, self.spectrum.imaginary
        return (real * a + imaginary * b) * over, (imaginary * a - real * b) * over

    def at(self, k: int) -> Sums:
        if k not in self._known:
            place = circle(self.spectrum.kept * ((self.begin + k) % self.spectrum.size), self.spectrum.size)
            # (b): P(b + k), and what it has from the window's end on
            near, far = (
                _real_part(term, place) - math.exp(-decay * (self.cells - k)) * end
                for term, decay, end in zip(self._terms, self.decays, self._ends, strict=True)
            )
            self._known[k] = Sums(near, far, self._rounding)
        return self._known[k]


def _real_part(term: tuple[np.ndarray, np.ndarray], place: tuple[np.ndarray, np.ndarray]) -> float:
    return float((term[0] * place[0] - term[1] * place[1]).sum())


def window_sums(spectrum: Spectrum, begin: int, cells: int, decays: tuple[float, float]) -> tuple[WindowSums, bool]:
    """The sums over a window that begins at a point of the transform, and whether an inverse transform was made."""
    if CELLS_PER_FREQUENCY * len(spectrum.kept) < cells:
        return FrequencySums(spectrum, begin % spectrum.size, cells, decays), False
    law, begin = spectrum.masses(), begin % spectrum.size
    window = np.concatenate([law[begin : begin + cells], law[: max(0, begin + cells - spectrum.size)]])
    return CellSums(window, decays), True


class Factor(NamedTuple):
    """A law of sum 1 and how many times it is summed."""

    cells: np.ndarray
    """increasing whole numbers, int64 [C]"""
    weights: np.ndarray
    """>= 0, [C]"""
    times: int


class Transform(NamedTuple):
    """F at frequencies 0 .. K, and a bound on the error of each."""

    real: np.ndarray
    imaginary: np.ndarray
    error: float


def highest(factors: Sequence[Factor], size: int) -> int | None:
    """The K so that frequencies above it are nothing of the product, on `size` points; None where a transform of all
    points is faster, or where the two bounds do not show it."""
    moments = [_moments(factor) for factor in factors]
    # where (c) still increases for every factor: v^2 = 6 / c with the largest c
    top = math.sqrt(6 / max(fourth / square + 3 * square for square, fourth in moments))

    def near(angle: float) -> float:
        """-log of the product at an angle up to `top`, at least: (c), added up over the factors."""
        square = angle * angle
        return sum(
            factor.times * s * square / 2 * (1 - square * (fourth / s + 3 * s) / 12)
            for factor, (s, fourth) in zip(factors, moments, strict=True)
        ) * (1 - _SAMPLED)

    if top >= math.pi or near(top) < LEFT_OUT:
        return None
    # (e): (c) gives the angle, and (d) has to hold from `top` on, where (c) ends
    angle = narrow(lambda angle: near(angle) >= LEFT_OUT, 0.0, top, relative=1e-3).above
    most = math.ceil(angle * size / (2 * math.pi))
    cells = sum(len(factor.cells) for factor in factors)
    if 2 * most >= size or cells * (most + 1) > TERMS_PER_POINT * size:
        return None
    deviations, samples = [math.sqrt(square) for square, _ in moments], min(size // 2, _MOST_SAMPLES)
    for part in _PARTS:
        each = (f.times * _beyond(f, s, top, part, samples) for f, s in zip(factors, deviations, strict=True))
        if sum(each) >= LEFT_OUT:
            return most
    return None


def _moments(factor: Factor) -> tuple[float, float]:
    """Variance and fourth central moment; a law of one cell has a variance that is no number of importance."""
    away = factor.cells - float((factor.weights * factor.cells).sum())
    square = away * away
    found = factor.weights * square
    return max(float(found.sum()), 1e-300), float((found * square).sum())


def _beyond(factor: Factor, deviation: float, angle: float, part: float, most: int) -> float:
    """-log |F| from an angle on, at least; 0 where `most` samples are too few."""
    # by (c) -log |F| is at least s^2 v^2 / 4 where v^2 = 6 / c; so many samples make pi s / M a part of that
    lost = deviation * deviation * angle * angle / 4
    samples = 1 << math.ceil(math.log2(max(16.0, math.pi * deviation / (part * lost))))
    if samples > most:
        return 0.0
    wrapped = np.bincount(factor.cells % samples, weights=factor.weights, minlength=samples)
    sampled = np.fft.rfft(wrapped)
    # the first of these samples is the last one before the angle
    after = sampled[math.floor(angle * samples / (2 * math.pi)) :]
    largest = math.sqrt(float((np.square(after.real) + np.square(after.imag)).max()))
    # (d)
    bound = largest + math.pi * deviation / samples + _SAMPLED
    return -math.log(bound) if bound < 1 else 0.0


def transform(factor: Factor, last: int, size: int) -> Transform:
    """Of one law at frequencies 0 .. `last` of `size` points.

    By step (f), with a < A. Points of the circle are known to 9 u, and terms have sizes of sum 1 at most: rounding is
    below (L + A + 24) u in either part, u = 2^-53.
    """
    first, span = int(factor.cells[0]), int(factor.cells[-1] - factor.cells[0]) + 1
    length = math.isqrt(span - 1) + 1
    rows = -(-span // length)
    weights = np.zeros(rows * length)
    weights[factor.cells - first] = factor.weights
    frequencies = np.arange(last + 1)
    cosine, sine = circle(np.outer(np.arange(length), frequencies) % size, size)
    real, imaginary = np.zeros(last + 1), np.zeros(last + 1)
    at_once = max(1, _AT_ONCE // (length * (last + 1)))
    for row in range(0, rows, at_once):
        block = weights[row * length : (row + at_once) * length].reshape(-1, length, 1)
        a, b = (block * cosine).sum(axis=1), (block * sine).sum(axis=1)  # b of e^(+i v n)
        starts = first + length * np.arange(row, row + len(block))
        c, d = circle(np.outer(starts, frequencies) % size, size)
        real += (a * c - b * d).sum(axis=0)
        imaginary -= (a * d + b * c).sum(axis=0)
    # of both parts together: the root of 2 is below 1.5
    return Transform(real, imaginary, 1.5 * (length + rows + 24) * UNIT)
