"""The last iterate of linear losses on an unbounded set: a normal law whose mean counts the record's batches.

(a) With others' drift constant, y_T is a sum: P = sum_k P(k uses) N(k d, T), where d is how far the record moves a
step, in noise units, beyond what stands in its place:

    add-remove, Poisson            d = 1 / z against 0                     z = noise over one record's norm
    replace-one, Poisson           d = 1 / z against -1 / z
    replace-one, fixed size        d = 2 / z against 0: all others +, one flipped; and -+ 1 / z among others of 0
    partitions                     the number of uses is that of epochs; in the last, part epoch it is 0 or 1

(b) Statistics of quadratic losses are mixtures too. With y_{t+1} = c y_t + included_t d + N(0, 1), y_0 = 0, a
statistic sum_t a_t y_t is sum_s w_s (included_s d + N_s), with w_s = c^(T-1-s) for the last iterate and
w_s = (1 + c + ... + c^(T-1-s)) / T for the average of y_1 ... y_T. Given the pattern of inclusions it is normal with
variance sum w_s^2 and mean d sum of w_s over the included s.

(c) The likelihood ratio of k -> N(k d, T) mixtures is increasing where no k is negative, so half lines are the best
events: eps(delta) is the largest log((P - delta) / Q) over thresholds.

(d) What is stated must not be above the pair's own loss. A law that is told from is therefore written without its rare
counts, and one that is told against with at least what these can add.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from dpexp.privacy.exact.outcome import Cells
from dpexp.privacy.exact.update import PARTITIONED, Sampling

_LEAST = -105.0
"""log probability of a count below which it is one of a range (d); e^-105 is 2.5e-46"""
_RANGES = 32
"""of rare counts, on either side"""
Statistic = Literal["last-iterate", "average"]
MOST_PATTERNS = 12
"""steps up to which all patterns of random inclusions are listed"""


class Uses(NamedTuple):
    """How often the record is used."""

    counts: np.ndarray
    """[A]"""
    log_p: np.ndarray
    """[A]"""
    rare: np.ndarray = np.empty((0, 3))
    """ranges of all other counts: first, last, and the log of their probability, [B, 3]"""


def uses(sampling: Sampling, q: float, steps: int, batches: int) -> Uses:
    """How often the record is used: counts and log probabilities; in a public order it is in the first batch."""
    # (a): in all steps, once an epoch, or binomial
    if sampling == "full-batch" or q == 1:
        return Uses(np.array([float(steps)]), np.zeros(1))
    if sampling in PARTITIONED:
        epochs, left = divmod(steps, batches)
        if sampling == "cyclic":
            return Uses(np.array([float(epochs + (left > 0))]), np.zeros(1))
        if left == 0:
            return Uses(np.array([float(epochs)]), np.zeros(1))
        return Uses(np.array([epochs, epochs + 1.0]), np.log([1 - left / batches, left / batches]))
    from scipy.special import gammaln

    k = np.arange(steps + 1)
    log_p = gammaln(steps + 1) - gammaln(k + 1) - gammaln(steps - k + 1) + k * math.log(q)
    log_p = log_p + (steps - k) * math.log1p(-q)
    # (d)
    seen = np.flatnonzero(log_p > _LEAST)
    # far out, where the loss is above 100, rare counts are all that a law has there
    sides = [*np.array_split(k[: seen[0]], _RANGES), *np.array_split(k[seen[-1] + 1 :], _RANGES)]
    rare = [(side[0], side[-1], np.logaddexp.reduce(log_p[side])) for side in sides if len(side)]
    return Uses(k[seen].astype(float), log_p[seen], np.array(rare, dtype=float).reshape(-1, 3))


@dataclass(frozen=True)
class LinearLaw:
    """The pair: P has mean `one` times the number of uses, Q `other` times it; both have the `variance`."""

    uses: Uses
    one: float
    other: float
    variance: float
    relative: ClassVar[float] = 1e-12
    """error of the sums of normal probabilities"""

    def _tails(self, shift: float, x: np.ndarray, at_most: bool = False) -> np.ndarray:
        """P(count shift + N(0, variance) > x), [X], or what it is `at_most`."""
        from scipy.special import log_ndtr

        counts, log_p = self.uses.counts, self.uses.log_p
        if at_most:  # (d): a range of counts lies at most at its end on the right
            first, last, log_mass = self.uses.rare.T
            counts, log_p = np.append(counts, last if shift > 0 else first), np.append(log_p, log_mass)
        logs = log_p[:, None] + log_ndtr((shift * counts[:, None] - x) / math.sqrt(self.variance))
        top = logs.max(axis=0)
        return np.asarray(np.exp(top) * np.exp(logs - top).sum(axis=0))

    def _half_lines(self, delta: float, sign: float) -> float:
        """P against Q on half lines: to the right if P lies there (sign 1), of the swapped pair if not (sign -1)."""
        p, q = (self.one, self.other) if sign > 0 else (self.other, self.one)
        # mirrored for the swapped pair, so that its events are right half lines as well
        p, q = sign * p, sign * q
        means = np.array([p, q])[:, None] * self.uses.counts
        sd = math.sqrt(self.variance)
        low, high = float(means.min()) - 2 * sd, float(means.max()) + 9 * sd
        best = -math.inf
        # (c), on 97 thresholds and then between the neighbours of the best: each round is 48 times as fine
        for _ in range(4):
            x = np.linspace(low, high, 97)
            above, held = self._tails(p, x) * (1 - self.relative) - delta, self._tails(q, x, True) * (1 + self.relative)
            with np.errstate(invalid="ignore", divide="ignore"):
                value = np.where(above > 0, np.log(above) - np.log(held + 1e-280), -np.inf)
            k = int(np.argmax(value))
            # any threshold gives a lower bound, which is all that is claimed where steps turn round (c < 0) and sums
            # of w_s have both signs
            best = max(best, float(value[k]))
            low, high = float(x[max(0, k - 1)]), float(x[min(96, k + 1)])
        return max(0.0, best)

    def eps(self, delta: float) -> float:
        """A lower bound of epsilon at delta, both orders."""
        sign = 1.0 if self.one >= self.other else -1.0
        return max(self._half_lines(delta, sign), self._half_lines(delta, -sign))

    @cached_property
    def variation(self) -> float:
        """Total variation distance, about: half lines at a grid of thresholds."""
        means = np.array([self.one, self.other])[:, None] * self.uses.counts
        x = np.linspace(float(means.min()), float(means.max()), 200)
        return float(np.max(np.abs(self._tails(self.one, x) - self._tails(self.other, x))))

    def renyi(self, order: float) -> float:
        """The larger divergence, by the trapezoid rule on densities."""
        sd = math.sqrt(self.variance)
        means = np.array([self.one, self.other])[:, None] * self.uses.counts
        # the tilted law lies up to (order) shifts away
        gap = float(means.max() - means.min())
        x = np.arange(float(means.min()) - 12 * sd - order * gap, float(means.max()) + 12 * sd + order * gap, sd / 12)
        many = len(self.uses.counts)
        if len(x) * many > 4_000_000:
            x = np.linspace(x[0], x[-1], max(2000, 4_000_000 // many))
        # the rule would not have converged, and 0 is below every divergence
        if x[1] - x[0] > sd / 4:
            return 0.0
        # the rule converges geometrically for such mixtures
        step = math.log(x[1] - x[0])
        return max(self._renyi(p, q, x, step, order) for p, q in ((self.one, self.other), (self.other, self.one)))

    def _renyi(self, one: float, other: float, x: np.ndarray, step: float, order: float) -> float:
        """D_order of the law with the shift `one` against the other, from their densities at x; e^step apart."""
        p, q = self._log_density(one, x), self._log_density(other, x, True)
        small = Cells(np.exp(p + step), np.exp(q + step), self.relative).renyi(order)
        if min(p.min(), q.min()) > -600:
            return small
        # densities that underflow: the same sum in logarithms, of which small divergences would keep no digits
        exponents = order * p + (1 - order) * q + step
        top = float(exponents.max())
        value = (top + math.log(float(np.exp(exponents - top).sum()))) / (order - 1)
        return small if value < 1e-6 else max(small, value - 1e-9 * order / (order - 1))

    def _log_density(self, shift: float, x: np.ndarray, at_most: bool = False) -> np.ndarray:
        counts, log_p = self.uses.counts[:, None], self.uses.log_p[:, None]
        logs = log_p - (x - shift * counts) ** 2 / (2 * self.variance)
        if at_most:  # (d): a range of counts has at most the density of the one that lies nearest
            first, last, log_mass = self.uses.rare.T[:, :, None]
            low, high = np.minimum(shift * first, shift * last), np.maximum(shift * first, shift * last)
            away = np.maximum(np.maximum(low - x, x - high), 0.0)
            logs = np.concatenate([logs, log_mass - away**2 / (2 * self.variance)])
        top = logs.max(axis=0)
        total = top + np.log(np.exp(logs - top).sum(axis=0))
        return np.asarray(total - math.log(2 * math.pi * self.variance) / 2)


def linear(
    sampling: Sampling,
    replaced: bool,
    q: float,
    multiplier: float,
    steps: int,
    batches: int = 1,
    flipped: bool = False,
) -> LinearLaw:
    """The pair of a linear loss: `flipped` among others of the same slope (no Poisson), else among others of 0."""
    if flipped and (sampling == "poisson" or not replaced):
        raise ValueError("under Poisson sampling the others' number is random too; without replacement nothing flips")
    # (a), in noise units
    step = 1 / multiplier
    # what is added to both neighbours changes nothing, so that a flipped record is one of 2 / z against 0
    one, other = (2 * step, 0.0) if flipped else (step, -step if replaced else 0.0)
    return LinearLaw(uses(sampling, q, steps, batches), one, other, float(steps))


def weights(statistic: Statistic, contraction: float, steps: int) -> np.ndarray:
    """What one step's noise, or record, contributes: [T]."""
    # (b)
    powers = contraction ** np.arange(steps - 1, -1, -1.0)
    if statistic == "last-iterate":
        return powers
    return np.cumsum(powers[::-1])[::-1] / steps


def patterns(
    sampling: Sampling, w: np.ndarray, q: float, batches: int, position: int = 0
) -> tuple[np.ndarray, np.ndarray] | None:
    """Sums of weights of the included steps and their log probabilities; None where they are too many to list."""
    steps = len(w)
    # (b): a pattern is known by the sum of w over its steps, which is all that the mean depends on
    at = np.arange(steps) % batches
    if sampling == "full-batch" or q == 1:
        return np.array([w.sum()]), np.zeros(1)
    if sampling == "cyclic":
        return np.array([w[at == position].sum()]), np.zeros(1)
    if sampling == "shuffled":
        return np.array([w[at == j].sum() for j in range(batches)]), np.full(batches, -math.log(batches))
    if sampling == "reshuffled" or steps > MOST_PATTERNS:
        return None
    rows = np.array(list(product((0.0, 1.0), repeat=steps)))
    used = rows.sum(axis=1)
    return rows @ w, used * math.log(q) + (steps - used) * math.log1p(-q)


def statistic_law(
    statistic: Statistic,
    sampling: Sampling,
    replaced: bool,
    q: float,
    multiplier: float,
    contraction: float,
    steps: int,
    batches: int = 1,
    position: int = 0,
) -> LinearLaw | None:
    """The pair's law of the statistic: the record moves a step by 1 / multiplier, against the opposite or nothing."""
    w = weights(statistic, contraction, steps)
    listed = patterns(sampling, w, q, batches, position)
    if listed is None:
        return None
    # (c): thresholds are sought from the least mean to the largest
    order = np.argsort(listed[0])
    step = 1 / multiplier
    return LinearLaw(Uses(listed[0][order], listed[1][order]), step, -step if replaced else 0.0, float(w @ w))
