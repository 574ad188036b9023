"""Composition by a Fourier transform without a tilt: below the truth at delta <= 1e-10, kept so that the judge refutes it.

A transform rounds every cell by about 1e-16 of the largest, which says nothing of cells that are smaller than that: here
they count as empty, and what they hold in truth is missing from every delta. Left as they come, with negative ones set to
zero, the value is above the truth or below it by chance: at (q, noise, steps, delta) = (0.01, 1, 1000, 1e-14), from 2% below
to 14% above, with the length of the transform and the release of the library. That one would be refuted by luck alone.

A step is its hockey-stick curve, and T steps are the T-fold convolution of the loss it describes. The curve is replaced
by its chords on a grid of e^eps, which are never below it (connect-the-dots; Doroshenko et al., 2022).
Batches of fixed size, whose pair dp_accounting lacks, are one more curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Literal

import numpy as np

Curve = Callable[[np.ndarray], np.ndarray]
"""eps -> delta"""
Scheme = Literal["add-remove", "replace-one", "fixed-size"]
_TAIL = 1e-15
"""mass that may lie outside the window; it is added to every delta"""
_ROUNDING = 1e-14
"""mass of a cell below which it counts as empty: a hundred times the rounding of a transform, so that no library decides"""
_FINEST, _COARSEST = 1e-10, 5e-3
_LARGEST = 600.0
"""loss up to which e^loss is a number"""
_MOST_CELLS, _MOST_STEP_CELLS = 1 << 22, 20_000


class Composed:
    """A composed loss: its law on first + interval * k, and the mass that is never bounded."""

    def __init__(self, first: float, interval: float, masses: np.ndarray, unbounded: float) -> None:
        self.interval, self.unbounded = interval, unbounded
        skipped = min(max(0, math.floor(-first / interval)), len(masses) - 1)
        self.first = first + interval * skipped  # losses below 0 are not needed for epsilon >= 0
        masses = masses[skipped:]
        self._above = np.cumsum(masses[::-1])[::-1]
        self._scaled = _discounted(masses, interval)
        self._deltas = unbounded + self._above - self._scaled

    def delta(self, eps: float) -> float:
        """sum of masses (1 - e^(eps - loss))_+ and the unbounded mass."""
        k = max(0, math.ceil((eps - self.first) / self.interval))
        if k >= len(self._above):
            return self.unbounded
        discount = math.exp(eps - (self.first + self.interval * k))
        return float(self.unbounded + self._above[k] - discount * self._scaled[k])

    def eps(self, delta: float) -> float:
        """The smallest epsilon >= 0 with delta(epsilon) <= delta; inf if there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        if self.unbounded >= delta:
            return math.inf
        k = int(np.searchsorted(-self._deltas, -delta))  # the first grid point at which delta is met
        if k >= len(self._above):
            return float(self.first + self.interval * len(self._above))
        room = max(self.unbounded + float(self._above[k]) - delta, 1e-300) / float(self._scaled[k])
        return max(0.0, (self.first + self.interval * k + math.log(room)) * (1 + 1e-12))


def _discounted(masses: np.ndarray, interval: float) -> np.ndarray:
    """sum over j >= k of masses[j] e^(-interval (j - k)), in blocks that do not underflow."""
    out, carried = np.empty(len(masses)), 0.0
    block = max(1, int(300 / interval))
    for stop in range(len(masses), 0, -block):
        start = max(0, stop - block)
        ahead = np.exp(-interval * np.arange(stop - start))
        sums = np.cumsum((masses[start:stop] * ahead)[::-1])[::-1]
        out[start:stop] = (sums + carried * ahead[-1] * math.exp(-interval)) / ahead
        carried = out[start]
    return out


def grid(spread: float, top: float, steps: int) -> float:
    """Interval of losses for a sum of so many steps, of root mean square deviation `spread` and losses up to `top`."""
    # cells a standard deviation: 40 inflate epsilon by about 0.01%, 15 by 0.06%, 4 (10^9 steps) by 1%
    cells = 40 if steps <= 10_000 else max(4.0, 15 * min(1.0, math.sqrt(1e8 / steps)))
    return max(min(max(spread / cells, _FINEST), _COARSEST), top / _MOST_STEP_CELLS)


class StepLoss:
    """One step, composed on demand; `multiplier` is noise over the distance that one record can move its mean.

    With `replace-one` (Poisson sampling) that distance is one record's norm, and the two means lie on opposite sides;
    with `fixed-size` it is the distance between the means of neighbours. Raises ValueError for other noise or q.
    """

    def __init__(self, q: float, multiplier: float, scheme: Scheme) -> None:
        if not (0 < q <= 1 and 0 < multiplier < math.inf):
            raise ValueError(f"need 0 < q <= 1 and a finite positive noise, not {q} and {multiplier}")
        self.q, self.mu, self.scheme = float(q), 1 / float(multiplier), scheme

    @cached_property
    def curves(self) -> list[tuple[Curve, Curve]]:
        """Curves at eps >= 0, each with that of the exchanged pair."""
        from dpexp.privacy.accounting import hockey_sticks as curves

        kinds = {
            "add-remove": (curves.removing, curves.adding),
            "replace-one": (curves.opposite,),
            "fixed-size": (curves.symmetrised,),
        }[self.scheme]
        found = [partial(kind, q=self.q, mu=self.mu) for kind in kinds]
        return list(zip(found, found[::-1], strict=True))

    @cached_property
    def spread(self) -> float:
        """Deviation of the bulk of one step's loss: that of a normal law of equal total variation."""
        at = np.zeros(1)
        return math.sqrt(2 * math.pi) * max(float(curve(at)[0]) for curve, _ in self.curves)

    @lru_cache(maxsize=12)  # noqa: B019
    def composed(self, steps: int) -> tuple[Composed, ...]:
        """The loss of so many steps, for every order of the neighbours that matters."""
        interval = self.interval(steps)
        return tuple(summed([(discretised(*pair, self.top, interval), steps)], interval) for pair in self.curves)

    def interval(self, steps: int) -> float:
        """Grid of the losses, for so many steps in all."""
        return grid(self.spread, self.top, steps)

    @property
    def top(self) -> float:
        """Loss beyond which the step's mass is below 1e-23."""
        z = self.mu + 10.0 if self.scheme != "fixed-size" else self.mu / 2 + 10.0
        exponent = math.log(self.q) + self.mu * z
        away = math.log1p(-self.q) if self.q < 1 else -math.inf
        return float(np.logaddexp(away, exponent)) + (self.mu * z if self.q == 1 else -away)

    @property
    def bounded(self) -> bool:
        """Whether the losses that matter can be written down: with less noise no bound is given."""
        return self.top < _LARGEST

    def eps(self, steps: int, delta: float) -> float:
        """Epsilon of `steps` steps, rounded up; inf below the floor of about 1e-15 a step in delta."""
        if delta >= 1 or not self.bounded:
            return 0.0 if delta >= 1 else math.inf
        return max(law.eps(delta) for law in self.composed(steps))

    def delta(self, steps: int, eps: float) -> float:
        """Delta of `steps` steps at epsilon >= 0, rounded up."""
        return 1.0 if not self.bounded else min(1.0, max(law.delta(eps) for law in self.composed(steps)) * (1 + 1e-12))


@lru_cache(maxsize=16)
def step_loss(q: float, multiplier: float, scheme: Scheme) -> StepLoss:
    """A step that is shared by all who ask for it, so that it is composed once."""
    return StepLoss(q, multiplier, scheme)


def discretised(curve: Curve, exchanged: Curve, top: float, interval: float) -> Discrete:
    """First loss, masses and unbounded mass of the law whose curve is the chords' (in e^eps) of the given one.

    Masses are second differences of the curve over its least value (1 - e^eps)_+, which is e^eps times the exchanged
    pair's at -eps < 0: so the mass of far losses keeps its relative accuracy, and nothing grows over 10^9 steps.
    """
    count = max(2, math.ceil(top / interval))
    eps = interval * np.arange(count + 1)
    above = np.minimum.accumulate(np.clip(curve(eps), 0.0, 1.0))
    below = np.exp(-eps[1:]) * np.minimum.accumulate(np.clip(exchanged(eps[1:]), 0.0, 1.0))
    excess = np.concatenate([below[::-1], above])
    falls = -np.diff(excess)
    masses = np.concatenate([[-excess[0]], falls / -math.expm1(-interval)])
    masses[:-1] -= falls / math.expm1(interval)
    masses[count] += 1.0
    return -float(eps[-1]), np.maximum(masses, 0.0), float(above[-1])


Discrete = tuple[float, np.ndarray, float]
"""first loss, masses on it and on the multiples of the interval above, mass that is never bounded"""


def summed(parts: Sequence[tuple[Discrete, int]], interval: float) -> Composed:
    """The law of a sum of independent losses, each so many times, by Fourier transforms on a window.

    The window misses at most `_TAIL`.
    """
    from scipy import fft

    lost = -math.expm1(sum(count * math.log1p(-min(unbounded, 1 - 1e-16)) for (_, _, unbounded), count in parts))
    steps = sum(count for _, count in parts)
    first = sum(count * start for (start, _, _), count in parts)
    if steps == 1:
        return Composed(first, interval, parts[0][0][1], parts[0][0][2])
    low, high = _window([(masses, count) for (_, masses, _), count in parts])
    widest = max(len(masses) for (_, masses, _), _ in parts)
    count = max(widest, high - low + 1)
    if count > _MOST_CELLS:
        return Composed(0.0, interval, np.zeros(1), 1.0)
    size = fft.next_fast_len(count, real=True)
    spectrum = math.prod(fft.rfft(masses, size) ** times for (_, masses, _), times in parts)
    law = np.roll(fft.irfft(spectrum, size), -low)[: high - low + 1]
    law = np.where(law < _ROUNDING, 0.0, law)
    return Composed(first + interval * low, interval, law, min(1.0, lost + _TAIL))


@dataclass(frozen=True)
class _Law:
    """Cells of one part, counted from its mean, with their masses, and how many times it is summed."""

    away: np.ndarray
    masses: np.ndarray
    count: int

    def log_moments(self, rates: np.ndarray) -> np.ndarray:
        """Logarithm of the mean of e^(rate * away), times the count, for each rate."""
        out = np.empty(len(rates))
        log_masses = np.log(self.masses)
        for k, rate in enumerate(rates):
            exponents = rate * self.away
            exponents += log_masses
            peak = exponents.max()
            exponents -= peak
            out[k] = peak + math.log(np.exp(exponents, out=exponents).sum())
        return self.count * out

    def coarse(self) -> _Law:
        """About the same law on a few hundred cells."""
        starts = np.arange(0, len(self.masses), 1 + len(self.masses) // 300)
        masses = np.add.reduceat(self.masses, starts)
        return _Law(np.add.reduceat(self.away * self.masses, starts) / masses, masses, self.count)


def _window(parts: Sequence[tuple[np.ndarray, int]]) -> tuple[int, int]:
    """Cells of the sum, counted from its least, outside of which Chernoff's bound leaves at most half of `_TAIL`."""
    laws, centre, variance = [], 0.0, 0.0
    for masses, count in parts:
        cells = np.flatnonzero(masses).astype(np.float64)
        kept = masses[masses > 0]
        mean = float(kept @ cells)
        laws.append(_Law(cells - mean, kept, count))
        centre += count * mean
        variance += count * float(kept @ (cells - mean) ** 2)
    rates = np.geomspace(1e-3, 30, 28) / math.sqrt(max(variance, 1e-12))  # small ones for heavy tails
    room = math.log(2 / _TAIL)
    coarse = [law.coarse() for law in laws]
    ends = []
    for sign in (-1.0, 1.0):
        # any rate is valid: which is best can be read off roughly
        about = (sum(law.log_moments(sign * rates) for law in coarse) + room) / rates
        best = rates[[np.argmin(about)]]
        ends.append(centre + sign * float(((sum(law.log_moments(sign * best) for law in laws) + room) / best)[0]))
    most = sum(count * (len(masses) - 1) for masses, count in parts)
    return max(0, math.floor(ends[0])), min(most, math.ceil(ends[1]))
