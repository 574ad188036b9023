"""Divergences of two mixtures of Gaussians of one variance, exact up to quadrature, in the log domain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

BELOW = 60.0
"""a region whose integrand lies this many nats under its maximum is left out"""
_BLOCK = 1 << 22


@dataclass(frozen=True)
class GaussianMixture:
    """sum_i exp(log_weights_i) N(centres_i, variance)."""

    centres: np.ndarray
    """[A]"""
    log_weights: np.ndarray
    """[A]"""
    variance: float

    @property
    def mirrored(self) -> GaussianMixture:
        """The law of -X."""
        return GaussianMixture(-self.centres, self.log_weights, self.variance)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """log of the density at x [N], without the constant -log(2 pi variance) / 2; [N]."""
        return self._log_sum(x, lambda gap: -gap * gap / (2 * self.variance))

    def log_above(self, t: float) -> float:
        """log P(X > t)."""
        from scipy.special import log_ndtr

        return float(self._log_sum(np.array([t]), lambda gap: log_ndtr(-gap / math.sqrt(self.variance)))[0])

    def _log_sum(self, x: np.ndarray, log_kernel) -> np.ndarray:  # type: ignore[no-untyped-def]
        """log sum_i exp(log_weights_i + log_kernel(x - centres_i)), in blocks of bounded memory."""
        out = np.empty(len(x))
        rows = max(1, _BLOCK // len(self.centres))
        for k in range(0, len(x), rows):
            terms = log_kernel(x[k : k + rows, None] - self.centres) + self.log_weights
            top = terms.max(axis=1)
            out[k : k + rows] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
        return out


def renyi_of(p: GaussianMixture, q: GaussianMixture, order: float) -> float:
    """D_order(p || q), order > 1, of mixtures of the same variance.

    exp((order - 1) D) - 1 = integral of q g(log p / q) with g(u) = e^{order u} - 1 - order (e^u - 1) >= 0, so tiny
    divergences keep their digits and huge ones do not overflow. The integrand's peaks are no narrower than a standard
    deviation s: a scan with that spacing finds the windows within `BELOW` nats of the highest, and the trapezoidal rule
    on them converges exponentially. Relative error about 1e-10. Raises ValueError for order <= 1.
    """
    if order <= 1:
        raise ValueError("the order must be above 1")
    s = math.sqrt(p.variance)
    reach = max(float(np.abs(p.centres).max()), float(np.abs(q.centres).max()))
    if reach == 0:
        return 0.0
    half = math.ceil(2 * order * reach / s + 14)

    def log_integrand(x: np.ndarray) -> np.ndarray:
        log_q = q.log_density(x)
        return log_q + _log_g(p.log_density(x) - log_q, order)

    scan = s * (np.arange(-half, half) + 0.5)
    heights = log_integrand(scan)
    keep = heights > heights.max() - BELOW
    keep[1:] |= keep[:-1].copy()
    keep[:-1] |= keep[1:].copy()
    fine = max(8, math.ceil(8 * min(reach, _largest_gap(p, q)) / s))
    offsets = s * ((np.arange(fine) + 0.5) / fine - 0.5)
    values = log_integrand((scan[keep][:, None] + offsets).ravel())
    top = values.max()
    log_total = float(top + math.log(np.exp(values - top).sum())) + math.log(s / fine) - math.log(2 * math.pi) / 2
    log_total -= math.log(p.variance) / 2
    return (math.log1p(math.exp(log_total)) if log_total < 30 else log_total) / (order - 1)


def hockey_stick_of(p: GaussianMixture, q: GaussianMixture, eps: float) -> float:
    """sup over events of p - e^eps q, where log p / q increases: P(X > t) - e^eps Q(X > t) at its crossing t."""
    from scipy.optimize import brentq

    def excess(x: float) -> float:
        at = np.array([x])
        return float(p.log_density(at)[0] - q.log_density(at)[0]) - eps

    width = math.sqrt(p.variance)
    low, high = -width, width
    while excess(low) > 0 and low > -1e12:
        low *= 2
    while excess(high) < 0:
        if high > 1e12:
            return 0.0
        high *= 2
    if excess(low) > 0:
        return -math.expm1(eps)
    t = float(brentq(excess, low, high, xtol=1e-13 * width, rtol=1e-14))
    log_p = p.log_above(t)
    return max(0.0, -math.exp(log_p) * math.expm1(q.log_above(t) + eps - log_p))


def _log_g(u: np.ndarray, order: float) -> np.ndarray:
    """log of e^{a u} - 1 - a (e^u - 1), a = order, without cancellation and overflow; -inf at u = 0."""
    a = order
    small = np.abs(u) * a < 1e-3
    large = a * u > 40
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        series = (
            np.log(a * (a - 1) / 2) + 2 * np.log(np.abs(u)) + np.log1p((a + 1) / 3 * u + (a * a + a + 1) / 12 * u * u)
        )
        middle = np.log(np.maximum(np.expm1(a * u) - a * np.expm1(u), 0))
        tail = a * u + np.log1p((a - 1) * np.exp(-a * u) - a * np.exp((1 - a) * u))
    return np.where(small, series, np.where(large, tail, middle))


def _largest_gap(p: GaussianMixture, q: GaussianMixture) -> float:
    """A length within which neighbouring atoms of either law lie."""
    gaps = [float(np.diff(np.sort(m.centres)).max()) for m in (p, q) if len(m.centres) > 1]
    return max(gaps, default=0.0)
