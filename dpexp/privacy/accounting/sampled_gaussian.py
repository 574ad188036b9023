"""Renyi divergences of the sampled Gaussian mechanism, for real orders.

One step adds N(0, sigma^2) and moves by 1 with probability q. Three one-step quantities, in increasing order:

* `base_from_mixture`: D_alpha(N(0) || mixture), the printed S_alpha of `noisy-sgd`, Definition 2.10. No privacy bound
  by itself: it stays below log 1/(1-q) whatever the noise, and neighbours can be exchanged.
* `mixture_from_base`: D_alpha(mixture || N(0)), what the add/remove accountants of the literature compute.
* `symmetrised`: the larger of both for the pair whose trade-off curve is the symmetrised subsampled Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dpexp.core.bisection import narrow

_SMALL = 1e-2
_REACH = 14.0
_LEAST = 0.02
"""below this noise multiplier the step is bounded as if the record were always there, which loses next to nothing"""


def base_from_mixture(order: float, q: float, sigma: float) -> float:
    """D_order(N(0, sigma^2) || (1-q) N(0, sigma^2) + q N(1, sigma^2)); order > 1. Relative error about 1e-14."""
    return _edges(order, q, sigma, _whole_line, 1 - order)


def mixture_from_base(order: float, q: float, sigma: float) -> float:
    """D_order((1-q) N(0, sigma^2) + q N(1, sigma^2) || N(0, sigma^2)); order > 1. Relative error about 1e-14."""
    return _edges(order, q, sigma, _whole_line, order)


def symmetrised(order: float, q: float, sigma: float) -> float:
    """Renyi divergence of the pair with the trade-off curve C_q(G(1 / sigma)) of Dong, Roth and Su; order > 1."""
    return _edges(order, q, sigma, _half_line, order)


def _edges(order: float, q: float, sigma: float, evaluate: Callable[..., float], power: float) -> float:
    if not order > 1:
        raise ValueError(f"the order is greater than 1, not {order}")
    if not 0 <= q <= 1:
        raise ValueError(f"the sampling probability is in [0, 1], not {q}")
    if not sigma >= 0:
        raise ValueError(f"the noise multiplier is at least 0, not {sigma}")
    if q == 0 or math.isinf(sigma):
        return 0.0
    if q == 1:
        return order / (2 * sigma * sigma) if sigma > 0 else math.inf
    if sigma < _LEAST:
        return -math.log1p(-q) if power < 0 else math.inf if sigma == 0 else order / (2 * sigma * sigma)
    return evaluate(float(order), float(q), float(sigma), float(power))


@lru_cache(maxsize=200_000)
def _whole_line(order: float, q: float, sigma: float, power: float) -> float:
    """log E (1 + u)^power / (order - 1), u = q (exp(z / sigma - 1 / (2 sigma^2)) - 1), by the trapezoidal rule."""
    h = min(0.1, sigma / 6)
    pieces = [np.arange(low, high + h, h) for low, high in _windows((0.0, 1 / sigma, max(1.0, power) / sigma))]
    z = np.concatenate(pieces)
    return _log_mean(z, np.full(len(z), h), q, sigma, (power,)) / (order - 1)


@lru_cache(maxsize=200_000)
def _half_line(order: float, q: float, sigma: float, power: float) -> float:
    """exp((order - 1) S) = 1 + E[r^order + r^(1 - order) - r - 1; z > 1 / (2 sigma)], r = 1 + u."""
    start = 1 / (2 * sigma)
    x, w = _GAUSS
    nodes, weights = [], []
    for low, high in _windows((start, 1 / sigma, order / sigma), start):
        edges = np.linspace(low, high, 1 + math.ceil((high - low) / min(0.5, 2 * sigma)))
        half = np.diff(edges)[:, None] / 2
        nodes.append((edges[:-1, None] + half * (1 + x)).ravel())
        weights.append((half * w).ravel())
    return _log_mean(np.concatenate(nodes), np.concatenate(weights), q, sigma, (order, 1 - order)) / (order - 1)


def _windows(centres: tuple[float, ...], least: float = -math.inf) -> list[tuple[float, float]]:
    """Disjoint intervals of 14 standard deviations around the centres, where all of the integrand's mass is."""
    merged: list[tuple[float, float]] = []
    for centre in sorted(centres):
        low, high = max(least, centre - _REACH), centre + _REACH
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], high
        else:
            merged.append((low, high))
    return merged


_GAUSS = np.polynomial.legendre.leggauss(16)


def _log_mean(z: np.ndarray, step: np.ndarray, q: float, sigma: float, powers: tuple[float, ...]) -> float:
    """log(1 + sum over powers k of E[(1 + u)^k - 1 - k u]) with nodes z and steps; no cancellation, no overflow."""
    exponent = z / sigma - 1 / (2 * sigma * sigma)
    log_r = np.logaddexp(math.log1p(-q), math.log(q) + exponent)
    log_weight = -z * z / 2 + np.log(step / math.sqrt(2 * math.pi))
    weight = np.exp(log_weight)
    u = q * np.expm1(np.minimum(exponent, 700.0))
    total = 0.0
    for power in powers:
        far = power * log_r > 300.0
        logs = power * log_r[far] + log_weight[far]
        if len(logs) and logs.max() > 600.0:
            top = logs.max()
            return float(top + math.log(np.sum(np.exp(logs - top))))
        total += float(weight[~far] @ _excess(log_r[~far], u[~far], power))
        total += float(np.sum(np.exp(logs)) - weight[far] @ (1 + power * u[far]))
    return math.log1p(total)


def _excess(log_r: np.ndarray, u: np.ndarray, power: float) -> np.ndarray:
    """(1 + u)^power - 1 - power u: a series where power u is small."""
    small = np.abs(u) * max(1.0, abs(power)) < _SMALL
    out = np.expm1(power * log_r) - power * u
    v = u[small]
    total, term = np.zeros_like(v), np.ones_like(v)
    for k in range(1, 15):
        term = term * v * (power - k + 1) / k
        if k >= 2:
            total = total + term
    out[small] = total
    return out


def largest_order(q: float, sigma: float) -> float:
    """alpha*(q, sigma): the largest order of Lemma 2.12 of `noisy-sgd` (Mironov, Talwar and Zhang, Theorem 11).

    The largest alpha with alpha <= M sigma^2 / 2 - log sigma^2 and alpha (M + log(q alpha) + 1 / (2 sigma^2)) <=
    M^2 sigma^2 / 2 - log(5 sigma^2), M = log(1 + 1 / (q (alpha - 1))); 1 where there is none. Orders that satisfy both
    form an interval. Raises ValueError outside 0 < q < 1 and sigma > 0.
    """
    if not (0 < q < 1 and sigma > 0):
        raise ValueError(f"needs 0 < q < 1 and sigma > 0, not q = {q}, sigma = {sigma}")
    square = sigma * sigma

    def covered(order: float) -> bool:
        m = math.log1p(1 / (q * (order - 1)))
        second = order * (m + math.log(q * order) + 1 / (2 * square)) <= m * m * square / 2 - math.log(5 * square)
        return second and order <= m * square / 2 - math.log(square)

    low, high = 1 + 1e-9, 2.0
    if not covered(low):
        return 1.0
    while covered(high):
        low, high = high, 2 * high
    return narrow(lambda order: not covered(order), low, high, relative=1e-12).below
