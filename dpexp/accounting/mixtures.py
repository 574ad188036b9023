"""Divergences of two mixtures of Gaussians of one variance, exact up to quadrature, in the log domain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpexp.accounting.functions import exp, expm1, log, log1p, log_ndtr

BELOW = 60.0
"""a region whose integrand is this many nats under its maximum is left out: e^-60 = 9e-27, so that a million such
points are still below the rounding of the sum"""
_BLOCK = 1 << 22
"""entries of one matrix of places and atoms: 32 MiB of float64"""


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
        return float(self._log_sum(np.array([t]), lambda gap: log_ndtr(-gap / math.sqrt(self.variance)))[0])

    def _log_sum(self, x: np.ndarray, log_kernel) -> np.ndarray:  # type: ignore[no-untyped-def]
        """log sum_i exp(log_weights_i + log_kernel(x - centres_i)), in blocks of bounded memory."""
        out = np.empty(len(x))
        rows = max(1, _BLOCK // len(self.centres))
        for k in range(0, len(x), rows):
            terms = log_kernel(x[k : k + rows, None] - self.centres) + self.log_weights
            # the largest term is taken out, so that the others cannot overflow and the sum is at least 1
            top = terms.max(axis=1)
            out[k : k + rows] = top + log(exp(terms - top[:, None]).sum(axis=1))
        return out


def renyi_of(p: GaussianMixture, q: GaussianMixture, order: float) -> float:
    """D_order(p || q), order > 1, of mixtures of the same variance.

    Relative error about 1e-10; no overflow. Raises ValueError for order <= 1.
    """
    if order <= 1:
        raise ValueError("the order must be above 1")
    s = math.sqrt(p.variance)
    reach = max(float(np.abs(p.centres).max()), float(np.abs(q.centres).max()))
    if reach == 0:
        return 0.0
    # With all centres in [-reach, reach], x > reach gives p <= N(x - reach) and q >= N(x + reach) (densities of one
    # atom), hence, completing the square, log p^a q^(1-a) <= -(x - (2 a - 1) reach)^2 / (2 s^2) + a constant, and the
    # same on the left. Fourteen deviations beyond that centre it has fallen by 14^2 / 2 = 98 nats, more than BELOW.
    half = math.ceil(2 * order * reach / s + 14)

    # exp((order - 1) D) - 1 is the integral of q g(log p / q) with g(u) = e^{order u} - 1 - order (e^u - 1) >= 0: the
    # terms besides e^{order u} integrate to -1, since p and q both have mass 1; so tiny divergences keep their digits
    def log_integrand(x: np.ndarray) -> np.ndarray:
        log_q = q.log_density(x)
        return np.asarray(log_q + _log_g(p.log_density(x) - log_q, order))

    # the integrand's peaks are no narrower than a standard deviation, so that a scan with that spacing finds the
    # windows within BELOW nats of the highest; the trapezoidal rule on them converges exponentially
    scan = s * (np.arange(-half, half) + 0.5)
    heights = log_integrand(scan)
    keep = heights > heights.max() - BELOW
    # a peak may lie between two places of the scan, so their neighbours are kept too
    keep[1:] |= keep[:-1].copy()
    keep[:-1] |= keep[1:].copy()
    # Two atoms a gap apart are equally likely where e^(gap x / s^2) has a given size; in the complex plane their sum
    # vanishes at a distance pi s^2 / gap from the real line, and there p^a q^(1-a) stops being analytic. The rule of
    # spacing h has the error e^(-2 pi distance / h), which is e^(-16 pi^2) at h = s^2 / (8 gap).
    fine = max(8, math.ceil(8 * min(reach, _largest_gap(p, q)) / s))
    offsets = s * ((np.arange(fine) + 0.5) / fine - 0.5)
    values = log_integrand((scan[keep][:, None] + offsets).ravel())
    top = values.max()
    # spacing times the normalisation of q, which log_density leaves out
    log_total = float(top + math.log(exp(values - top).sum())) + math.log(s / fine) - math.log(2 * math.pi) / 2
    log_total -= math.log(p.variance) / 2
    # log(1 + e^x) = x + e^-x - ..: above 30 the second term is below 1e-13
    return (math.log1p(math.exp(log_total)) if log_total < 30 else log_total) / (order - 1)


def _log_g(u: np.ndarray, order: float) -> np.ndarray:
    """log of e^{a u} - 1 - a (e^u - 1), a = order, without cancellation and overflow; -inf at u = 0."""
    a = order
    small = np.abs(u) * a < 1e-3
    large = a * u > 40
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # sum_{k >= 2} (a^k - a) u^k / k! = a (a - 1) / 2 u^2 (1 + (a + 1) / 3 u + (a^2 + a + 1) / 12 u^2 + ..), whose
        # next term, (a^3 + a^2 + a + 1) / 60 |u|^3, is at most 7e-11
        series = math.log(a * (a - 1) / 2) + 2 * log(np.abs(u)) + log1p((a + 1) / 3 * u + (a * a + a + 1) / 12 * u * u)
        # the difference is (a - 1) u / 2 of its terms and loses as many digits as that has zeros
        middle = log(np.maximum(expm1(a * u) - a * expm1(u), 0))
        # the factor e^{a u} is taken out
        tail = a * u + log1p((a - 1) * exp(-a * u) - a * exp((1 - a) * u))
    return np.where(small, series, np.where(large, tail, middle))


def _largest_gap(p: GaussianMixture, q: GaussianMixture) -> float:
    """A length within which neighbouring atoms of either law lie."""
    gaps = [float(np.diff(np.sort(m.centres)).max()) for m in (p, q) if len(m.centres) > 1]
    return max(gaps, default=0.0)
