"""The last iterate of losses that add up: exact laws of a pair of neighbours, on an unbounded set.

(a) Of linear losses the last iterate is a sum: the T noises add up to N(0, T), in units of one step's noise, and the
record has moved it as often as it was in a batch. So P = sum_k P(k uses) N(k d, T), where d is how far the record moves
a step, beyond what replaces it:

    add-remove                     1 / z against 0                         z = noise over one record's norm
    replace-one                    1 / z against -1 / z
    replace-one, fixed size        2 / z against 0: all others +, one flipped

(b) Of quadratic losses it is a mixture too. With y_{t+1} = c y_t + included_t d + N(0, 1), y_0 = 0, it is sum_s w_s
(included_s d + N_s), w_s = c^(T-1-s): given the pattern of inclusions it is normal with variance sum w_s^2 and mean
d sum of w_s over the included s.

(c) Every half line x > t attains log((P(x > t) - delta) / Q(x > t)). Where no count is negative the likelihood ratio
increases, so that the best event is one of them.
(d) P is written without its rare counts, and Q with at least what these can add: nothing above the pair's own loss is
stated. They decide losses above 100, whose denominator is made of them alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from dpexp.accounting.binomials import binomial_log_masses, likely_counts
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.mixtures import GaussianMixture, renyi_of
from dpexp.accounting.sampling import ONCE_AN_EPOCH, Sampling, Scheme
from dpexp.accounting.search import least

_FLOOR, _GROUPS = -120.0, 64
"""log probability of a number of uses below which it is one of a group, so many on either side"""
_ROUNDING = 1e-11
"""relative error of a probability"""
_LEAST_NOISE = 1e-4
"""deviation of the sum of all noises, in norms of one record, below which epsilon (above 10^7) loses its digits"""
MOST = 1e8
"""variance of the number of uses above which the law is not written down: here it has 3 10^5 atoms"""
MOST_LISTED = 20_000
"""steps up to which Renyi divergences take all numbers of uses"""
Value = Callable[[GaussianMixture, GaussianMixture, float], float]
"""of the half line from a place on, less its value"""


class Uses(NamedTuple):
    """How often the record is used, or the sums of (b), increasing."""

    counts: np.ndarray
    """[A]"""
    log_p: np.ndarray
    """[A]"""
    rare: np.ndarray = np.empty((0, 2))
    """groups of all other counts: the fewest of each, and a bound on the log of its probability, [B, 2]"""


def uses(sampling: Sampling, q: float, steps: int, batches: int = 1) -> Uses:
    """How often the record is used; in a public order it is in the first batch."""
    if sampling == "full-batch" or q == 1:
        return Uses(np.array([float(steps)]), np.zeros(1))
    if sampling in ONCE_AN_EPOCH:
        epochs, rest = divmod(steps, batches)
        if sampling == "cyclic" or rest == 0:
            return Uses(np.array([float(epochs + (rest > 0))]), np.zeros(1))
        return Uses(np.array([epochs, epochs + 1.0]), np.log([1 - rest / batches, rest / batches]))
    counts, logs = likely_counts(steps, q, _FLOOR)
    first, last = int(counts[0]), int(counts[-1])
    below = np.unique(np.linspace(0, first, min(first, _GROUPS) + 1).astype(np.int64))
    above = np.unique(np.linspace(last + 1, steps + 1, min(steps - last, _GROUPS) + 1).astype(np.int64))
    # probabilities rise up to `first` and fall from `last` on: a group has at most its size times its largest one
    likeliest = np.concatenate([below[1:] - 1, above[:-1]])
    if len(likeliest) == 0:
        return Uses(counts, logs)
    sizes = np.concatenate([np.diff(below), np.diff(above)]).astype(np.float64)
    bounds = binomial_log_masses(likeliest, steps, q) + np.log(sizes)
    return Uses(counts, logs, np.stack([np.concatenate([below[:-1], above[:-1]]), bounds], axis=1))


@dataclass(frozen=True, eq=False)
class LinearLaw:
    """The pair: P has mean `one` times the number of uses, Q `other` times it; both have the `variance`."""

    uses: Uses
    one: float
    other: float
    variance: float
    every: Uses | None = None
    """all counts, where `uses` leaves out or groups some"""

    @cached_property
    def _orders(self) -> list[tuple[GaussianMixture, GaussianMixture]]:
        """Both orders, mirrored so that events lie on the right, in deviations; the second law rounded up (d)."""
        unit, counts, (fewest, bounds) = math.sqrt(self.variance), self.uses.counts, self.uses.rare.T
        orders = []
        for p, q in ((self.one, self.other), (self.other, self.one)):
            # of a law that lies to the left the fewest uses of a group have most beyond every place
            sign = 1.0 if p >= q else -1.0
            every = GaussianMixture(
                sign * q / unit * np.concatenate([counts, fewest]), np.concatenate([self.uses.log_p, bounds]), 1.0
            )
            orders.append((GaussianMixture(sign * p / unit * counts, self.uses.log_p, 1.0), every))
        return orders

    def _largest(self, value: Value, before: float, places: int, close: float) -> float:
        """Over half lines of both orders, from so far before all atoms: at some places, then around the best."""
        largest = [0.0]
        for p, q in self._orders:
            # P(x > high) <= delta by the union of its atoms' tails
            low, high = float(min(p.centres.min(), q.centres.min())) - before, float(p.centres.max()) + 9
            negative = partial(value, p, q)
            scan = np.linspace(low, high, places).tolist()
            best = min(range(places), key=[negative(t) for t in scan].__getitem__)
            at = least(negative, scan[max(0, best - 1)], scan[min(places - 1, best + 1)], xatol=close)
            largest.append(-at.value)
        return max(largest)

    def eps(self, delta: float) -> float:
        """The largest epsilon that a half line attains at delta, both orders (c); 0 if none does."""

        def negative(p: GaussianMixture, q: GaussianMixture, t: float) -> float:
            room = math.exp(p.log_above(t)) * (1 - _ROUNDING) - delta
            return q.log_above(t) + _ROUNDING - math.log(room) if room > 0 else 1e6 * (1 + t * t)

        return self._largest(negative, 2, 33, 1e-7) if delta < 1 else 0.0

    def delta(self, eps: float) -> float:
        """The largest P - e^eps Q of a half line, both orders."""

        def negative(p: GaussianMixture, q: GaussianMixture, t: float) -> float:
            log_p = p.log_above(t)
            return math.exp(log_p) * math.expm1(min(q.log_above(t) + eps - log_p, 700.0))

        return self._largest(negative, 9, 97, 1e-9)

    @property
    def variation(self) -> float:
        """Total variation distance."""
        return self.delta(0.0)

    def renyi(self, order: float) -> float:
        """The larger divergence; of all counts, since a large order asks for the rarest ones."""
        every, unit = self.every or self.uses, math.sqrt(self.variance)
        one, other = (GaussianMixture(m / unit * every.counts, every.log_p, 1.0) for m in (self.one, self.other))
        return max(renyi_of(one, other, order), renyi_of(other, one, order)) * (1 - 1e-9)


@lru_cache(maxsize=64)
def linear(
    sampling: Sampling, replaced: bool, q: float, multiplier: float, steps: int, batches: int = 1, flipped: bool = False
) -> LinearLaw:
    """The pair of a linear loss (a): `flipped` among others of the same slope, else among others of 0."""
    if flipped and (sampling == "poisson" or not replaced):
        raise ValueError("under Poisson sampling the others' number is random too; without replacement nothing flips")
    step = 1 / multiplier
    # what is added to both neighbours changes nothing, so that a flipped record is one of 2 / z against 0
    one, other = (2 * step, 0.0) if flipped else (step, -step if replaced else 0.0)
    counted, every = uses(sampling, q, steps, batches), None
    if len(counted.rare) and steps <= MOST_LISTED:
        counts = np.arange(steps + 1.0)
        every = Uses(counts, binomial_log_masses(counts, steps, q))
    return LinearLaw(counted, one, other, float(steps), every)


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
    return linear("fixed-size" if flipped else "poisson", distance == 2, q, multiplier, steps, flipped=flipped).eps


def quadratic(
    sampling: Sampling, replaced: bool, multiplier: float, contraction: float, steps: int, batches: int, position: int
) -> LinearLaw | None:
    """The pair of (b): the record moves a step by 1 / multiplier, against the opposite or nothing.

    None where inclusions are drawn anew, whose patterns are too many to list.
    """
    w, step = contraction ** np.arange(steps - 1, -1, -1.0), 1 / multiplier
    sums = np.array([w[k::batches].sum() for k in range(batches)])
    if sampling in ("full-batch", "cyclic") or batches == 1:
        law = Uses(sums[position : position + 1], np.zeros(1))
    elif sampling == "shuffled":
        law = Uses(np.sort(sums), np.full(batches, -math.log(batches)))
    else:
        return None
    return LinearLaw(law, step, -step if replaced else 0.0, float(w @ w))
