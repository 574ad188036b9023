"""The linear-loss law against values of a second program, high precision, and a literal sum over visits."""

import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from dpexp.accounting.binomials import binomial_log_masses, likely_counts
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.linear import eps_of_scheme, linear, uses
from tests.conftest import share
from tests.oracles.linear_losses import GOLDEN, full

SCHEMES = ("add-remove", "replace-one", "fixed-size")


def law_of(q, z, steps, scheme):
    flipped = scheme == "fixed-size"
    return linear("fixed-size" if flipped else "poisson", scheme != "add-remove", q, z, steps, flipped=flipped)


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: str(row[0]))
def test_golden_epsilons(row):
    setting, *wanted = row
    for scheme, values in zip(SCHEMES, wanted, strict=True):
        found = [eps_of_scheme(*setting, scheme)(delta) for delta in (1e-3, 1e-5, 1e-8)]
        assert found == pytest.approx(values, abs=1e-6)


def test_golden_deltas_and_divergences():
    wanted = (1.895310e-4, 2.274068e-1, 6.076643e-2, 1.714816e-1)
    orders = (0.101053, 1.62809, 0.625171, 1.27924)
    for (setting, *_), delta, second in zip(GOLDEN, wanted, orders, strict=True):
        assert law_of(*setting, "add-remove").delta(1.0) == pytest.approx(delta, rel=4e-7)
        assert law_of(*setting, "add-remove").renyi(2.0) == pytest.approx(second, rel=4e-6)
    for eps, delta in ((0, 0.09933664615), (0.1, 0.06063161041), (0.5, 0.00308180021), (1, 6.217731453e-6)):
        assert law_of(0.1, 4.0, 100, "add-remove").delta(eps) == pytest.approx(delta, rel=1e-9)


LARGE = [(0.5, 1.0, 2280), (0.5, 0.147, 1000), (0.3, 0.5, 3000), (0.9, 1.0, 2000), (0.05, 0.3, 3000)]


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "scheme"), share(itertools.product(LARGE, SCHEMES), 7))
def test_large_losses_count_the_rarest_numbers_of_visits(setting, scheme):
    """Beyond epsilon 100, those with a probability below e^-120 decide how little the other data set has there."""
    for delta in (1e-5, 1e-10):
        found, wanted = law_of(*setting, scheme).eps(delta), full(*setting, scheme, delta)
        assert found <= wanted * (1 + 1e-7)  # the search of `full` loses so much
        assert found >= wanted * 0.985
        law = law_of(*setting, scheme)
        assert law.delta(found) == pytest.approx(delta, rel=1e-3)


def test_a_renyi_divergence_asks_for_the_rarest_numbers_of_visits():
    """Order 2 in 50 digits: sum over k and l of P(k) P(l) e^(k l / (T z^2)), of which the largest k and l are nearly all."""
    q, z, steps = 0.01, 0.1, 100
    with mpmath.workdps(50):
        p = mpmath.mpf(q)
        mass = [mpmath.binomial(steps, k) * p**k * (1 - p) ** (steps - k) for k in range(steps + 1)]
        visits = [(k, a * mpmath.exp(mpmath.mpf(k * k) / (2 * steps * z * z))) for k, a in enumerate(mass)]
        total = mpmath.fsum(
            a * b * mpmath.exp(-mpmath.mpf((k - n) ** 2) / (2 * steps * z * z)) for k, a in visits for n, b in visits
        )
        exact = float(mpmath.log(total))
    found = law_of(q, z, steps, "add-remove").renyi(2.0)
    assert exact * (1 - 1e-8) < found <= exact
    law = law_of(q, z, steps, "add-remove")
    likely = law.log_p > -120
    assert replace(law, counts=law.counts[likely], log_p=law.log_p[likely]).renyi(2.0) < 0.9 * exact


@pytest.mark.parametrize("scheme", SCHEMES)
def test_edges(scheme):
    assert eps_of_scheme(0.0, 1.0, 5, scheme)(1e-5) == 0
    assert eps_of_scheme(0.3, 1.0, 0, scheme)(1e-5) == 0
    assert eps_of_scheme(0.3, math.inf, 5, scheme)(1e-5) == 0
    assert eps_of_scheme(0.3, 0.0, 5, scheme)(1e-5) == math.inf
    assert eps_of_scheme(0.3, 1.0, 5, scheme)(1.0) == 0
    mu = math.sqrt(5) * (1 if scheme == "add-remove" else 2) / 3
    assert eps_of_scheme(1.0, 3.0, 5, scheme)(1e-5) == eps_of(mu, 1e-5)
    for tiny in (1e-12, 1e-3):
        assert 0 <= eps_of_scheme(tiny, 1e-3, 3, scheme)(1e-9) < math.inf
        assert eps_of_scheme(tiny, 1e3, 3, scheme)(1e-9) < 1
    assert math.isfinite(eps_of_scheme(1 - 1e-12, 0.5, 10, scheme)(1e-14))


def test_binomial_probabilities_against_high_precision():
    with mpmath.workdps(40):
        for trials, p in ((7, 0.3), (1000, 0.01), (10**6, 0.5), (10**10, 1e-4)):
            mean, deviation = trials * p, math.sqrt(trials * p * (1 - p))
            counts = sorted({min(trials, max(0, round(mean + j * deviation))) for j in (-9, -3, 0, 2, 8)} | {0, trials})
            exact = [
                mpmath.log(mpmath.binomial(trials, k)) + k * mpmath.log(p) + (trials - k) * mpmath.log1p(-mpmath.mpf(p))
                for k in counts
            ]
            found = binomial_log_masses(np.array(counts, dtype=float), trials, p)
            assert found == pytest.approx([float(x) for x in exact], rel=1e-13, abs=1e-9 if trials > 10**9 else 1e-12)


def test_likely_counts_leave_out_only_what_is_below_the_floor():
    for trials, p, floor in (
        (50, 0.2, -20.0),
        (3000, 0.01, -120.0),
        (10, 0.9, -1000.0),
        (4, 1e-9, -30.0),
        (5, 1.0, -9.0),
    ):
        counts, logs, log_others = likely_counts(trials, p, floor)
        every = binom.logpmf(np.arange(trials + 1), trials, p)
        assert np.exp(every[every < floor]).sum() <= np.exp(log_others)
        assert counts.tolist() == np.flatnonzero(every >= floor).tolist()
        assert logs == pytest.approx(every[every >= floor], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("steps", [5, 6, 7])
def test_of_secret_batches_the_last_epoch_has_the_record_as_often_as_a_place_in_it_allows(steps):
    """By listing the record's three places in an order; the batches of a known order count the first one."""
    visits = [len(range(place, steps, 3)) for place in range(3)]
    counts, logs, _ = uses("shuffled", 1 / 3, steps, 3, -100.0)
    assert dict(zip(counts, np.exp(logs), strict=True)) == {k: pytest.approx(visits.count(k) / 3) for k in {*visits}}
    assert uses("cyclic", 1 / 3, steps, 3, -100.0)[0].tolist() == [max(visits)]
