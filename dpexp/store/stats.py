"""Statistics over replicates: summaries with intervals, and paired differences.

Nothing is taken over survivors: a mean over a diverged replicate is inf or nan, and a quantile counts it as +inf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

CI_NAME = "95% Student t interval of the mean"
CI_LEVEL = 0.95
COLUMNS = ("n", "n_diverged", "mean", "sd", "se", "median", "q05", "q25", "q75", "q95", "ci_lo", "ci_hi")


def t_quantile(degrees: int, level: float = CI_LEVEL) -> float:
    """Two-sided Student t quantile; inf without a degree of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2)) if degrees > 0 else math.inf


def mean_and_reach(values: np.ndarray, level: float = CI_LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """Mean over replicates, the last axis of values [..., R], and half its Student t interval; each [...]."""
    count = values.shape[-1]
    return values.mean(axis=-1), t_quantile(count - 1, level) * values.std(axis=-1, ddof=1) / math.sqrt(count)


def summarise(values: np.ndarray, diverged: np.ndarray) -> dict[str, np.ndarray]:
    """Summaries over the last axis (replicates) of values [..., R], with diverged bool of the same shape; each [...].

    `ci_lo, ci_hi` is `CI_NAME`, from the mean and its standard error; for skewed quantities it is asymptotic.
    """
    count = values.shape[-1]
    finite = np.isfinite(values)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = values.mean(axis=-1)
        deviation = values - mean[..., None]
        squares = np.sum(deviation * deviation, axis=-1)
        sd = np.sqrt(squares / (count - 1)) if count > 1 else np.full(mean.shape, math.nan)
        se = sd / math.sqrt(count)
        half = t_quantile(count - 1) * se
        ordered = np.sort(np.where(finite, values, math.inf), axis=-1)
        quantiles = {name: _quantile(ordered, q) for name, q in _QUANTILES.items()}
        return {
            "n": np.full(mean.shape, count),
            "n_diverged": diverged.sum(axis=-1),
            "mean": mean,
            "sd": sd,
            "se": se,
            **quantiles,
            "ci_lo": mean - half,
            "ci_hi": mean + half,
        }


_QUANTILES = {"median": 0.5, "q05": 0.05, "q25": 0.25, "q75": 0.75, "q95": 0.95}


def _quantile(ordered: np.ndarray, q: float) -> np.ndarray:
    """Linear interpolation between order statistics along the last axis; +inf where one of the two is."""
    place = q * (ordered.shape[-1] - 1)
    low = math.floor(place)
    part = place - low
    if part == 0:
        return ordered[..., low]
    return np.where(
        np.isinf(ordered[..., low + 1]), math.inf, (1 - part) * ordered[..., low] + part * ordered[..., low + 1]
    )


@dataclass(frozen=True)
class Difference:
    """A mean difference of paired values, and the ratio of the means, with intervals (95% unless asked otherwise)."""

    difference: float
    se: float
    ci_lo: float
    ci_hi: float
    ratio: float
    ratio_lo: float
    ratio_hi: float
    n: int


def paired_difference(a: np.ndarray, b: np.ndarray, level: float = CI_LEVEL) -> Difference:
    """Mean of a - b over replicates [R] run on common random numbers, and mean a / mean b by the delta method.

    Intervals have the given level: 1 - 0.05 / k where k comparisons are read together (Bonferroni). Raises ValueError
    where the shapes differ or there are fewer than two replicates.
    """
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise ValueError("two equally long vectors of at least 2 replicates are needed")
    n = len(a)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        d = a - b
        se = float(d.std(ddof=1) / math.sqrt(n))
        half = t_quantile(n - 1, level) * se
        mean_a, mean_b = float(a.mean()), float(b.mean())
        ratio = mean_a / mean_b if mean_b else math.nan
        ratio_se = float(np.std(a - ratio * b, ddof=1) / math.sqrt(n) / abs(mean_b)) if mean_b else math.nan
        reach = t_quantile(n - 1, level) * ratio_se
        middle = float(d.mean())
    return Difference(middle, se, middle - half, middle + half, ratio, ratio - reach, ratio + reach, n)
