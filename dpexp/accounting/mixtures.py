"""Mixtures of Gaussians of one variance and the quadrature of Renyi divergences, in the log domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpexp.accounting.functions import gauss_legendre, log, log_ndtr, log_sum

BELOW = 60.0
"""nats under the maximum at which a cell is left out: a million times e^-60 = 9e-27 is below the rounding of the sum"""
_BLOCK = 1 << 22  # entries of one matrix of places and atoms: 32 MiB of float64


@dataclass(frozen=True)
class GaussianMixture:
    """sum_i exp(log_weights_i) N(centres_i, variance)."""

    centres: np.ndarray  # [A]
    log_weights: np.ndarray  # [A]
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

    def _log_sum(self, x: np.ndarray, log_kernel: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """log sum_i exp(log_weights_i + log_kernel(x - centres_i)), in blocks of bounded memory."""
        out = np.empty(len(x))
        rows = max(1, _BLOCK // len(self.centres))
        for k in range(0, len(x), rows):
            out[k : k + rows] = log_sum(log_kernel(x[k : k + rows, None] - self.centres) + self.log_weights)
        return out


def renyi_of(p: GaussianMixture, q: GaussianMixture, order: float) -> float:
    """D_order(p || q), order > 1, of mixtures of the same variance.

    Relative error about 1e-10; no overflow. Raises ValueError for order <= 1.
    """
    if order <= 1:
        raise ValueError("the order must be above 1")
    s = math.sqrt(p.variance)
    reach = max(float(np.abs(p.centres).max()), float(np.abs(q.centres).max())) / s
    # With all centres in [-reach, reach], x > reach gives p <= N(x - reach) and q >= N(x + reach), hence, completing
    # the square, log p^a q^(1-a) <= -(x - (2 a - 1) reach)^2 / 2 + a constant, and the same on the left. Fourteen
    # deviations beyond that centre it has fallen by 98 nats, more than BELOW.
    half = math.ceil(2 * order * reach + 14)
    gaps = [float(np.diff(np.sort(m.centres)).max()) / s for m in (p, q) if len(m.centres) > 1]
    if reach == 0:
        return 0.0

    def log_integrand(x: np.ndarray) -> np.ndarray:
        log_q = q.log_density(s * x)
        return np.asarray(log_q + log_excess(p.log_density(s * x) - log_q, order))

    widest = min(reach, max(gaps, default=0.0))
    return log_mean_excess(log_integrand, np.arange(-half, half, dtype=np.float64), widest) / (order - 1)


def log_mean_excess(log_integrand: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, gap: float) -> float:
    """log(1 + the integral of r^k - 1 - k (r - 1)), r the ratio of two laws, under the second one.

    (r - 1) has the mean 0, so that this is the mean of r^k, and tiny divergences keep their digits.
    `log_integrand` takes places in deviations and adds log(2 pi) / 2. Cells of one deviation begin at `starts`; atoms
    are at most `gap` deviations apart.
    """
    # the integrand's peaks are a third of a deviation wide or wider: a scan finds the cells within BELOW nats of the
    # highest one; a peak may lie between two places of the scan, so their neighbours are taken too
    heights = log_integrand(starts + 0.5)
    used = heights > heights.max() - BELOW
    used[1:] |= used[:-1].copy()
    used[:-1] |= used[1:].copy()
    # Gauss's rule of 16 nodes on a piece of half length l has the error rho^-32 for an integrand that is bounded on the
    # ellipse of half axes l (rho + 1 / rho) / 2 and l (rho - 1 / rho) / 2. Two atoms a gap apart vanish together pi /
    # gap from the real line, and large powers grow from half of that on: with 2 l <= 2 / gap that is rho = 3.4 at
    # least, 1e-17; and with l = 1/2 the normal density grows by e^14 at rho = 8, which leaves 1e-23.
    offsets, log_weights = _rule(max(1, math.ceil(gap / 2)))
    values = log_integrand((starts[used][:, None] + offsets).ravel()).reshape(-1, len(offsets)) + log_weights
    return float(np.logaddexp(0.0, log_sum(values.ravel()) - math.log(2 * math.pi) / 2))


@lru_cache(maxsize=16)
def _rule(pieces: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in a cell that is cut into pieces, and the logarithms of their weights."""
    nodes, weights = gauss_legendre(16)
    places = ((np.arange(pieces)[:, None] + (nodes + 1) / 2) / pieces).ravel()
    return places, np.tile(log(weights / (2 * pieces)), pieces)


@np.errstate(all="ignore")
def log_excess(log_r: np.ndarray, power: float) -> np.ndarray:
    """log of r^k - 1 - k (r - 1) >= 0, k = `power` above 1 or below 0, without cancellation; [N] -> [N]."""
    k, top = power, np.maximum(power * log_r, log_r)
    u = np.expm1(np.minimum(log_r, 700.0))
    # in two forms: by the first no digits are lost where the power is next to 1
    near = (1 + u) * np.expm1((k - 1) * log_r) - (k - 1) * u if k > 1 else np.expm1(k * log_r) - k * u
    # where k u is small all digits would cancel: the binomial series from its second term on, as far as the next
    # term is below 0.01^9 of the first
    small = np.abs(u) * max(1.0, abs(k)) < 0.01
    if small.any():
        term = k * u[small]
        near[small] = 0.0
        for n in range(2, 11):
            term = term * u[small] * ((k - n + 1) / n)
            near[small] += term
    logs = np.log(near)
    # beyond e^300 it is r^k - k r
    if top.max() > 300.0:
        both = k * log_r, math.log(abs(k)) + log_r
        far = both[0] + np.log1p(-np.exp(both[1] - both[0])) if k > 1 else np.logaddexp(*both)
        logs = np.where(top > 300.0, far, logs)
    return np.asarray(logs)
