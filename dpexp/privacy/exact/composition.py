"""The Renyi divergence of T releases of a one-step pair: all iterates of constant gradients.

    add-remove      (1 - q) N(0) + q N(mu)   against N(0), and swapped                    mu = 1 / z
    replace-one     (1 - q) N(0) + q N(mu)   against (1 - q) N(0) + q N(-mu)              (Poisson sampling)

Where all others of a batch of fixed size pull one way and one record is turned round, the pair is the first one with
mu = 2 / z.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

Pair = Literal["add-remove", "replace-one"]


def _loss(pair: Pair, q: float, mu: float, z: np.ndarray, swapped: bool) -> np.ndarray:
    """log P / Q at the outcome z; increasing in z, decreasing if swapped."""
    away = math.log1p(-q) if q < 1 else -math.inf
    up = np.logaddexp(away, math.log(q) + mu * z - mu**2 / 2)
    if pair == "replace-one":
        up = up - np.logaddexp(away, math.log(q) - mu * z - mu**2 / 2)
    return np.asarray(-up if swapped else up)


def composed_renyi(pair: Pair, q: float, mu: float, steps: int, order: float) -> float:
    """T times the one-step divergence, the larger order of the pair, by the trapezoid rule, rounded down."""
    found = []
    for swapped in (False, True):
        z = np.arange(-14.0 - order * mu, 14.0 + order * mu, min(0.05, 0.2 / max(mu, 1e-9)))
        loss = _loss(pair, q, mu, z, swapped)
        base = -(z**2) / 2 - math.log(2 * math.pi) / 2
        own = base + (loss if not swapped else 0.0)  # log density of P where Q is the standard normal
        if pair == "replace-one":
            away = math.log1p(-q) if q < 1 else -math.inf
            sign = -1.0 if swapped else 1.0
            own = base + np.logaddexp(away, math.log(q) + sign * mu * z - mu**2 / 2)
        log_q = own - loss
        u = np.expm1(np.minimum(loss, 600.0))
        width = math.log(z[1] - z[0])
        exponents = log_q + order * loss + width
        top = float(exponents.max())
        if top < 0 and float(np.max(np.abs(u) * np.exp(np.minimum(log_q, 0)))) < 1e300:
            with np.errstate(over="ignore", invalid="ignore"):
                small = order * (order - 1) / 2 * u * u * (1 + (order - 2) / 3 * u)
                big = np.exp(log_q + order * loss) - np.exp(log_q) * (1 + order * u)
                terms = np.where(np.abs(u) * order < 1e-4, np.exp(log_q) * small, big)
            total = float(np.sum(terms)) * (z[1] - z[0])
            found.append(math.log1p(max(total, 0.0)) / (order - 1))
        else:
            found.append((top + math.log(float(np.exp(exponents - top).sum()))) / (order - 1))
    return steps * max(found) * (1 - 1e-9)
