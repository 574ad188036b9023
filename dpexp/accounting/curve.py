"""The attacker's side of a guarantee: error rates of the best test between two neighbours.

A test that says "the record is there" has a false positive rate alpha under one data set and a false negative rate
beta under the other. (a) Epsilon at every delta, in both orders of the neighbours, bounds them (Dong, Roth and Su,
2022, Proposition 2.12): with delta(eps) the profile,
    beta(alpha) >= sup over eps >= 0 of max(0, 1 - delta(eps) - e^eps alpha, e^-eps (1 - delta(eps) - alpha)),
with equality if the profile is exact: the symmetrised trade-off curve, which holds for either order. (b) Further
    advantage = delta(0) = max over tests of TPR - FPR,    TPR at FPR alpha = 1 - beta(alpha),
    Bayes error with prior p = min over tests of p beta + (1 - p) alpha = p' (1 - delta(log((1 - p') / p'))),
p' = min(p, 1 - p). (c) Of a guarantee any pairs (eps, delta) give a valid lower limit of beta.
(d) Of what a pair of neighbours attains the pairs are lower limits of the profile, and beta must not be too small:
between two places eps_1 < eps_2 of the profile delta(eps) >= delta(eps_2), so that beta is at most
max(1 - delta(eps_2) - e^eps_1 alpha, ..) there. The interval with the largest limit is halved until one of its ends is
close to it.
(e) Groups of k records (Theorem 2.14 there): with g(alpha) = 1 - beta(alpha), TPR_k = g(g(..g(alpha))), k times; and
from eps and delta of one record k eps and delta (e^(k eps) - 1) / (e^eps - 1). A mu-GDP guarantee is k mu-GDP for both.
(f) One number for a whole profile is the least mu whose curve is nowhere better (Gomez, Kulynych, Kaissis, Hayes, Balle
and Honkela, 2025, arXiv 2503.10945). Without a floor d the mu of sampled Gaussian steps is always that of no sampling,
sqrt(T) / z: the rarest losses decide. With it delta(eps) <= max(delta_mu(eps), d) for all eps, and beta >= G_mu - d.
(g) Delta is convex in e^eps, so on a cell [eps(d1), eps(d2)] with d1 > d2 it is at most its chord. A mu whose curve is
above the chord covers the cell, and the largest over all cells covers everything above the floor.
(h) The mu with delta_mu(eps(d)) = d is needed at the places themselves: cells that a mu next to the largest of these
does not cover are halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

import numpy as np

from dpexp.accounting.gaussian import delta_of, eps_of, mu_of
from dpexp.accounting.search import Unreachable, eps_of_delta, narrow, solve

Side = Literal["above", "below"]  # of a true value: what is surely too large, or surely too small
LEAST_LOG, FIRST_LOG, CERTAIN = -500.0, -28.0, 36.0
"""places, log delta / (1 - delta), of the least delta that is tried, of the first, and of the last number below 1"""
_NEAR = {"above": 1e-4, "below": 1e-7}
"""how closely a place is computed: of guarantees, which may take a while, and of attained values"""
_START, _HALVINGS = 24, {"above": 14, "below": 300}
"""deltas at which a search begins, and halvings of the way between two of them: of a guarantee any place will do"""
_CLOSE, _CURVE = 2e-4, 3e-3
"""how near a limit of beta is to the profile, relative to the smaller of beta and 1 - beta; and for a curve"""
_NOTHING, _SMALL = 1e-100, 1e-4  # an advantage that is none; and a beta below which it is not resolved by itself
_LOOSE = 1e-4  # a delta from which on it pays to look at what a larger epsilon implies
_CLOSE_MU, _MOST_ROUNDS = 1e-5, 20
"""relative gap between mu and what the same curve certainly needs; and how often cells that need more are halved"""


@dataclass(frozen=True)
class Curve:
    """Epsilon at every delta: of a guarantee rounded up, or of what a pair of neighbours attains rounded down."""

    eps: Callable[[float], float]  # at delta, both orders of the neighbours
    side: Side = "above"
    mu: float | None = None  # Gaussian-DP parameter, where it is one
    rdp: Callable[[float], float] | None = None  # order -> Renyi divergence, where it has one
    direct: Callable[[float], float] | None = None
    """epsilon -> delta, where that is known without a search; rounded like `eps`"""
    misses: Callable[[float, bool], float] | None = None  # `beta`, where more is known of it than epsilon and delta say
    unsampled: float = math.inf
    """mu of a Gaussian mechanism that is never better: of sampled steps that of the same steps on all records"""
    _known: dict[float, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    """epsilon by log delta / (1 - delta), as far as it has been computed"""

    def delta(self, eps: float) -> float:
        """Delta at epsilon >= 0: the least that is guaranteed, or the largest that is known to be attained."""
        if self.mu is not None:
            return delta_of(self.mu, eps)
        if self.direct is not None:
            return self.direct(eps)
        if self.side == "below" or self._at(_logit(_LOOSE)) <= eps:
            return self._inverse(eps)
        # exact profiles imply no more than they say; of others, whose epsilon may never be 0, the best place is taken
        places = [FIRST_LOG * (1 - k / _START) for k in range(_START)]
        implied = min(implied_delta(self._at(x), _delta(x), eps) for x in places)
        return implied if self._at(_logit(implied)) > eps else min(self._inverse(eps), implied)

    def _inverse(self, eps: float) -> float:
        """The delta whose epsilon is `eps`."""
        # the eps of the delta at `high` is at most eps; begin with what is known
        high = min((x for x, at in self._known.items() if at <= eps), default=CERTAIN)
        low = max((x for x, at in self._known.items() if at > eps), default=min(FIRST_LOG, 2 * high))
        if high == CERTAIN and self._at(high) > eps:
            return _delta(high) if self.side == "below" else 1.0
        while low >= LEAST_LOG and self._at(low) <= eps:
            low, high = 2 * low, low
        if low < LEAST_LOG:
            return 0.0 if self.side == "below" else _delta(high)
        ends = narrow(lambda x: self._at(x) <= eps, low, high, absolute=_NEAR[self.side])
        return _delta(ends.below if self.side == "below" else ends.above)

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
        if self.misses is not None:
            return self.misses(alpha, curve)
        if self.advantage < _NOTHING:
            return 1 - alpha

        def limit(low: float, high: float) -> float:
            """(d): delta is at least that of `low`, below which it is unknown, and epsilon that of `high`."""
            return least_misses(alpha, self._at(high), _delta(low))

        # (c) is the largest value of a place, and (d) that of an interval. The places are the same for every alpha, so
        # that most are known already
        top = _logit(self.advantage)
        first = min(FIRST_LOG, 2 * top)
        logs = [*(first + (top - first) * k / _START for k in range(_START)), top]
        none = 1 - self.advantage - alpha  # above the largest epsilon, which is 0
        best = max(0.0, none, *(limit(x, x) for x in logs))
        cells = [*((limit(*ends), *ends) for ends in pairwise([-math.inf, *logs])), (none, top, top)]
        for _ in range(_HALVINGS[self.side]):
            worst = max(cells)
            largest, low, high = worst
            upper = max(best, largest)
            if upper - best <= (_CURVE if curve else _CLOSE) * min(1 - upper, max(best, _SMALL)) or low == high:
                break
            middle = 2 * high if low == -math.inf else (low + high) / 2
            if middle < LEAST_LOG:
                break
            best = max(best, limit(middle, middle))
            cells.remove(worst)
            cells += [(limit(low, middle), low, middle), (limit(middle, high), middle, high)]
        return min(max(best, max(cells)[0]), 1 - alpha) if self.side == "below" else best

    def tpr(self, alpha: float) -> float:
        """The largest true positive rate at that false positive rate."""
        return 1 - self.beta(alpha)

    def of_group(self, size: int) -> Curve:
        """The guarantee for so many records at once."""
        if self.side == "below":
            raise ValueError("what a pair of neighbours attains says nothing of larger groups")
        if size == 1:
            return self
        if self.mu is not None:
            return Curve(partial(eps_of, size * self.mu), mu=size * self.mu)

        def delta(eps: float) -> float:
            # at epsilon 0 the factor is k; e^709 is the last that is a number, and what holds at 700 holds beyond
            eps = min(eps, 700.0)
            each = eps / size
            return min(1.0, self.delta(each) * (math.expm1(eps) / math.expm1(each) if each > 0 else float(size)))

        # it is what the best epsilon implies, (e^eps - 1 + 2 delta) / (e^eps + 1) (Kairouz, Oh and Viswanath); beyond
        # epsilon 4 that is above (e^4 - 1) / (e^4 + 1) = .96 whatever delta is
        advantage = cache(lambda: min(implied_delta(0.1 * k, delta(0.1 * k), 0.0) for k in range(41)))

        def misses(alpha: float, curve: bool) -> float:
            for _ in range(size):  # (e)
                alpha = 1 - self.beta(alpha, curve) if alpha < 1 else 1.0
            return 1 - alpha

        return Curve(partial(eps_of_delta, delta), direct=lambda eps: delta(eps) if eps else advantage(), misses=misses)

    def _at(self, logit: float) -> float:
        """Epsilon there, asked once."""
        if logit not in self._known:
            self._known[logit] = self.eps(_delta(logit))
        return self._known[logit]


def calibrate(curve: Callable[[float], Curve], eps: float, delta: float, tolerance: float = 1e-6) -> float:
    """The least noise, rounded up, with which the curve of a noise is (eps, delta). Raises Unreachable."""
    x = solve(cache(lambda log_noise: curve(math.exp(log_noise)).eps(delta)), eps, tolerance)
    if math.isinf(x):
        raise Unreachable(f"no noise brings epsilon down to {eps:g}")
    return math.exp(x)


def larger(curves: Sequence[Curve]) -> Curve:
    """What holds whichever of some guarantees is the one."""
    return Curve(
        lambda delta: max(curve.eps(delta) for curve in curves),
        direct=lambda eps: max(curve.delta(eps) for curve in curves),
        unsampled=max(curve.unsampled for curve in curves),
    )


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


def largest_eps(p: np.ndarray, log_q: np.ndarray, delta: float) -> float:
    """The largest log((P - delta) / Q) of events [E], which they attain: P rounded down, log Q up; 0 if none."""
    room = p - delta
    above = room > 0
    return max(0.0, float(np.max(np.log(room[above]) - log_q[above]))) if above.any() else 0.0


def implied_delta(eps: float, delta: float, at: float) -> float:
    """What (eps, delta) implies at the epsilon `at`: delta + (e^eps - e^at) (1 - delta) / (1 + e^eps) at a smaller one.

    The test of (eps, delta) with the largest excess (Kairouz, Oh and Viswanath, 2015) has that excess.
    """
    return delta if eps <= at else delta - math.expm1(at - eps) * (1 - delta) / (1 + math.exp(-eps))


def gaussian_beta(mu: float, alpha: float) -> float:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu)."""
    return math.erfc((NormalDist().inv_cdf(alpha) + mu) / math.sqrt(2)) / 2 if 0 < alpha < 1 else 1.0 - alpha


def mu_up_to(profile: Curve, floor: float, close: float = _CLOSE_MU) -> float:
    """The least mu, rounded up, with delta(eps) <= max(delta_mu(eps), floor) for all eps >= 0; inf if none is found.

    Exact where the profile is that of a mu. Else larger, by `close` at most, than what the curve needs somewhere.
    """
    largest_delta = profile.advantage
    if largest_delta <= floor:
        return 0.0
    if profile.mu is not None:
        return profile.mu
    deltas = [largest_delta * (floor / largest_delta) ** (k / 16) for k in range(17)]
    eps = {d: 0.0 if d == largest_delta else profile.eps(d) for d in deltas} if largest_delta < 1 else {1.0: math.inf}
    # a Renyi curve says more of delta at an epsilon than of epsilon at a large delta
    by_eps = profile.rdp is not None and math.isinf(profile.unsampled)
    eps = {largest_delta: 0.0} | {profile.delta(at): at for at in [*eps.values()][1:]} if by_eps else eps
    if not all(map(math.isfinite, eps.values())):  # or (h) at epsilon 0
        return profile.unsampled

    def uncovered(mu: float) -> list[tuple[float, float]]:
        """Cells in which the curve of mu is somewhere below the chord."""
        return [(a, b) for a, b in pairwise(sorted(eps, reverse=True)) if not _is_above(mu, eps[a], a, eps[b], b)]

    needed, new = 0.0, eps
    for _ in range(_MOST_ROUNDS):
        needed = max(needed, *(mu_of(at, d) for d, at in new.items()))  # (h)
        largest = needed * (1 + close)
        cells = uncovered(largest)
        if not cells:
            break
        # the product of two small deltas would be 0
        middles = [(eps[a] + eps[b]) / 2 if by_eps else math.sqrt(a) * math.sqrt(b) for a, b in cells]
        new = {profile.delta(x): x for x in middles} if by_eps else {x: profile.eps(x) for x in middles}
        eps |= new
    else:
        largest = profile.unsampled
    return min(narrow(lambda mu: not uncovered(mu), needed, largest, relative=1e-9).above, profile.unsampled)


def _is_above(mu: float, start: float, high: float, end: float, low: float) -> bool:
    """Whether the curve of mu is nowhere below the chord in e^eps from delta `high` at `start` to `low` at `end`."""
    if mu <= 0 or delta_of(mu, start) < high * (1 - 1e-12) or delta_of(mu, end) < low:
        return False
    width = -math.expm1(start - end)
    # the curve of mu has the slope -Phi(-mu / 2 - eps / mu) in e^eps: it is nearest where that is the chord's
    slope = (high - low) * math.exp(-end) / width if width > 0 else 0.0
    if not 0 < slope < 1:
        return delta_of(mu, end) >= high
    at = min(max(-mu * (mu / 2 + NormalDist().inv_cdf(slope)), start), end)
    share = -math.expm1(start - at) * math.exp(at - end) / width
    return delta_of(mu, at) >= high + share * (low - high)
