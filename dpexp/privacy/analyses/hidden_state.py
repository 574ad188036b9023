"""Hockey-stick bounds for the last iterate on a bounded set, without convexity (`hidden-state`).

Lengths are in standard deviations of one step's noise on the parameter: `reach` is the largest distance of two means.
Where batches are drawn by Poisson sampling and their sum is divided by a fixed number, a batch of k records moves the
iterate by up to its own size: the reach is a function of k, and the coefficients are means over k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpexp.accounting.binomials import poisson_sizes
from dpexp.accounting.gaussian import delta_of, deltas_of


def last_iterate_delta(eps: float, reach: float, q: float, steps: float) -> float:
    """delta(eps, T) <= q theta (1 - x^T) / (1 - x), x = (1 - q) theta_eps(reach); steps may be inf.

    reach = (diameter + 2 eta C) / noise_std on the parameter, q the probability that the record is in a batch. Source:
    `hidden-state`, main result: d_t <= theta [(1 - q) d_{t-1} + q], d_0 = 0. Every batch has the same size. theta, the
    coefficient of the Gaussian kernel for means `reach` apart, is delta(eps) of a Gaussian mechanism with mu = reach.
    """
    theta = delta_of(reach, eps)
    return _recursion(theta, theta, q, steps)


@dataclass(frozen=True)
class PoissonReach:
    """The coefficients of Poisson batches from `n` records, each drawn with probability `q`."""

    width: float
    """diameter of the set"""
    move: float
    """2 eta C / (b noise): how far one record of the batch can put two means further apart"""
    n: int
    q: float

    def contraction(self, eps: float) -> float:
        """eta_eps(K) <= E theta_eps(width + move k), k ~ Bin(n, q), of one step from two starts of the set.

        Given the batch the two means are at most width + move k apart, and E_gamma is jointly convex over batches.
        """
        # theta increases in its reach and k with n, so that n records are the worse of n and n - 1
        return self._mean(eps, self.n, 0)

    def last_iterate_delta(self, eps: float, steps: float) -> float:
        """delta(eps, T) <= q t1 (1 - x^T) / (1 - x), x = (1 - q) t0, for neighbours that differ in one of n records.

        t0 = E theta_eps(width + move k) and t1 = E theta_eps(width + move (k + 1)) with k ~ Bin(n - 1, q), the number
        of the other records in the batch. It holds for a replaced and for a removed record.
        """
        # By joint convexity over the others' batch and the record's coin, d_t is at most (1 - q) t0 d_{t-1} + q t1:
        # with coin 0 both chains take the same kernel, which contracts by t0; with coin 1 the means are at most
        # width + move (k + 1) apart, from whatever starts.
        return _recursion(self._mean(eps, self.n - 1, 0), self._mean(eps, self.n - 1, 1), self.q, steps)

    def _mean(self, eps: float, records: int, more: int) -> float:
        # theta rises with its reach, and is at most 1: so sizes may be left out, at their whole probability
        sizes = poisson_sizes(records, self.q)
        values = deltas_of(self.width + self.move * (sizes.counts + more), eps)
        # the factor covers the rounding of the sum
        return min(1.0, float((sizes.masses * values).sum()) * (1 + 1e-12) + sizes.dropped)


def _recursion(contraction: float, met: float, q: float, steps: float) -> float:
    """q met (1 - x^T) / (1 - x) with x = (1 - q) kept: the solution of d_t = x d_{t-1} + q met, d_0 = 0; at most 1."""
    # a geometric sum; 1 - x^T keeps its digits by expm1
    x = (1 - q) * contraction
    if met == 0 or q == 0 or steps == 0:
        return 0.0
    if x == 1:
        return min(1.0, q * steps)
    share = 1.0 if math.isinf(steps) or x == 0 else -math.expm1(steps * math.log(x))
    return min(1.0, q * met * share / (1 - x))
