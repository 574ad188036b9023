"""The last iterate of linear losses on an unbounded set: an attained privacy loss, for every T, q and noise.

All gradients are constant, so the last iterate is a sum. In units of one record's norm C the T noises add up to
N(0, T z^2), and the record has moved it as often as it was in a batch: k ~ Bin(T, q). Three pairs are stated.

* `add-remove` (Poisson): the record is +C or absent: P = sum_k Bin(T, q; k) N(k, T z^2) against Q = N(0, T z^2).
* `replace-one` (Poisson): +C against -C: the same P against its mirror image.
* `fixed-size` (replace-one, b of n records without replacement): all other records are +C, and the record is +C in the
  one data set and -C in the other. The batch sum is b C - 2 C k, so that P has the atoms 2 k and Q is N(0, T z^2).

Whatever the other records are, these are laws of two neighbouring data sets: no bound on the last iterate that holds
for unbounded sets can be smaller. On a bounded set they are not attained.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from dpexp.core.roots import root
from dpexp.privacy.accounting.binomials import binomial_log_masses, likely_counts
from dpexp.privacy.accounting.gdp import delta_of, eps_of
from dpexp.privacy.accounting.loss_distributions import Scheme
from dpexp.privacy.accounting.mixtures import GaussianMixture, crossing, hockey_stick_of, log_ratio
from dpexp.privacy.accounting.quiet_functions import log

_FLOOR = -120.0
"""log probability of a number of visits below which it does not have an atom of its own"""
_GROUPS = 64
"""that the numbers of visits below the floor are put into, on either side: they decide losses above 100, whose
denominator is made of them alone, and are then known to a 64th"""
_MOST = 1e8
"""variance of the number of visits above which the law is not written down: here it has 3 10^5 atoms"""
_LEAST_NOISE = 1e-4
"""deviation of the sum of all noises, in norms of one record, below which epsilon (above 10^7) loses its digits"""


@dataclass(frozen=True)
class Order:
    """P against R, of variance 1, whose ratio increases: the best event of any epsilon is a half line x > t.

    (a) It is the best one at its own epsilon(t) = log p(t) / r(t), which increases.
    (b) There its excess P(x > t) - e^epsilon(t) R(x > t) decreases in t, so that one root finder gives both.
    """

    p: GaussianMixture
    r: GaussianMixture

    @cached_property
    def _start(self) -> float | None:
        """Where epsilon is 0."""
        return crossing(self.p, self.r, 0.0)

    @cached_property
    def _log_excess(self) -> Callable[[float], float]:
        @cache  # many deltas lie between the same two places
        def log_excess(t: float) -> float:
            log_p = self.p.log_above(t)
            # P - e^eps R = P (1 - e^(eps + log R - log P)): what is left of P is a factor, and keeps its digits
            part = -math.expm1(min(0.0, self.r.log_above(t) + log_ratio(self.p, self.r, t) - log_p))
            return log_p + math.log(part) if part > 0 else -math.inf

        return log_excess

    def eps(self, delta: float) -> float:
        """The epsilon of the half line with the excess delta; 0 if epsilon 0 is enough."""
        start, level, low, high = self._start, math.log(delta), 0.0, 0.5
        if start is None or self._log_excess(start) <= level:
            return 0.0
        # (b): a bracket, whose steps grow because large epsilons lie many deviations out, and the root in it
        while self._log_excess(start + high) > level:
            low, high = high, high * 1.5
        t = root(lambda t: self._log_excess(t) - level, start + low, start + high, xtol=1e-12, rtol=1e-14)
        # (a)
        return max(0.0, log_ratio(self.p, self.r, t))


@dataclass(frozen=True)
class LinearLoss:
    """The pair of laws; `scheme` as in the module's text."""

    q: float
    """probability that the record is in a batch"""
    noise_multiplier: float
    """noise over one record's norm"""
    steps: int
    scheme: Scheme

    @property
    def written(self) -> bool:
        """Whether the law can be written down: few enough atoms, and noise that rounding does not drown."""
        few = self.steps * self.q * (1 - self.q) <= _MOST
        return self._mu is not None or (few and math.sqrt(self.steps) * self.noise_multiplier >= _LEAST_NOISE)

    def delta(self, eps: float) -> float:
        """The smallest delta at `eps` >= 0, both orders of the neighbours."""
        if self._mu is not None:
            return delta_of(self._mu, eps)
        return max(hockey_stick_of(order.p, order.r, eps) for order in self._orders)

    def eps(self, delta: float) -> float:
        """The smallest epsilon >= 0 at `delta`, rounded down by 1e-9 of its value."""
        if self._mu is not None:
            return eps_of(self._mu, delta)
        if delta >= 1:
            return 0.0
        return max(order.eps(delta) for order in self._orders) * (1 - 1e-9)

    @cached_property
    def _mu(self) -> float | None:
        """The Gaussian-DP parameter where the number of visits is certain, else None."""
        distance = 1.0 if self.scheme == "add-remove" else 2.0
        # a record that is never met, or in every batch: the sum is normal with a mean that is known
        if self.steps == 0 or self.q == 0 or math.isinf(self.noise_multiplier):
            return 0.0
        if self.noise_multiplier == 0:
            return math.inf
        return math.sqrt(self.steps) * distance / self.noise_multiplier if self.q == 1 else None

    @cached_property
    def _orders(self) -> list[Order]:
        """P and Q of both orders, mirrored so that the likelihood ratio P / Q increases and the best event is x > t."""
        # no number that is stated may be above that of the pair itself: P is written from below, and Q from above
        counts, logs = likely_counts(self.steps, self.q, _FLOOR)
        fewest, bounds = self._groups(int(counts[0]), int(counts[-1]))
        distance = 2.0 if self.scheme == "fixed-size" else 1.0
        # lengths are in deviations of the sum of all noises
        unit = math.sqrt(self.steps) * self.noise_multiplier
        # P lacks the numbers of visits below the floor
        law = GaussianMixture(distance * counts / unit, logs, 1.0)
        # Q has at least what it has beyond every t: there the mirrored law of k visits has most for the fewest visits,
        # so that a group of numbers becomes an atom at its fewest. No atom of Q is above one of P: P / Q increases.
        every = GaussianMixture(
            distance * np.concatenate([counts, fewest]) / unit, np.concatenate([logs, bounds]), 1.0
        ).mirrored
        if self.scheme == "replace-one":
            return [Order(law, every)]
        absent = GaussianMixture(np.zeros(1), np.zeros(1), 1.0)
        return [Order(law, absent), Order(absent.mirrored, every)]

    def _groups(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """The fewest visits of each group of numbers outside first .. last, and a bound on its log probability."""
        below = np.unique(np.linspace(0, first, min(first, _GROUPS) + 1).astype(np.int64))
        above = np.unique(np.linspace(last + 1, self.steps + 1, min(self.steps - last, _GROUPS) + 1).astype(np.int64))
        # probabilities rise up to `first` and fall from `last` on: a group has at most its size times its largest one,
        # which is that of its last or its first number
        likeliest = np.concatenate([below[1:] - 1, above[:-1]])
        sizes = np.concatenate([np.diff(below), np.diff(above)])
        if len(sizes) == 0:
            return np.zeros(0), np.zeros(0)
        bounds = binomial_log_masses(likeliest, self.steps, self.q) + log(sizes.astype(np.float64))
        return np.concatenate([below[:-1], above[:-1]]).astype(np.float64), bounds
