"""Composition of many different sampled Gaussian steps: a Renyi curve for up to millions of (q, multiplier) pairs.

(a) A step of probability q and noise multiplier s has the pair (1 - q) N(0, s^2) + q N(1, s^2) against N(0, s^2). In
units of the noise the ratio of the densities at z ~ N(0, 1) is 1 + u, u = q (e^(z / s - 1 / (2 s^2)) - 1), so that

    exp((a - 1) D_a) = E (1 + u)^a = 1 + E ((1 + u)^a - 1 - a u),      because E u = 0.

(b) The last expectation is of a number that is never negative (a > 1), so divergences far below 1e-16 keep their
digits. (c) It is taken by the trapezoidal rule in z. (d) Divergences of independent steps add.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.privacy.accounting.conversions import improved_eps

MOST = 20_000
"""pairs that are evaluated; more are gathered in cells, q rounded up and the multiplier down"""
_COARSE, _CLOSER = 200, 4000
"""pairs in the first and the second search for the best order"""
_SPAN = 14.0
"""noise units beyond which the normal law is left out: e^(-14^2 / 2) = 3e-43"""
_BLOCK = 2_000_000
"""entries of one matrix of pairs and nodes: 16 MB"""


class Steps:
    """Distinct steps with their counts; gathers equal ones. Arrays broadcast; raises ValueError outside q in [0, 1]."""

    def __init__(self, q: np.ndarray, multiplier: np.ndarray, count: np.ndarray | int = 1) -> None:
        arrays = np.broadcast_arrays(np.asarray(q, float), np.asarray(multiplier, float), np.asarray(count, float))
        q, multiplier, count = (np.ravel(a) for a in arrays)
        if not (np.all((q >= 0) & (q <= 1)) and np.all(multiplier >= 0) and np.all(count >= 0)):
            raise ValueError("sampling probabilities are in [0, 1], noise multipliers and counts are not negative")
        used = (q > 0) & (count > 0) & np.isfinite(multiplier)
        # a pair as one complex number, so that equal pairs are found in one sort
        pairs, where = np.unique(q[used] + 1j * multiplier[used], return_inverse=True)
        self.q, self.multiplier = pairs.real, pairs.imag
        self.count = np.bincount(np.ravel(where), weights=count[used], minlength=len(pairs))

    def gathered(self, most: int, nearest: bool = False) -> Steps:
        """At most about `most` pairs, each at least as costly as those it stands for, or else the `nearest` ones."""
        if len(self.q) <= most:
            return self
        x, y = np.log(self.q), -np.log(np.maximum(self.multiplier, 1e-300))
        spans = np.array([np.ptp(x), np.ptp(y)])
        # Cells that are equally long in log q and in -log multiplier, about `most` of them: k_x k_y = most with
        # span_x / k_x = span_y / k_y. Both coordinates are the larger the more a step costs.
        cells = np.ones(2)
        if spans.min() == 0:
            cells[spans.argmax()] = most
        else:
            cells[:] = np.maximum(1, np.sqrt(most * spans / spans[::-1]))
        rounding = np.round if nearest else np.ceil
        up = [
            low + rounding((v - low) / span * k) / k * span if (span := float(np.ptp(v))) > 0 else v
            for v, low, k in ((x, x.min(), cells[0]), (y, y.min(), cells[1]))
        ]
        # A logarithm l is off by a few |l| 2^-53, and e^l in relative terms by as much; 1e-14 makes up for that where
        # |l| is below 20 or so, that is for every q above 2e-9. Beyond, and for a multiplier of 0, the pair itself is
        # taken where its cell would cost less: no probability is ever rounded down, and no multiplier up.
        q, multiplier = np.minimum(1.0, np.exp(up[0]) * (1 + 1e-14)), np.exp(-up[1]) * (1 - 1e-14)
        if not nearest:
            q, multiplier = np.maximum(q, self.q), np.minimum(multiplier, self.multiplier)
        return Steps(q, multiplier, self.count)

    def rdp(self, order: float) -> float:
        """Renyi divergence of all steps, Poisson sampling, add/remove; order > 1, relative error 1e-10."""
        # (d)
        total = 0.0
        by_noise = np.argsort(self.multiplier)
        start = 0
        while start < len(by_noise):
            # a block shares one grid, so its multipliers lie within a factor of two
            smallest = self.multiplier[by_noise[start]]
            if smallest < 0.05:  # the grid below would need too many nodes; these are few and are done one by one
                q, count = self.q[by_noise[start]], self.count[by_noise[start]]
                from dpexp.privacy.accounting.sampled_gaussian import mixture_from_base

                total += count * mixture_from_base(order, float(q), float(smallest))
                start += 1
                continue
            stop = int(np.searchsorted(self.multiplier[by_noise], 2 * smallest, side="right"))
            # (c)
            # The integrand stops being analytic where 1 + u = 0, at a distance of pi s from the real line. The
            # trapezoidal rule of step h errs by e^(-2 pi distance / h) = e^(-12 pi^2) there, and for the normal weight
            # by e^(-2 pi^2 / h^2), which is nothing at h = 0.1. The power e^(a z / s) moves the bulk to z = a / s.
            step = min(0.1, smallest / 6)
            nodes = np.arange(-_SPAN, _SPAN + order / smallest, step)
            stop = max(start + 1, min(stop, start + _BLOCK // len(nodes)))
            block = by_noise[start:stop]
            total += float(self.count[block] @ _divergences(order, self.q[block], self.multiplier[block], nodes, step))
            start = stop
        return total


def _divergences(order: float, q: np.ndarray, sigma: np.ndarray, z: np.ndarray, step: float) -> np.ndarray:
    """D_order(mixture || base) for pairs [N] on a shared grid [K]: log1p of the mean of (b), over order - 1.

    Nodes with (1 + u)^order < e^20 are summed as numbers (`mean`), the others as logarithms (`tail`), because their
    powers overflow; what they should have subtracted, 1 + order u, is `linear`.
    """
    # (a), log(1 + u) also where u is no number any more
    exponent = z[None, :] / sigma[:, None] - (0.5 / sigma**2)[:, None]
    with np.errstate(divide="ignore"):
        log_r = np.logaddexp(np.log1p(-np.minimum(q, 1.0))[:, None], np.log(q)[:, None] + exponent)
    log_weight = (-z * z / 2 + math.log(step / math.sqrt(2 * math.pi)))[None, :]
    u = q[:, None] * np.expm1(np.minimum(exponent, 600.0))
    # (b)
    near = order * log_r < 20
    terms = np.where(near, np.expm1(np.minimum(order * log_r, 20.0)) - order * u, 0.0)
    small = np.abs(u) * order < 1e-3
    v = np.where(small, u, 0.0)
    # binomial series to the fourth order; the next term is (order - 2) (order - 3) (order - 4) u^3 / 60 of the first:
    # at most |order u|^3 / 10 = 1e-10 for every order > 1, and 2e-11 for large ones
    cubic = order * (order - 1) / 2 * v * v * (1 + (order - 2) / 3 * v * (1 + (order - 3) / 4 * v))
    mean = np.sum(np.where(small, cubic, terms) * np.exp(log_weight), axis=1)
    far = np.where(near, -np.inf, order * log_r + log_weight)
    top = np.maximum(far.max(axis=1), 0.0)
    tail = np.exp(far - top[:, None]).sum(axis=1)
    tail_log = top + np.log(np.maximum(tail, 1e-300))
    linear = np.sum(np.where(near, 0.0, np.exp(log_weight) * (1 + order * np.minimum(u, 1e200))), axis=1)
    whole = np.logaddexp(np.log1p(mean - linear), tail_log)
    return np.where(tail > 0, whole, np.log1p(mean)) / (order - 1)


def composed_eps(steps: Steps, delta: float) -> tuple[float, float]:
    """Epsilon at delta of all steps, and its order, which is searched on few pairs and then used on all."""
    if len(steps.q) == 0:
        return 0.0, math.nan
    # 24 orders from 1.01 to 501, then seven around the best, from 0.7 to 1.4 times its excess over 1
    order = 0.0
    for most, excesses in ((_COARSE, np.geomspace(1e-2, 500, 24)), (_CLOSER, np.geomspace(0.7, 1.4, 7))):
        curve = steps.gathered(most, nearest=True).rdp  # a fair stand-in: any order is valid
        tried = 1 + excesses * (order - 1 if order else 1)
        order = float(tried[np.argmin([improved_eps(a, curve(float(a)), delta) for a in tried])])
    return improved_eps(order, steps.gathered(MOST).rdp(order), delta), order
