"""The last iterate of losses that add up: exact laws of a pair of neighbours, on an unbounded set.

(a) Of linear losses the last iterate is a sum: the T noises add up to N(0, T), in units of one step's noise, and the
record has moved it as often as it was in a batch. So P = sum_k P(k uses) N(k d, T), where d is how far the record moves
a step, beyond what replaces it, with z the noise over one record's norm: 1 / z against 0 (add-remove), 1 / z against
-1 / z (replace-one), 2 / z against 0 (replace-one, fixed size: all others +, one flipped).
(b) Of quadratic losses it is a mixture too. With y_{t+1} = c y_t + included_t d + N(0, 1), y_0 = 0, it is sum_s w_s
(included_s d + N_s), w_s = c^(T-1-s): given the pattern of inclusions it is normal with variance sum w_s^2 and mean
d sum of w_s over the included s.
(c) Every half line x > t attains log((P(x > t) - delta) / Q(x > t)). Where no count is negative the likelihood ratio
increases, so that the best event is one of them.
(d) Of many counts those with a probability below e^-700 are left out of P, and their sum, at most T e^-700, is added to
Q(x > t).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from dpexp.accounting.binomials import likely_counts
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.mixtures import GaussianMixture, renyi_of
from dpexp.accounting.pairs import ONCE_AN_EPOCH, Sampling, Scheme
from dpexp.accounting.search import minimum

_FLOOR = -700.0  # log probability of a number of uses below which it is left out
_ROUNDING = 1e-11  # relative error of a probability
_LEAST_NOISE = 1e-4
"""deviation of the sum of all noises, in norms of one record, below which epsilon (above 10^7) loses its digits"""
MOST, MOST_LISTED = 1e8, 6000
"""variance of the number of uses above which the law is not written down, here it has 7 10^5 atoms; and steps below
which every count is an atom"""


@dataclass(frozen=True, eq=False)
class LinearLaw:
    """The pair: P has mean `present` times the number of uses, Q `absent` times it; both have the `variance`."""

    counts: np.ndarray  # how often the record is used, or the sums of (b), increasing, [A]
    log_p: np.ndarray  # [A]
    present: float
    absent: float
    variance: float
    log_lost: float = -math.inf  # bound on the log of the probability of other counts

    @cached_property
    def orders(self) -> list[tuple[GaussianMixture, GaussianMixture]]:
        """P and Q, in deviations, and the exchanged pair mirrored, so that events lie on the right."""
        unit = self.counts / math.sqrt(self.variance)
        p, q = (GaussianMixture(mean * unit, self.log_p, 1.0) for mean in (self.present, self.absent))
        return [(p, q), (q.mirrored, p.mirrored)]

    def _largest(self, value: Callable[..., float]) -> float:
        """Over half lines of both orders: at some places, then around the best one, where `value` of log P, log Q and
        the place is least."""
        largest = 0.0
        for order, scan in enumerate(self._scans):
            best = min(range(len(scan)), key=[value(*at) for at in scan].__getitem__)
            ends = scan[max(0, best - 1)][2], scan[min(len(scan) - 1, best + 1)][2]
            least = minimum(lambda t: value(*self._at(order, t)), *ends, xatol=1e-7)  # noqa: B023  # called at once
            largest = max(largest, -least)
        return largest

    @cached_property
    def _scans(self) -> list[list[tuple[float, float, float]]]:
        """Of both orders at places that are the same whatever is asked."""
        # P(x > high) <= delta by the union of its atoms' tails
        ends = [(min(p.centres.min(), q.centres.min()) - 2, p.centres.max() + 9) for p, q in self.orders]
        return [[self._at(order, t) for t in np.linspace(*ends[order], 33).tolist()] for order in (0, 1)]

    def _at(self, order: int, t: float) -> tuple[float, float, float]:
        """log P(x > t), log Q(x > t) and t."""
        p, q = self.orders[order]
        return p.log_above(t), float(np.logaddexp(q.log_above(t), self.log_lost)), t

    def eps(self, delta: float) -> float:
        """The largest epsilon that a half line attains at delta, both orders (c); 0 if none does."""

        def negative(log_p: float, log_q: float, t: float) -> float:
            room = math.exp(log_p) * (1 - _ROUNDING) - delta
            return log_q + _ROUNDING - math.log(room) if room > 0 else 1e6 * (1 + t * t)

        return self._largest(negative) if delta < 1 else 0.0

    def delta(self, eps: float) -> float:
        """The largest P - e^eps Q of a half line, both orders."""
        return self._largest(lambda p, q, _: math.exp(p) * math.expm1(min(q + eps - p, 700.0)))

    @property
    def variation(self) -> float:
        """Total variation distance."""
        return self.delta(0.0)

    def renyi(self, order: float) -> float:
        """The larger divergence; 0 where counts are left out, since a large order asks for the rarest ones."""
        if math.isfinite(self.log_lost):
            return 0.0
        return max(renyi_of(*pair, order) for pair in self.orders) * (1 - 1e-9)


def uses(sampling: Sampling, q: float, steps: int, batches: int, floor: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Counts [A] of how often the record is used, of many those from a floor on; log probabilities, and of all others.

    In a public order it is in the first batch.
    """
    if sampling == "full-batch" or q == 1:
        return np.array([float(steps)]), np.zeros(1), -math.inf
    if sampling not in ONCE_AN_EPOCH:
        return likely_counts(steps, q, -math.inf if steps < MOST_LISTED else floor)
    epochs, rest = divmod(steps, batches)
    if sampling == "cyclic" or rest == 0:
        return np.array([float(epochs + (rest > 0))]), np.zeros(1), -math.inf
    return np.array([epochs, epochs + 1.0]), np.log([1 - rest / batches, rest / batches]), -math.inf


@lru_cache(maxsize=64)
def linear(
    sampling: Sampling, replaced: bool, q: float, multiplier: float, steps: int, batches: int = 1,
    flipped: bool = False, floor: float = _FLOOR,
) -> LinearLaw:  # fmt: skip
    """The pair of a linear loss (a): `flipped` among others of the same slope, else among others of 0."""
    if flipped and (sampling == "poisson" or not replaced):
        raise ValueError("under Poisson sampling the others' number is random too; without replacement nothing flips")
    step = 1 / multiplier
    # what is added to both neighbours changes nothing, so that a flipped record is one of 2 / z against 0
    present, absent = (2 * step, 0.0) if flipped else (step, -step if replaced else 0.0)
    counts, logs, log_lost = uses(sampling, q, steps, batches, floor)
    return LinearLaw(counts, logs, present, absent, float(steps), log_lost)


def eps_of_scheme(q: float, multiplier: float, steps: int, scheme: Scheme) -> Callable[[float], float] | None:
    """Epsilon at delta of the pair of a scheme; None where there are too many atoms, or rounding drowns the noise."""
    distance = 1.0 if scheme == "add-remove" else 2.0
    if steps == 0 or q in (0, 1) or multiplier in (0, math.inf):
        # a record that is never met, or in every batch: two normal laws
        released = q > 0 and steps > 0 and multiplier < math.inf
        mu = 0.0 if not released else math.sqrt(steps) * distance / multiplier if multiplier else math.inf
        return partial(eps_of, mu)
    if steps * q * (1 - q) > MOST or math.sqrt(steps) * multiplier < _LEAST_NOISE:
        return None
    flipped = scheme == "fixed-size"
    sampling: Sampling = "fixed-size" if flipped else "poisson"
    law = partial(linear, sampling, distance == 2, q, multiplier, steps, flipped=flipped)

    def eps(delta: float) -> float:
        value = law().eps(delta)
        # rarer counts decide losses that are as large as the floor
        return value if value < -_FLOOR - 100 else law(floor=30 * _FLOOR).eps(delta)

    return eps


def quadratic(
    sampling: Sampling, replaced: bool, multiplier: float, contraction: float, steps: int, batches: int, position: int
) -> LinearLaw | None:
    """The pair of (b): the record moves a step by 1 / multiplier, against the opposite or nothing.

    None where inclusions are drawn anew, whose patterns are too many to list.
    """
    w, step = contraction ** np.arange(steps - 1, -1, -1.0), 1 / multiplier
    sums = np.array([w[k::batches].sum() for k in range(batches)])
    if sampling in ("full-batch", "cyclic") or batches == 1:
        counts, logs = sums[position : position + 1], np.zeros(1)
    elif sampling == "shuffled":
        counts, logs = np.sort(sums), np.full(batches, -math.log(batches))
    else:
        return None
    return LinearLaw(counts, logs, step, -step if replaced else 0.0, float(w @ w))
