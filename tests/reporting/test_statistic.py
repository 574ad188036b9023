"""Medians and quantiles of replicates: numpy's where all are finite, and infinite where half have diverged."""

import numpy as np
from scipy.stats import binom

from dpexp.reporting.results.lines import ordered


def test_the_median_is_that_of_numpy_and_its_interval_covers_by_the_binomial_law():
    values = np.random.default_rng(1).lognormal(0, 2, (3, 20))
    middle, low, high = ordered(values, "median")
    assert np.array_equal(middle, np.median(values, axis=1))
    ranks = [[int(np.sum(row < end)) for end in ends] for row, *ends in zip(values, low, high, strict=True)]
    assert all(below == ranks[0][0] and above == ranks[0][1] for below, above in ranks)
    below, above = ranks[0]
    # the median lies between X_(l) and X_(u) when from l to u - 1 of 20 values are below it
    coverage = binom.cdf(above, 20, 0.5) - binom.cdf(below, 20, 0.5)
    assert 0.95 <= coverage < 0.97
    _, low, high = ordered(values, "quantiles")
    assert np.array_equal(low, np.quantile(values, 0.05, axis=1, method="inverted_cdf"))
    assert np.array_equal(high, np.quantile(values, 0.95, axis=1, method="inverted_cdf"))


def test_diverged_replicates_are_infinite_and_few_replicates_have_no_interval():
    values = np.array([[1.0, np.nan, 2.0, 3.0, np.inf]])
    assert ordered(values, "median")[0] == 3.0
    assert ordered(np.array([[1.0, np.nan]]), "median")[0] == np.inf
    assert ordered(values, "median")[1:] == (-np.inf, np.inf)
