"""Correlated normal rows of any number of columns: moments of w(x)^j x given the linear predictor, for `row_rules`.

Rows are z = root n with n ~ N(0, I_d). Along the predictor n has the coordinate p; y ~ N(0, I) are the others.

(a) In the axes that make the part of z across p orthogonal, z = r p + E y with E'E = diag(lam), and with
delta = E'r p / lam: |z|^2 = k p^2 + V, V = sum lam_i (y_i + delta_i)^2 and k = |r|^2 - sum (E'r)_i^2 / lam_i.
(b) The density of V is a contour integral of e^{s v} E e^{-s V}, by Talbot's contour scaled with 1 / v. Under the tilt
by e^{-s V} the y_i are independent with mean -2 s lam_i delta_i / (1 + 2 s lam_i) and variance 1 / (1 + 2 s lam_i),
so that all moments of y given V = v are the same integral with one more factor.
(c) The weight has a kink at V = c - 1 - k p^2, where panels in sqrt(V) end, and none where that is negative: there
panels in p end, graded, since the part of the law below the kink begins as a half-integer power.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpexp.problems.mallows import panels, symmetrised

MOST_THIRDS = 8
"""coefficients up to which third moments are kept"""
_CONTOUR = 24
"""nodes: with more, rounding grows faster than the error falls"""
_EDGES = (0.5, 1.0, 2.0, 3.5, 5.5, 8.5)


class Slices(NamedTuple):
    """Conditional moments at K values of the predictor's coordinate; the interface is that of `row_rules.Points`."""

    p: np.ndarray
    """[K] standardised predictor"""
    length: float
    """standard deviation of z'slopes"""
    slopes: np.ndarray
    """[d], not 0: the direction of the predictor"""
    mass: np.ndarray
    """[3, K]: mass of a slice times the mean of w^j"""
    first: np.ndarray
    """[3, K, d + 1]: that of w^j x"""
    second: np.ndarray
    """[3, K, d + 1, d + 1]"""
    third: np.ndarray | None
    """[3, K, d + 1, d + 1, d + 1]; None for many columns"""
    error: float
    """relative error of the mean weight"""

    def predictor(self, theta: np.ndarray) -> np.ndarray:
        """x'theta, [..., K], of the part of theta [..., d + 1] along the slopes."""
        share = theta[..., 1:] @ self.slopes / (self.slopes @ self.slopes)
        return np.asarray(theta[..., :1] + share[..., None] * self.length * self.p)

    def beside(self, theta: np.ndarray) -> np.ndarray | None:
        """The part of theta that `predictor` leaves out; None where there is none."""
        share = theta[1:] @ self.slopes / (self.slopes @ self.slopes)
        rest = np.append(0.0, theta[1:] - share * self.slopes)
        return rest if np.abs(rest).max() > 1e-13 * np.abs(theta).max() else None

    def mean(self, power: int, f: np.ndarray | float = 1.0) -> np.ndarray:
        """E[w^power f x], [d + 1], for the values f of a function of the predictor."""
        return np.asarray(np.einsum("k,ki->i", np.broadcast_to(f, self.p.shape), self.first[power]))

    def moments(self, power: int, f: np.ndarray | float = 1.0) -> np.ndarray:
        """E[w^power f x x'], [d + 1, d + 1]."""
        return np.asarray(np.einsum("k,kij->ij", np.broadcast_to(f, self.p.shape), self.second[power]))

    def tensor(self, f: np.ndarray | float = 1.0, power: int = 1) -> np.ndarray | None:
        """E[w^power f x x x], [d + 1, d + 1, d + 1]; None where third moments are not kept."""
        if self.third is None:
            return None
        return np.asarray(np.einsum("k,kijl->ijl", np.broadcast_to(f, self.p.shape), self.third[power]))


def slices_of(root: np.ndarray, slopes: np.ndarray, cap: float) -> Slices:
    """Slices of rows root n [d], n standard normal, along z'slopes, with the weights min(1, cap / |x|^2)."""
    d = len(root)
    slopes = slopes if np.any(slopes) else np.eye(d)[0]
    along = root.T @ slopes
    length = float(np.linalg.norm(along))
    # (a); the first column of an orthogonal matrix along the predictor, and the rest across it
    frame, _ = np.linalg.qr(np.column_stack([along / length, np.eye(d)]))
    across = root @ frame[:, 1:d]
    r = root @ along / length
    lam, axes = np.linalg.eigh(across.T @ across)
    e = across @ axes
    unit = e.T @ r / lam
    k = max(float(r @ r - lam @ unit**2), 0.0)
    ends = {0.0, *_EDGES}
    if k > 0 and math.isfinite(cap):
        kink = math.sqrt((cap - 1) / k)
        ends |= {place for place in (kink, *((1 - 0.3**m) * kink for m in range(1, 7))) if place < _EDGES[-1]}
    p, step = panels(np.array(sorted(ends)), 14)
    density = step * np.exp(-p * p / 2) / math.sqrt(2 * math.pi)
    thirds = d < MOST_THIRDS
    found = [_slice(value, (r, e, lam, unit, k), cap, thirds) for value in p]
    parts = []
    for order, part in enumerate(zip(*found, strict=True)):
        values = np.moveaxis(np.array(part), 0, 1) * density.reshape((-1,) + (1,) * order)
        # at -p rows are the same with z turned round
        turned = values.copy()
        for axis in range(2, 2 + order * (order < 3 or thirds)):
            turned[(slice(None),) * axis + (slice(1, None),)] *= -1
        parts.append(np.concatenate([values, turned], axis=1))
    mass, first, second, third = parts
    error = max(2e-9, abs(float(mass[0].sum()) - 1))
    return Slices(np.append(p, -p), length, slopes, mass, first, second, third if thirds else None, error)


Axes = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]


def _slice(p: float, axes: Axes, cap: float, thirds: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """E[w^j], E[w^j x], E[w^j x x'] and, with `thirds`, E[w^j x x x] at one p, j = 0, 1, 2 first."""
    r, e, lam, unit, k = axes
    delta, free = unit * p, cap - 1 - k * p * p
    middle, wide = math.sqrt(float(lam @ delta**2)), math.sqrt(float(lam.max()))
    low = max(0.0, math.sqrt(float(lam @ (1 + delta**2))) - 10 * wide)
    high = middle + math.sqrt(float(lam.sum())) + 8.5 * wide
    ends = np.linspace(low, high, 9)
    if low < (kink := math.sqrt(max(free, 0.0))) < high:
        ends = np.sort(np.append(ends, kink))
    root, step = panels(ends, 12)
    v = root * root
    # (b), Talbot's contour with the constants of Weideman (2006); conjugate nodes give twice the imaginary part
    angle = (np.arange(_CONTOUR // 2) + 0.5) * 2 * math.pi / _CONTOUR
    tilt = 0.5017 * angle / np.tan(0.6407 * angle) - 0.6122 + 0.2645j * angle
    turn = 0.5017 / np.tan(0.6407 * angle) - 0.5017 * 0.6407 * angle / np.sin(0.6407 * angle) ** 2 + 0.2645j
    s = _CONTOUR * tilt / v[:, None]
    grown = 1 + 2 * s[:, :, None] * lam
    log_mean = -np.sum(np.log(grown) / 2 + s[:, :, None] * lam * delta**2 / grown, axis=2)
    parts = 2 * turn / v[:, None] * np.exp(_CONTOUR * tilt + log_mean)
    weight = np.minimum(1.0, cap / (1 + k * p * p + v)) ** np.arange(3)[:, None]
    parts = (2 * root * step * weight)[:, :, None] * parts
    mean, spread = delta / grown - delta, 1 / grown
    size = len(r) + 1
    b = np.zeros((size, len(lam)))
    b[1:] = e
    x0 = np.append(1.0, r * p)
    mass, first, second = np.empty(3), np.empty((3, size)), np.empty((3, size, size))
    third = np.zeros((3, size, size, size)) if thirds else np.zeros((3, 1, 1, 1))
    flat, means, spreads = parts.reshape(3, -1), mean.reshape(-1, len(lam)), spread.reshape(-1, len(lam))
    for j in range(3):
        c = flat[j]
        weighted = c[:, None] * means
        m0, m1 = float(c.sum().imag), weighted.sum(axis=0).imag
        m2 = _imaginary(weighted, means) + np.diag(np.sum(c[:, None] * spreads, axis=0).imag)
        of_y = b @ m1
        mass[j], first[j] = m0, m0 * x0 + of_y
        inner = b @ m2 @ b.T
        second[j] = m0 * np.outer(x0, x0) + np.outer(x0, of_y) + np.outer(of_y, x0) + inner
        if thirds:
            cube = _imaginary(weighted, (means[:, :, None] * means[:, None, :]).reshape(len(means), -1))
            m3 = cube.reshape((len(lam),) * 3)
            crossed = _imaginary(weighted, spreads)
            for i in range(len(lam)):
                m3 = m3 + symmetrised(np.diag(np.eye(len(lam))[i]), crossed[:, i])
            third[j] = np.einsum("ijk,ai,bj,ck->abc", m3, b, b, b, optimize=True)
            third[j] += symmetrised(inner, x0) + symmetrised(np.outer(x0, x0), of_y)
            third[j] += m0 * np.einsum("i,j,k->ijk", x0, x0, x0)
    return mass, first, second, third


def _imaginary(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Imaginary part of a'b, of arrays [n, k]: two real products are many times faster than a complex one."""
    return np.asarray(a.real.T @ b.imag + a.imag.T @ b.real)
