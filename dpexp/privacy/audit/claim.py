"""What is claimed of a release, in the form in which runs can contradict it: misses at a rate of false alarms.

An observer who has to tell two neighbouring worlds apart has false alarms at a rate a and misses at a rate b. A claim
says that b is at least beta(a). For mu-GDP that is beta(a) = Phi(Phi^-1(1 - a) - mu) (Dong, Roth and Su, 2022). For
(eps, delta) with neighbours in both orders it is

    beta(a) = max(0, 1 - delta - e^eps a, e^-eps (1 - delta - a))

and for many pairs the largest of these (their Proposition 2.5). Finitely many pairs of a profile only lower beta, so
that what contradicts them contradicts the profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpexp.accounting.curve import gaussian_beta, least_misses
from dpexp.privacy.analyses.analysis import Analysis

DELTAS = (*(10.0**-k for k in range(8, 2, -1)), 3e-3, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.65)
"""at which a profile is asked: most runs decide at deltas above a thousandth"""


@dataclass(frozen=True)
class Claim:
    """Gaussian DP with parameter `mu`, or all of the (eps, delta) pairs together where mu is None."""

    mu: float | None
    pairs: tuple[tuple[float, float], ...] = ()
    """(eps, delta); for a Gaussian claim those that the e-process bets on"""

    def misses(self, false_alarms: float) -> float:
        """The least rate of misses that the claim allows at a rate of false alarms."""
        a = min(max(false_alarms, 0.0), 1.0)
        if self.mu is not None:
            return gaussian_beta(self.mu, a)
        return max([0.0, *(least_misses(a, eps, delta) for eps, delta in self.pairs)])

    def separation(self, false_alarms: float) -> float:
        """The mu of Gaussian DP that allows the same misses at this rate of false alarms: for Gaussian claims, mu."""
        if self.mu is not None:
            return self.mu
        return separation(false_alarms, self.misses(false_alarms))


def gaussian_claim(mu: float) -> Claim:
    """mu-GDP, with pairs at which an e-process can bet."""
    from dpexp.accounting.gaussian import delta_of

    if math.isinf(mu):
        return Claim(mu)
    grid = sorted({0.0, *(mu * k for k in (0.25, 0.5, 0.75, 1.0, 1.5)), mu * mu / 2, mu * mu / 2 + mu})
    return Claim(mu, tuple((eps, delta_of(mu, eps)) for eps in grid))


def profile_claim(eps_at: Callable[[float], float]) -> Claim:
    """A claim of every (eps_at(delta), delta)."""
    return Claim(None, tuple((eps, delta) for delta in DELTAS if math.isfinite(eps := eps_at(delta))))


def claim_of(stated: Analysis) -> Claim:
    """What an analysis claims: Gaussian DP where it is that, else its whole profile."""
    return profile_claim(stated.eps) if stated.mu is None else gaussian_claim(stated.mu)


def separation(false_alarms: float, misses: float) -> float:
    """Phi^-1(1 - a) - Phi^-1(b): the mu for which a point (a, b) is on the curve of mu-GDP; inf where either is 0."""
    from scipy.special import ndtri

    a, b = np.clip([false_alarms, misses], 0.0, 1.0)
    return float(ndtri(1 - a) - ndtri(b)) if a + b < 1 else 0.0
