"""Correlated normal rows of any number of columns: moments of w(x)^j x given the linear predictor, for `row_rules`.

Rows are z ~ N(0, C), and p is the standardised predictor.

(a) Given p the covariance is C - r r', so that in its axes z = r p + E y with y ~ N(0, I_{d-1}), E'E = diag(lam), and
with delta = E'r p / lam: |z|^2 = k p^2 + V, V = sum lam_i (y_i + delta_i)^2 and k p^2 = |r p - E delta|^2.
(b) The density of V is a contour integral of e^{s v} E e^{-s V}, by Talbot's contour scaled with 1 / v. Under the tilt
by e^{-s V} the y_i are independent with mean -2 s lam_i delta_i / (1 + 2 s lam_i) and variance 1 / (1 + 2 s lam_i),
so that moments of x given V = v are the same integral with those of a normal x of complex mean as a factor.
(c) The weight has a kink at V = c - 1 - k p^2, where panels in sqrt(V) end, and none where that is negative: there
panels in p end, graded, since the part of the law below the kink begins as a half-integer power.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpexp.problems.mallows import EDGES, gauss_panels, kink_edges, symmetrised

MOST_THIRDS = 8
"""coefficients up to which third moments are kept"""
_CONTOUR = 24
"""nodes: with more, rounding grows faster than the error falls"""


class Slices(NamedTuple):
    """Conditional moments at K values of the predictor's coordinate; the interface is that of `row_rules.Points`."""

    along: np.ndarray  # [K] the value of z'slopes
    slopes: np.ndarray  # [d], not 0: the direction of the predictor
    error: float  # relative error of moments; NaN or large where the contour does not hold
    second: np.ndarray  # [3, K, d + 1, d + 1]: mass of a slice times the mean of w^j x x'; x_0 = 1
    third: np.ndarray | None = None  # [3, K, d + 1, d + 1, d + 1]; None for many columns

    @property
    def mass(self) -> np.ndarray:
        """[3, K]: mass of a slice times the mean of w^j."""
        return np.asarray(self.second[:, :, 0, 0])

    def _share(self, theta: np.ndarray) -> np.ndarray:
        return np.asarray(theta[..., 1:] @ self.slopes / (self.slopes @ self.slopes))

    def predictor(self, theta: np.ndarray) -> np.ndarray:
        return np.asarray(theta[..., :1] + self._share(theta)[..., None] * self.along)

    def beside(self, theta: np.ndarray) -> np.ndarray | None:
        rest = np.append(0.0, theta[1:] - self._share(theta) * self.slopes)
        return rest if np.abs(rest).max() > 1e-13 * np.abs(theta).max() else None

    def mean(self, power: int, f: np.ndarray | float = 1.0) -> np.ndarray:
        return np.asarray(self.moments(power, f)[0])

    def moments(self, power: int, f: np.ndarray | float = 1.0) -> np.ndarray:
        return np.asarray(np.einsum("k,k...", np.broadcast_to(f, self.along.shape), self.second[power]))

    def tensor(self, f: np.ndarray | float = 1.0, power: int = 1) -> np.ndarray | None:
        if self.third is None:
            return None
        return np.asarray(np.einsum("k,k...", np.broadcast_to(f, self.along.shape), self.third[power]))


def slices_of(covariance: np.ndarray, slopes: np.ndarray, cap: float) -> Slices:
    """Slices of rows z ~ N(0, covariance [d, d]) along z'slopes, with the weights min(1, cap / |x|^2)."""
    d = len(covariance)
    slopes = slopes if np.any(slopes) else np.eye(d)[0]
    length = math.sqrt(slopes @ covariance @ slopes)
    # (a); the least eigenvalue is 0
    r = covariance @ slopes / length
    lam, axes = (part[..., 1:] for part in np.linalg.eigh(covariance - np.outer(r, r)))
    e = axes * np.sqrt(lam)
    unit = e.T @ r / lam
    rest = r - e @ unit
    k = float(rest @ rest)
    kinks = kink_edges(math.sqrt((cap - 1) / k), True) if k > 0 and math.isfinite(cap) else []
    p, step = gauss_panels(np.array(sorted({0.0, *EDGES, *kinks})), 14)
    density = step * np.exp(-p * p / 2) / math.sqrt(2 * math.pi)
    axes = np.vstack([np.zeros(d - 1), e])
    with np.errstate(over="ignore", invalid="ignore"):
        slices = [_moments(lam, unit * v, cap, np.append(1.0, rest * v), axes) for v in p]
    orders, sign = list[np.ndarray](), np.append(1.0, -np.ones(d))
    for order, moments in enumerate(zip(*slices, strict=True)):
        own = np.einsum("k,kj...->jk...", density, np.array(moments))
        # at -p all z have the other sign
        orders.append(np.concatenate([own, own * math.prod(np.ix_(*[sign] * (2 + order)))], axis=1))
    # other moments are up to ten times as far off as the mass; NaN stays NaN
    error = max(10 * abs(float(orders[0][0, :, 0, 0].sum()) - 1), 2e-9)
    return Slices(length * np.append(p, -p), slopes, error, *orders)


def _moments(lam: np.ndarray, delta: np.ndarray, cap: float, origin: np.ndarray, axes: np.ndarray) -> list[np.ndarray]:
    """E[w^j x x'] and, of few columns, E[w^j x x x], j = 0, 1, 2 first, for x = origin + axes (y + delta)."""
    square, wide = float(origin @ origin), math.sqrt(float(lam.max()))
    low = max(0.0, math.sqrt(float(lam @ (1 + delta**2))) - 10 * wide)
    high = math.sqrt(float(lam @ delta**2)) + math.sqrt(float(lam.sum())) + 8.5 * wide
    ends = np.linspace(low, high, 9)
    if low < (kink := math.sqrt(max(cap - square, 0.0))) < high:
        ends = np.sort(np.append(ends, kink))
    root, step = gauss_panels(ends, 12)
    v = root * root
    # (b), Talbot's contour with the constants of Weideman (2006); conjugate nodes give twice the imaginary part
    angle = (np.arange(_CONTOUR // 2) + 0.5) * 2 * math.pi / _CONTOUR
    tilt = 0.5017 * angle / np.tan(0.6407 * angle) - 0.6122 + 0.2645j * angle
    turn = 0.5017 / np.tan(0.6407 * angle) - 0.5017 * 0.6407 * angle / np.sin(0.6407 * angle) ** 2 + 0.2645j
    s = _CONTOUR * tilt / v[:, None]
    grown = 1 + 2 * s[:, :, None] * lam
    log_mean = -np.sum(np.log(grown) / 2 + s[:, :, None] * lam * delta**2 / grown, axis=2)
    weight = np.minimum(1.0, cap / (square + v)) ** np.arange(3)[:, None]
    parts = (2 * root * step * weight)[:, :, None] * (2 * turn / v[:, None] * np.exp(_CONTOUR * tilt + log_mean))
    c, spreads = parts.reshape(3, -1), 1 / grown.reshape(-1, len(lam))
    x, q = origin + (delta * spreads) @ axes.T, len(origin)
    weighted = c[:, :, None] * x
    turned = np.concatenate([weighted.real, weighted.imag], axis=1).swapaxes(1, 2)
    orders = [turned @ _swapped(x) + (axes * (c @ spreads).imag[:, None, :]) @ axes.T]
    if q <= MOST_THIRDS:
        orders.append((turned @ _swapped((x[:, :, None] * x[:, None, :]).reshape(len(x), -1))).reshape(3, q, q, q))
        squares = axes.T[:, :, None] * axes.T[:, None, :]
        orders[1] += symmetrised(squares, (turned @ _swapped(spreads)).swapaxes(1, 2)).sum(axis=1)
    return orders


def _swapped(part: np.ndarray) -> np.ndarray:
    """What real above imaginary parts are multiplied by for the imaginary part of a product, which is much faster."""
    return np.concatenate([part.imag, part.real])
