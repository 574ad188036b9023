"""Rates of measured curves: log-log slopes with errors from replicates, and whether a slope is a rate or a transient.

Pure functions of steps [K] and values [K, R], by checkpoint and replicate, and of exponents that a theorem states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

RATE_TOLERANCE = 0.15
"""by how much a slope may differ from an exponent, or between two decades, at most: less than half of 1/3, the distance
between the exponents that compete at alpha = 1/3 and 2/3 (`ldp-sgd`, Table 1)"""
AGREEMENT = 0.05
"""by how much a slope may differ from that of a prediction which confirms it"""
FALL = 10.0
"""factor by which an error has fallen before its slope can be asymptotic: less, and it may not have left its start"""
LEVEL = 0.95


class SlopeError(ValueError):
    """A log-log slope that cannot be estimated from these numbers."""


@dataclass(frozen=True)
class Slope:
    """Slope of log mean value on log step over a window of steps, with a 95% interval."""

    slope: float
    se: float
    ci_lo: float
    ci_hi: float
    window: tuple[float, float]


def t_quantile(degrees: int, level: float = LEVEL) -> float:
    """Two-sided Student t quantile; inf without a degree of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2)) if degrees > 0 else math.inf


def loglog_slope(steps: np.ndarray, values: np.ndarray, window: tuple[float, float]) -> Slope:
    """Least-squares slope of log(mean over replicates) on log(step) for window[0] <= step <= window[1].

    `values` [K, R] are positive. Checkpoints of a path are dependent, so the error comes from the covariance of the
    replicates (delta method, t interval). Raises SlopeError for a bad window, fewer than 3 points, fewer than 3
    replicates or a mean that is not positive and finite.
    """
    low, high = window
    inside, count = (steps >= low) & (steps <= high), values.shape[1]
    if not 0 < low < high or inside.sum() < 3:
        raise SlopeError(f"the window {low:g} to {high:g} holds {int(inside.sum())} checkpoints; at least 3 are needed")
    if count < 3:
        raise SlopeError(f"{count} replicates; at least 3 are needed")
    mean = values[inside].mean(axis=1)
    if not np.all(np.isfinite(mean) & (mean > 0)):
        raise SlopeError("a mean in the window is not positive and finite")
    # least squares are linear in the logarithms of the means
    slope, se = log_contrast(slope_weights(np.log(steps[inside].astype(np.float64))), values[inside])
    reach = t_quantile(count - 1) * se
    return Slope(slope, se, slope - reach, slope + reach, (float(low), float(high)))


def slope_weights(x: np.ndarray) -> np.ndarray:
    """Weights [K] with which values at x [K] add up to their least-squares slope."""
    centred = x - x.mean()
    return centred / np.sum(centred**2)


def log_contrast(weights: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Weighted sum of the log means of values [K, R] over replicates, and its standard error by the delta method.

    The rows are paired by replicate: their covariance is that of the replicates.
    """
    mean, count = values.mean(axis=1), values.shape[1]
    # by the derivative of the logarithm, one over the mean
    influence = (weights / mean) @ (values - mean[:, None])
    return float(weights @ np.log(mean)), float(np.sqrt(np.sum(influence**2) / (count * (count - 1))))


def rate_tolerance(exponent: float) -> float:
    """By how much a slope may differ from this exponent: half of it at most, so that a constant reaches no rate."""
    return min(RATE_TOLERANCE, abs(exponent) / 2)


@dataclass(frozen=True)
class Rate:
    """Whether a mean falls like a power of the step: slopes of the last decade and of the one before it, and how much
    they differ; `asymptotic` if theory confirms that a tenfold longer run has the same slope."""

    last: Slope
    before: Slope
    drift: float
    drift_se: float
    asymptotic: bool = False

    @property
    def state(self) -> str:
        """ "asymptotic", "transient" where the decades disagree, or "not known"."""
        if self.asymptotic:
            return "asymptotic"
        return "not known" if self.agrees_within(RATE_TOLERANCE) else "transient"

    def agrees_within(self, tolerance: float) -> bool:
        """Whether the slopes of the two decades differ by no more than this, up to two errors."""
        return abs(self.drift) - 2 * self.drift_se <= tolerance

    def compared(self, exponent: float) -> str:
        """How the rate compares with an exponent, within `rate_tolerance`: "transient" where two decades disagree,
        "reached" where the interval of the last slope is within the tolerance, "faster" or "slower" where it is off by
        more, and "unresolved" where it is too wide."""
        tolerance, last = rate_tolerance(exponent), self.last
        if not self.agrees_within(tolerance):
            return "transient"
        if -tolerance <= last.ci_lo - exponent and last.ci_hi - exponent <= tolerance:
            return "reached"
        if last.ci_hi < exponent and last.slope < exponent - tolerance:
            return "faster"
        return "slower" if last.ci_lo > exponent and last.slope > exponent + tolerance else "unresolved"


def rate(steps: np.ndarray, values: np.ndarray) -> Rate:
    """The rate at which the mean over replicates of values [K, R] falls, from its last two decades of steps. Raises
    SlopeError as `loglog_slope` does."""
    n, weights = float(steps[-1]), np.zeros(len(steps))
    windows = [(n / 10, n), (n / 100, n / 10)]
    last, before = (loglog_slope(steps, values, window) for window in windows)
    # the drift is one contrast of log means, so that its error counts what the two slopes share
    for (low, high), sign in zip(windows, (1, -1), strict=True):
        inside = (steps >= low) & (steps <= high)
        weights[inside] += sign * slope_weights(np.log(steps[inside].astype(np.float64)))
    _, se = log_contrast(weights[weights != 0], values[weights != 0])
    return Rate(last, before, last.slope - before.slope, se)


def is_asymptotic(
    measured: Rate, steps: np.ndarray, mean: np.ndarray, predict: Callable[[np.ndarray], np.ndarray | None]
) -> bool:
    """Whether a measured slope is that of large n.

    The mean [K] has fallen tenfold, and the slopes that theory predicts for the decade of the measurement and for the
    next one both agree with it within 0.05, with a standard error of at most half of that. `predict` gives the
    predicted mean at some steps, or None.
    """
    if not mean[-1] * FALL <= mean[0] or 2 * measured.last.se > AGREEMENT:
        return False
    n = float(steps[-1])
    places = np.unique(np.round(np.geomspace(n / 10, 10 * n, 21)).astype(np.int64))
    values = predict(places)
    if values is None or not np.all(np.isfinite(values) & (values > 0)):
        return False
    parts = places <= n, places >= n
    slopes = [float(slope_weights(np.log(places[p].astype(float))) @ np.log(values[p])) for p in parts]
    return all(abs(slope - measured.last.slope) <= AGREEMENT for slope in slopes)


def local_slopes(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slopes of log mean of values [K, R] on log step over a moving window of a decade: the geometric middles of the
    windows, the slopes and half their 95% intervals."""
    windows = [(float(low), float(low) * 10 * (1 + 1e-9)) for low in steps if low * 10 <= steps[-1] * (1 + 1e-9)]
    fits = [loglog_slope(steps, values, w) for w in windows if np.sum((steps >= w[0]) & (steps <= w[1])) >= 3]
    middles, slopes, ends = zip(*((f.window[0] * math.sqrt(10), f.slope, f.ci_hi) for f in fits), strict=True)
    return np.array(middles), np.array(slopes), np.array(ends) - np.array(slopes)
