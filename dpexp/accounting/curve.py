"""The attacker's side of a guarantee: error rates of the best test between two neighbours.

A test that says "the record is there" has a false positive rate alpha under one data set and a false negative rate
beta under the other. (a) Epsilon at every delta, in both orders of the neighbours, bounds them (Dong, Roth and Su,
2022, Proposition 2.12): with delta(eps) the profile,

    beta(alpha) >= sup over eps >= 0 of max(0, 1 - delta(eps) - e^eps alpha, e^-eps (1 - delta(eps) - alpha)),

with equality if the profile is exact: the symmetrised trade-off curve, which holds for either order. (b) Further

    advantage = delta(0) = max over tests of TPR - FPR,    TPR at FPR alpha = 1 - beta(alpha),
    Bayes error with prior p = min over tests of p beta + (1 - p) alpha = p' (1 - delta(log((1 - p') / p'))),

p' = min(p, 1 - p).

Rounding. (c) Of a guarantee any pairs (eps, delta) give a valid lower limit of beta.
(d) Of what a pair of neighbours attains the pairs are lower limits of the profile, and beta must not be too small:
between two places eps_1 < eps_2 of the profile delta(eps) >= delta(eps_2), so that beta is at most
max(1 - delta(eps_2) - e^eps_1 alpha, ..) there. The interval with the largest limit is halved until one of its ends is
close to it.

(e) Groups of k records (Theorem 2.14 there): with g(alpha) = 1 - beta(alpha), TPR_k = g(g(..g(alpha))), k times; and
from eps and delta of one record k eps and delta (e^(k eps) - 1) / (e^eps - 1). A mu-GDP guarantee is k mu-GDP for both.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

from dpexp.accounting.gaussian import delta_of, eps_of
from dpexp.accounting.search import narrow

Side = Literal["above", "below"]
"""of a true value: what is surely too large, or surely too small"""
LEAST_LOG, FIRST_LOG, CERTAIN = -500.0, -28.0, 36.0
"""places, log delta / (1 - delta), of the least delta that is asked, of the first, and of the last number below 1"""
_NEAR = {"above": 1e-4, "below": 1e-7}
"""how closely a place is found: of guarantees, some of which take a while, and of attained values"""
_START, _LEVELS = 24, 6
"""deltas at which a search begins, and halvings of the way between two of them"""
_CLOSE, _CURVE = 2e-4, 3e-3
"""how near an upper limit of beta is to the profile, relative to the smaller of beta and 1 - beta; and for a curve"""
_MOST_HALVINGS = 300
_NOTHING, _SMALL = 1e-100, 1e-4
"""an advantage that is none; and a beta below which it is not resolved relative to itself"""
_LOOSE = 1e-4
"""a delta from which on it pays to look at what a larger epsilon implies"""


@dataclass(frozen=True)
class Curve:
    """Epsilon at every delta: of a guarantee rounded up, or of what a pair of neighbours attains rounded down."""

    eps: Callable[[float], float]
    """delta -> epsilon, both orders of the neighbours"""
    side: Side = "above"
    """above: guaranteed, and rounded up; below: attained, and rounded down"""
    mu: float | None = None
    """Gaussian-DP parameter, where it is one"""
    rdp: Callable[[float], float] | None = None
    """order -> Renyi divergence, where it has one"""
    direct: Callable[[float], float] | None = None
    """epsilon -> delta, where that is known without a search; rounded like `eps`"""
    unsampled: float = math.inf
    """mu of a Gaussian mechanism that is never better: of sampled steps that of the same steps on all records"""
    _known: list[tuple[float, float]] = field(default_factory=list, init=False, repr=False, compare=False)
    """(log delta / (1 - delta), epsilon) that have been asked, ordered"""

    def delta(self, eps: float) -> float:
        """Delta at epsilon >= 0: the least that is guaranteed, or the largest that is seen to be attained."""
        if self.mu is not None:
            return delta_of(self.mu, eps)
        if self.direct is not None:
            return self.direct(eps)
        if self.side == "below" or self._at(_logit(_LOOSE)) <= eps:
            return self._inverse(eps)
        # Exact profiles imply no more than they say. Others, such as those of private selection, have an epsilon that
        # never falls to 0, so that they say nothing of the smallest; then the best of some places is taken.
        implied = self._implied(eps)
        return implied if self._at(_logit(implied)) > eps else min(self._inverse(eps), implied)

    def _inverse(self, eps: float) -> float:
        """The delta whose epsilon is `eps`."""
        # the eps of the delta at `high` is at most eps; begin with what is known
        high = min((x for x, at in self._known if at <= eps), default=CERTAIN)
        low = max((x for x, at in self._known if at > eps), default=min(FIRST_LOG, 2 * high))
        if high == CERTAIN and self._at(high) > eps:
            return _delta(high) if self.side == "below" else 1.0
        while low >= LEAST_LOG and self._at(low) <= eps:
            low, high = 2 * low, low
        if low < LEAST_LOG:
            return 0.0 if self.side == "below" else _delta(high)
        ends = narrow(lambda x: self._at(x) <= eps, low, high, absolute=_NEAR[self.side])
        return _delta(ends.below if self.side == "below" else ends.above)

    def _implied(self, eps: float) -> float:
        """The least delta that a larger epsilon guarantees at `eps`, of some places."""

        @cache
        def implied(k: int) -> float:
            if k >= _START:
                return math.inf
            place = FIRST_LOG * (1 - k / _START)
            return implied_delta(self._at(place), _delta(place), eps)

        # any place is valid; what they say has one valley, which Fibonacci's numbers find with seven questions
        before, numbers = -1, (21, 13, 8, 5, 3, 2, 1)
        for longer, shorter in pairwise(numbers):
            if implied(before + longer) < implied(before + shorter):
                before += shorter
        return implied(before + 1)

    @cached_property
    def advantage(self) -> float:
        """The largest TPR - FPR of a test."""
        return self.delta(0.0)

    def bayes_error(self, prior: float) -> float:
        """Least probability of error of a guess whether the record is there, which it is with probability `prior`.

        A guarantee is rounded down, and what is attained up.
        """
        rarer = min(prior, 1 - prior)  # (b)
        return rarer * (1 - self.delta(math.log1p(-rarer) - math.log(rarer))) if rarer > 0 else 0.0

    def beta(self, alpha: float, curve: bool = False) -> float:
        """The least false negative rate at the false positive rate alpha in (0, 1); as finely as a `curve` needs it."""
        if self.mu is not None:
            return gaussian_beta(self.mu, alpha)
        if self.side == "below":
            return self._beta_above(alpha, _CURVE if curve else _CLOSE)
        return self._beta_below(alpha, 3 if curve else _LEVELS)

    def tpr(self, alpha: float) -> float:
        """The largest true positive rate at that false positive rate."""
        return 1 - self.beta(alpha)

    def _at(self, logit: float) -> float:
        """Epsilon there, asked once."""
        k = bisect.bisect_left(self._known, (logit, -1.0))
        if k == len(self._known) or self._known[k][0] != logit:
            self._known.insert(k, (logit, self.eps(_delta(logit))))
        return self._known[k][1]

    def _beta_below(self, alpha: float, levels: int) -> float:
        """A lower limit of beta: the best of some places, each of which is valid, found by halving steps around it."""
        # (c); all places lie on one fine grid, so that most are known from other alphas: some analyses take a while
        top = _logit(max(self.advantage, _NOTHING))
        unit = (min(FIRST_LOG, 2 * top) - top) / _START / 2**_LEVELS

        def value(k: int) -> float:
            x = top + k * unit
            return least_misses(alpha, self._at(x), _delta(x)) if k >= 0 else 0.0

        step = 2**_LEVELS
        best = max(range(0, (_START + 1) * step, step), key=value)
        while best >= _START * step and top + 2 * best * unit > LEAST_LOG and value(2 * best) > value(best):
            best *= 2
        for _ in range(levels):
            step //= 2
            best = max((best, best - step, best + step), key=value)
        return max(0.0, value(best), 1 - self.advantage - alpha)

    def _beta_above(self, alpha: float, close: float) -> float:
        """An upper limit of beta: the interval with the largest one is halved until a place of the profile is near."""
        if self.advantage < _NOTHING:
            return 1 - alpha

        def limit(low: float, high: float) -> float:
            """(d): delta is at least that of `low`, below which nothing is known of it, and epsilon that of `high`."""
            return least_misses(alpha, self._at(high), _delta(low))

        top = _logit(self.advantage)
        # the same places for every alpha, so that most are known already
        first = min(FIRST_LOG, 2 * top)
        logs = [*(first + (top - first) * k / _START for k in range(_START)), top]
        best = max(0.0, *(limit(x, x) for x in logs))
        # (minus the upper limit, smaller place, larger place); above the largest epsilon is 0
        heap = [(-limit(a, b), a, b) for a, b in pairwise([-math.inf, *logs])]
        heap.append((-(1 - self.advantage - alpha), top, top))
        heapq.heapify(heap)
        for _ in range(_MOST_HALVINGS):
            largest, low, high = heap[0]
            upper = max(best, -largest)
            if upper - best <= close * min(1 - upper, max(best, _SMALL)) or low == high:
                break
            middle = 2 * high if low == -math.inf else (low + high) / 2
            if middle < LEAST_LOG:
                break
            best = max(best, limit(middle, middle))
            heapq.heapreplace(heap, (-limit(middle, high), middle, high))
            heapq.heappush(heap, (-limit(low, middle), low, middle))
        return min(max(best, -heap[0][0]), 1 - alpha)


@dataclass(frozen=True)
class Group:
    """A guarantee for several records at once; with one it is the record's own."""

    one: Curve
    size: int

    def __post_init__(self) -> None:
        if self.one.side == "below":
            raise ValueError("what a pair of neighbours attains says nothing of larger groups")

    @cached_property
    def _curve(self) -> Curve:
        mu = None if self.one.mu is None else self.size * self.one.mu
        return Curve(self.eps, mu=mu, direct=self._generic)

    def _generic(self, eps: float) -> float:
        # (e); at epsilon 0 the factor is k; e^709 is the last that is a number, and what holds at 700 holds beyond
        eps = min(eps, 700.0)
        each = eps / self.size
        factor = math.expm1(eps) / math.expm1(each) if each > 0 else float(self.size)
        return min(1.0, self.one.delta(each) * factor)

    def delta(self, eps: float) -> float:
        """Delta at epsilon >= 0, rounded up."""
        return self._curve.delta(eps)

    def eps(self, delta: float) -> float:
        """Epsilon at delta, rounded up by a millionth at most; inf where none is found."""
        if self.one.mu is not None:
            return eps_of(self.size * self.one.mu, delta)
        return eps_of_delta(self.delta, delta, 1e-6)

    @cached_property
    def advantage(self) -> float:
        """(e^eps - 1 + 2 delta) / (e^eps + 1) holds at every epsilon of the group (Kairouz, Oh and Viswanath)."""
        if self.one.mu is not None or self.size == 1:
            return self.delta(0.0)
        # up to epsilon 4: beyond, the limit is above (e^4 - 1) / (e^4 + 1) = .96 whatever delta is
        return min(self.delta(0.0), *(implied_delta(0.1 * k, self.delta(0.1 * k), 0.0) for k in range(1, 41)))

    def bayes_error(self, prior: float) -> float:
        """As for one record."""
        return self._curve.bayes_error(prior)

    def tpr(self, alpha: float) -> float:
        """The largest true positive rate, rounded up."""
        return 1 - self.beta(alpha)

    def beta(self, alpha: float, curve: bool = False) -> float:
        """The least false negative rate, rounded down."""
        if self.one.mu is not None:
            return gaussian_beta(self.size * self.one.mu, alpha)
        # (e): 1 - g(g(..g(alpha)))
        for _ in range(self.size):
            alpha = 1 - self.one.beta(alpha, curve) if alpha < 1 else 1.0
        return 1 - alpha


def eps_of_delta(delta_at: Callable[[float], float], delta: float, tolerance: float = 1e-12) -> float:
    """The smallest epsilon, rounded up, at which a decreasing delta(epsilon) is at most `delta`; inf if none is."""
    if delta_at(0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_at(high) > delta:
        high *= 2
        if high > 1e6:
            return math.inf
    return narrow(lambda eps: delta_at(eps) <= delta, 0.0, high, relative=tolerance).above


def _delta(logit: float) -> float:
    """The delta of a place; its relative accuracy is that of delta, and of 1 - delta as far as numbers go."""
    return 1 / (1 + math.exp(-logit)) if logit > -30 else math.exp(logit)


def _logit(delta: float) -> float:
    return min(CERTAIN, math.log(delta) - math.log1p(-min(delta, 1 - 1e-16)))


def least_misses(alpha: float, eps: float, delta: float) -> float:
    """What one place of the profile says of beta."""
    # e^709 is the last that is a number; for alpha above e^-700 no more than e^-700 is left out
    if eps > 700:
        return 0.0
    # (a)
    return max(0.0, 1 - delta - math.exp(eps) * alpha, math.exp(-eps) * (1 - delta - alpha))


def implied_delta(eps: float, delta: float, at: float) -> float:
    """What (eps, delta) implies at the epsilon `at`: delta + (e^eps - e^at) (1 - delta) / (1 + e^eps) at a smaller one.

    The test of (eps, delta) that tells most (Kairouz, Oh and Viswanath, 2015) has that excess.
    """
    return delta if eps <= at else delta - math.expm1(at - eps) * (1 - delta) / (1 + math.exp(-eps))


def gaussian_beta(mu: float, alpha: float) -> float:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu)."""
    if not 0 < alpha < 1:
        return 1.0 - alpha
    return math.erfc((NormalDist().inv_cdf(alpha) + mu) / math.sqrt(2)) / 2
