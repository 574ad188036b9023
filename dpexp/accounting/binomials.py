"""Binomial probabilities to full relative accuracy, for up to 10^12 trials, and the sizes of Poisson batches."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.accounting.functions import exp, log, log1p

FLOOR = -60.0  # log probability (1e-26) below which a size is left out, and its probability charged in full
_LOG_FACTORIALS = np.array([math.log(math.factorial(n)) for n in range(17)])


def binomial_log_masses(counts: np.ndarray, trials: int, probability: float) -> np.ndarray:
    """log P(Bin(trials, probability) = counts) for whole 0 <= counts <= trials and 0 < probability < 1; [A] -> [A].

    (a) Loader's form, log P = s(n) - s(k) - s(n - k) - d(k, n p) - d(n - k, n (1 - p)) + log(n / (2 pi k (n - k))) / 2
    with the error s of Stirling's formula and d(x, m) = x log(x / m) + m - x: no difference of large logarithms is
    taken, so that the absolute error stays near 1e-16 |k - n p|. log Gamma would lose 1e-16 n log n.
    (b) It has no value at k = 0 and k = n, where P is a power.
    """
    k = np.asarray(counts, dtype=np.float64)
    if trials == 0:
        return np.zeros(len(k))
    inner = (k > 0) & (k < trials)
    a, b = np.where(inner, k, 1.0), np.where(inner, trials - k, 1.0)
    # (a)
    deviance = _deviance(a, trials * probability) + _deviance(b, trials * (1 - probability))
    stirling = float(_stirling(np.array([float(trials)]))[0]) - _stirling(a) - _stirling(b)
    middle = stirling - deviance + 0.5 * log(trials / (2 * math.pi * a * b))
    # (b)
    ends = np.where(k > 0, trials * math.log(probability), trials * math.log1p(-probability))
    return np.where(inner, middle, ends)


def likely_counts(trials: int, probability: float, floor: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Whole counts [A] whose log probability is at least `floor`, these [A], and a bound on that of all others.

    They lie in one interval. By Bernstein's inequality a count at distance t from the mean has a probability of at most
    exp(-t^2 / (2 (variance + t / 3))), which is below e^floor beyond the reach taken here.
    """
    if trials == 0 or probability == 0:
        return np.zeros(1), np.zeros(1), -math.inf
    if probability == 1:
        return np.array([float(trials)]), np.zeros(1), -math.inf
    mean, variance = trials * probability, trials * probability * (1 - probability)
    # the positive root of t^2 = -2 floor (variance + t / 3)
    reach = -floor / 3 + math.sqrt(floor * floor / 9 - 2 * floor * variance) + 1
    counts = np.arange(math.floor(max(0, mean - reach)), math.ceil(min(trials, mean + reach)) + 1, dtype=np.float64)
    logs = binomial_log_masses(counts, trials, probability)
    likely = logs >= floor
    others = trials + 1 - int(likely.sum())
    return counts[likely], logs[likely], math.log(others) + floor if others else -math.inf


def _deviance(x: np.ndarray, mean: float) -> np.ndarray:
    """x log(x / m) + m - x = m ((1 + u) log(1 + u) - u), u = x / m - 1."""
    u = (x - mean) / mean
    return mean * ((1 + u) * log1p(u) - u)


def _stirling(n: np.ndarray) -> np.ndarray:
    """log n! - (n + 1/2) log n + n - log(2 pi) / 2, n >= 1 whole; the series is exact to 1e-16 from n = 16 on."""
    small = np.minimum(n, 16.0)
    table = _LOG_FACTORIALS[small.astype(np.int64)] - (small + 0.5) * log(small) + small - 0.5 * math.log(2 * math.pi)
    square = 1 / (n * n)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - square / 1188) * square) * square) * square) / n
    return np.asarray(np.where(n < 16, table, series))


class Sizes(NamedTuple):
    """Batch sizes [A], their probabilities [A], and a bound on the probability of all others."""

    counts: np.ndarray
    masses: np.ndarray
    dropped: float


@lru_cache(maxsize=64)
def poisson_sizes(records: int, q: float) -> Sizes:
    """The sizes of Poisson batches from so many records; each other size has a probability below e^FLOOR."""
    counts, logs, log_others = likely_counts(records, q, FLOOR)
    return Sizes(counts, exp(logs), min(1.0, math.exp(log_others)))
