"""How often intervals of a mean miss, on each side: Student's, the one that dpexp uses, and the bootstrap-t.

    python -m benchmarks.intervals [--samples 20000] [--bootstraps 1000]

The table of docs/intervals.md is what this prints; everything is fixed by the seed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from dpexp.store.stats import interval, t_quantile

Ends = tuple[np.ndarray, np.ndarray]
LAWS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], np.ndarray], float]] = {
    "normal": (lambda rng, size: rng.standard_normal(size), 0.0),
    "chi-squared, 7 degrees": (lambda rng, size: rng.chisquare(7, size), 7.0),
    "chi-squared, 1 degree": (lambda rng, size: rng.chisquare(1, size), 1.0),
    "lognormal, sigma 1": (lambda rng, size: rng.lognormal(0, 1, size), math.exp(0.5)),
    "lognormal, sigma 1.5": (lambda rng, size: rng.lognormal(0, 1.5, size), math.exp(1.125)),
}
"""laws of a replicate with their means"""
REPLICATES = (10, 16, 64, 200)
LEVELS = (0.95, 1 - 0.05 / 20)
"""of one interval, and of each of twenty that are read together"""


def student(values: np.ndarray, level: float) -> Ends:
    """Student's interval of the mean of values [samples, replicates]."""
    count = values.shape[1]
    mean, se = values.mean(axis=1), values.std(axis=1, ddof=1) / math.sqrt(count)
    reach = t_quantile(count - 1, level) * se
    return mean - reach, mean + reach


def ours(values: np.ndarray, level: float) -> Ends:
    """The interval of `dpexp.store.stats`."""
    return interval(values, level)[1:]


def bootstrap_t(values: np.ndarray, level: float, resamples: int = 500) -> Ends:
    """The bootstrap-t interval, which takes some hundred times as long."""
    rng = np.random.default_rng(7)
    count = values.shape[1]
    low, high = np.empty(len(values)), np.empty(len(values))
    for k, sample in enumerate(values):
        drawn = sample[rng.integers(0, count, (resamples, count))]
        sd = drawn.std(axis=1, ddof=1)
        t = (drawn.mean(axis=1) - sample.mean()) / np.where(sd > 0, sd, np.finfo(float).tiny)
        a, b = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
        low[k], high[k] = sample.mean() - b * sample.std(ddof=1), sample.mean() - a * sample.std(ddof=1)
    return low, high


def misses(ends: Ends, truth: float) -> str:
    """Percent of intervals that end below the truth, and that begin above it."""
    low, high = ends
    return f"{100 * np.mean(high < truth):.2f} / {100 * np.mean(low > truth):.2f}"


def table(samples: int, bootstraps: int) -> str:
    """Markdown: a row for each law and number of replicates."""
    nominal = " ".join(f"{50 * (1 - level):.3g}" for level in LEVELS)
    head = [
        "replicates are",
        "R",
        "Student, 95 %",
        "ours, 95 %",
        "bootstrap-t, 95 %",
        "Student, 99.75 %",
        "ours, 99.75 %",
    ]
    rows = [head, ["---"] * len(head), [f"(each side promises {nominal})", *[""] * (len(head) - 1)]]
    for name, (draw, truth) in LAWS.items():
        for count in REPLICATES:
            values = draw(np.random.default_rng([20261122, count]), (samples, count))
            cells = [misses(rule(values, LEVELS[0]), truth) for rule in (student, ours)]
            cells.append(misses(bootstrap_t(values[:bootstraps], LEVELS[0]), truth))
            cells += [misses(rule(values, LEVELS[1]), truth) for rule in (student, ours)]
            rows.append([name, str(count), *cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--bootstraps", type=int, default=1000)
    asked = parser.parse_args()
    print(table(asked.samples, asked.bootstraps))
