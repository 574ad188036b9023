"""Sums over a window of a law that is known by its cells, or by the few frequencies that many steps leave of it.

(a) For masses G_j, j < W, and a decay d > 0 per cell they are s_d(k) = sum over j >= k of G_j e^(-d (j - k)): what
`dpexp.privacy.accounting.tilted` makes a curve of, at two decays. The masses come from a spectrum of N points,

    G_j = (1 / N) sum over f of F_f e^(i w_f (b + j)),   w_f = 2 pi f / N,

b being the place of the first cell in the transform. With many frequencies an inverse transform gives the masses.

(b) After many steps all but the lowest hundred or so are 0, and each of them is a geometric sum over the cells from k
to W: with z_f = e^(i w_f - d),

    s_d(k) = P(b + k) - e^(-d (W - k)) P(b + W),   P(n) = sum over f of A_f e^(i w_f n),   A_f = F_f / (N (1 - z_f)),

which asks for no mass, however many cells the window has.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from dpexp.core.elementary import circle

UNIT = 2.0**-53
CELLS_PER_FREQUENCY = 64
"""cells of the window for each frequency from which on frequencies are summed: one costs about 25 operations on
numbers that are few, a cell of an inverse transform and of the sums over it about as many nanoseconds"""


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
