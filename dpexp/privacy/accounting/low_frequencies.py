"""The few frequencies that are left of a sum of many losses, without a transform of its whole window.

A law w of cells n, with mean m, deviation s and fourth central moment mu_4, has the transform F(v) = sum of w_n
e^(-i v n) at angles v in [0, pi]. Of T factors nearly all of F^T is 0, and two bounds prove it:

(a) Near 0. |F|^2 = E cos(v (n - n')) for independent n, n', cos x <= 1 - x^2 / 2 + x^4 / 24, E (n - n')^2 = 2 s^2 and E
  (n - n')^4 = 2 mu_4 + 6 s^4. So -log |F(v)| >= s^2 v^2 / 2 (1 - v^2 c / 12), c = mu_4 / s^2 + 3 s^2, which increases
  as far as v^2 = 6 / c.
(b) Beyond. |F| changes by at most E |n - m| <= s for each unit of the angle. So it is at most its values at M evenly
  spaced angles, the transform of the law wrapped onto M points, plus pi s / M.

(c) Where both leave less than e^-60 of the product from some angle on, the frequencies below it are all that is
  needed: some 40, as many as the sum's deviation goes into its window, however long that is.
(d) Each is summed over the cells of the laws, of which there are few: cells are first + L a + b, so that e^(-i v n) is
  a product of two numbers of the unit circle, and a sum over all cells is one over b, b < L, and then one over a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpexp.core.elementary import circle
from dpexp.core.roots import narrow
from dpexp.privacy.accounting.window_sums import UNIT

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
    # where (a) still increases for every factor: v^2 = 6 / c with the largest c
    top = math.sqrt(6 / max(fourth / square + 3 * square for square, fourth in moments))

    def near(angle: float) -> float:
        """-log of the product at an angle up to `top`, at least: (a), added up over the factors."""
        square = angle * angle
        return sum(
            factor.times * s * square / 2 * (1 - square * (fourth / s + 3 * s) / 12)
            for factor, (s, fourth) in zip(factors, moments, strict=True)
        ) * (1 - _SAMPLED)

    if top >= math.pi or near(top) < LEFT_OUT:
        return None
    # (c): (a) gives the angle, and (b) has to hold from `top` on, where (a) ends
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
    # by (a) -log |F| is at least s^2 v^2 / 4 where v^2 = 6 / c; so many samples make pi s / M a part of that
    lost = deviation * deviation * angle * angle / 4
    samples = 1 << math.ceil(math.log2(max(16.0, math.pi * deviation / (part * lost))))
    if samples > most:
        return 0.0
    wrapped = np.bincount(factor.cells % samples, weights=factor.weights, minlength=samples)
    sampled = np.fft.rfft(wrapped)
    # the first of these samples is the last one before the angle
    after = sampled[math.floor(angle * samples / (2 * math.pi)) :]
    largest = math.sqrt(float((np.square(after.real) + np.square(after.imag)).max()))
    # (b)
    bound = largest + math.pi * deviation / samples + _SAMPLED
    return -math.log(bound) if bound < 1 else 0.0


def transform(factor: Factor, last: int, size: int) -> Transform:
    """Of one law at frequencies 0 .. `last` of `size` points.

    By step (d), with a < A. Points of the circle are known to 9 u, and terms have sizes of sum 1 at most: rounding is
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
