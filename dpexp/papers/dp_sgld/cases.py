"""Settings in which all hypotheses of Theorem 3.1 of `dp-sgld` hold, with the exact divergence and the printed one.

The quadratic of `exact_law` on C = [-R, R] is (B + lambda R)-Lipschitz, lambda-strongly convex and lambda-smooth.
The exact law is that of the iteration without projection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpexp.papers.dp_sgld.exact_law import QuadraticLangevin
from dpexp.theory.dp_sgld.privacy_statements import corollary32, corollary33, eps_of_slope


@dataclass(frozen=True)
class PrivacyCase:
    """One setting, sigma = 1: the record is +B in one data set and -B in the other, all others are 0."""

    name: str
    eta: float
    steps: int
    batch_size: int
    n: int
    strong_convexity: float
    size: float  # B
    radius: float  # R
    decreasing: bool = False  # steps 1 / (2 beta + lambda k / 2); exact only for one step, of size 1 / (2 beta) = eta

    def __post_init__(self) -> None:
        if not self.eta * self.strong_convexity < 1:
            raise ValueError("the theorem needs eta < 1 / beta, and beta = lambda here")
        if self.decreasing and (self.steps > 1 or self.eta * 2 * self.strong_convexity != 1):
            raise ValueError("decreasing steps are exact for one step of 1 / (2 beta) only")

    @property
    def q(self) -> float:
        return self.batch_size / self.n

    @property
    def lipschitz(self) -> float:
        """L = B + lambda R of the losses on C."""
        return self.size + self.strong_convexity * self.radius

    @property
    def shift(self) -> float:
        """By how much replacing the record moves one step, in standard deviations of its noise."""
        return 2 * self.eta * self.size / self.batch_size / math.sqrt(2 * self.eta)

    @cached_property
    def law(self) -> QuadraticLangevin:
        return QuadraticLangevin(self.eta * self.strong_convexity, self.steps, self.q, self.shift)

    @property
    def slope(self) -> float:
        """What the theorem claims for the divergence of each order, over the order."""
        lam = self.strong_convexity
        if self.decreasing:
            return corollary33(1, self.lipschitz, self.n, 1, lam, lam, self.steps)
        return corollary32(1, self.lipschitz, self.n, 1, lam, self.eta, self.steps)

    def claimed_eps(self, delta: float) -> float:
        """The (eps, delta) that the theorem claims, by Mironov's rule as in the paper."""
        return eps_of_slope(self.slope, delta)

    @property
    def leaving(self) -> float:
        """A bound on the probability that the iteration without projection ever leaves C."""
        c2 = (1 - self.eta * self.strong_convexity) ** 2
        k = np.arange(self.steps + 1)
        variance = c2**k * 2 / self.strong_convexity + 2 * self.eta * (1 - c2**k) / (1 - c2)
        mean = self.size / (self.batch_size * self.strong_convexity) * (1 - math.sqrt(c2) ** k)
        gaps = self.radius - mean
        if np.any(gaps <= 0):
            return 1.0
        # erfc is twice a tail, so that the nearer end of the set stands for both
        return float(sum(math.erfc(g / math.sqrt(2 * v)) for g, v in zip(gaps, variance, strict=True)))

    def delta(self, eps: float) -> float:
        """A delta below which the projected iteration is not (eps, delta)-private, exact up to `leaving`."""
        # with projection laws differ by at most the probability of ever leaving C
        return max(0.0, self.law.delta(eps) - (1 + math.exp(eps)) * self.leaving)

    def certain(self, order: float) -> float:
        """A lower bound on the divergence of the projected iteration: the best test {theta > t}, less `leaving`."""
        law, off = self.law.law, self.leaving
        reach = float(np.max(law.centres)) + 10 * math.sqrt(law.variance)

        def tested(t: float) -> float:
            p = math.exp(law.log_above(t)) - off
            r = math.exp(law.mirrored.log_above(t)) + off
            return _renyi_of_bits(p, r, order) if 0 < r < p < 1 else 0.0

        # any threshold gives a bound: a coarse search, and a finer one between the neighbours of the best
        coarse = np.linspace(-reach, reach, 121)
        k = int(np.argmax([tested(float(t)) for t in coarse]))
        fine = np.linspace(coarse[max(0, k - 1)], coarse[min(len(coarse) - 1, k + 1)], 41)
        return max(tested(float(t)) for t in fine)


def _renyi_of_bits(p: float, r: float, order: float) -> float:
    """D_order of Bernoulli(p) from Bernoulli(r)."""
    exponent = order * math.log(p) + (1 - order) * math.log(r)
    none = order * math.log1p(-p) + (1 - order) * math.log1p(-r)
    return max(0.0, float(np.logaddexp(exponent, none))) / (order - 1)


CASES = (
    PrivacyCase("one step, a batch of one", 0.9, 1, 1, 1000, 1.0, 20.0, 60.0),
    PrivacyCase("two steps", 0.5, 2, 1, 1000, 1.0, 12.0, 23.1),
    PrivacyCase("fifty steps", 0.5, 50, 1, 1000, 1.0, 12.0, 25.9),
    PrivacyCase("the first decreasing step", 0.5, 1, 1, 1000, 1.0, 12.0, 23.1, decreasing=True),
    PrivacyCase("a batch of ten", 0.5, 200, 10, 2000, 0.1, 30.0, 68.4),
    PrivacyCase("larger batches", 0.5, 10, 50, 1000, 1.0, 150.0, 14.4),
    PrivacyCase("many small steps", 0.05, 400, 10, 1000, 1.0, 13.0, 15.0),
    PrivacyCase("small shifts", 0.5, 10, 100, 1000, 1.0, 25.0, 11.7),
    PrivacyCase("full batches", 0.5, 10, 1000, 1000, 1.0, 1000.0, 12.5),
)
"""settings in and out of the region where the printed bound fails"""
TESTED_ORDERS = (2.0, 8.0, 32.0)
EPS_AT = 1e-5
