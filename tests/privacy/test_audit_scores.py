"""The two tests of a claim by runs in two worlds: bounds that hold at their confidence, and faults that are found."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import eps_of
from dpexp.privacy.audit.scores import allowed, bets_of, e_process, largest_rate, separation, trade_off_test

FIXED = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5)


def gaussian(mu):
    """mu-GDP."""
    return Curve(partial(eps_of, mu), mu=mu)


def alarm(test, claim):
    """Whether the runs contradict the claim, in terms of misses and not of mu."""
    return any(point.most_misses < claim.beta(point.most_false_alarms) for point in test)


def gaussian_runs(generator, mu, n):
    """Statistics of n runs in either world of a Gaussian mechanism."""
    return generator.standard_normal(n), generator.standard_normal(n) + mu


def test_the_bound_of_a_rate_is_clopper_and_pearsons():
    """The Beta quantile of their paper's closed form, and its meaning: so few hits have probability `level`."""
    for hits, trials in ((0, 50), (3, 40), (39, 40)):
        rate = largest_rate(hits, trials, 1e-3)
        assert rate == pytest.approx(beta.ppf(1 - 1e-3, hits + 1, trials - hits))
        assert binom.cdf(hits, trials, rate) == pytest.approx(1e-3)
    assert largest_rate(40, 40, 1e-3) == 1


def test_a_profile_and_mu_make_the_same_claim():
    """beta(a) of mu-GDP from epsilons alone, a supremum over places: below the curve, and close to it."""
    mu = 1.2
    exact, profile = gaussian(mu), Curve(partial(eps_of, mu))
    for a in (1e-3, 0.02, 0.1, 0.3, 0.6):
        assert exact.beta(a) == pytest.approx(norm.cdf(norm.ppf(1 - a) - mu))
        assert exact.beta(a) - 1e-3 < profile.beta(a) <= exact.beta(a) + 1e-12
        assert allowed(profile, a) == pytest.approx(mu, abs=0.02)
    assert separation(0.1, 0.9) == 0


def test_few_alarms_in_sound_mechanisms():
    """Level 5%, so that alarms would be seen: 400 Gaussian mechanisms at their very claim. It also covers mu."""
    generator, alarms, above = np.random.default_rng(1), 0, 0
    for _ in range(400):
        mu = float(generator.uniform(0.3, 3))
        test = trade_off_test(*gaussian_runs(generator, mu, 400), [mu / 2 + k for k in FIXED], 0.05)
        alarms += alarm(test, gaussian(mu))
        above += max(point.separation for point in test) > mu
    assert alarms == above
    assert alarms <= 32  # 5% is 20; a binomial exceeds 32 with probability 0.4%


def test_noise_that_is_a_third_too_small_is_found_and_by_the_sheets_rate():
    """N = 500 a world at level 1e-3 and seven thresholds: found in 78% of 400 repetitions by the sheet's simulation."""
    generator, claim, found = np.random.default_rng(2), gaussian(1.0), 0
    for _ in range(200):
        a, b = gaussian_runs(generator, 1.5, 500)
        found += alarm(trade_off_test(a, b, [0.75 + k for k in (-1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2)], 1e-3), claim)
    assert 0.68 < found / 200 < 0.9


def e_runs(generator, mu, claim, runs):
    """An e-process with its pilot, at level 1e-3."""
    pilot, worlds = generator.standard_normal(1000), generator.random(1000) < 0.5
    bets = bets_of(claim, pilot + mu * worlds, worlds)
    statistics, worlds = generator.standard_normal(runs), generator.random(runs) < 0.5
    return e_process(statistics + mu * worlds, worlds, bets, 1e-3)


def test_nothing_is_staked_before_anything_is_seen():
    """The first run cannot move the wealth, whatever comes out of it; later ones do."""
    for world, statistic in itertools.product((True, False), (-1.0, 2.0)):
        for mirrored in (False, True):
            process = e_process(np.array([statistic]), np.array([world]), [(0.5, 1e-5, 0.0, mirrored)], 0.05)
            assert process.values.tolist() == [1.0]
    worlds = np.tile([True, False], 20)
    assert e_process(np.where(worlds, 1.0, -1.0), worlds, [(0.5, 1e-5, 0.0, False)], 0.05).values[-1] > 20


def test_the_e_process_finds_it_at_any_time_and_does_not_bet_against_the_truth():
    """Median 644 runs by the sheet; a sound one passes 1000 with probability at most 1e-3, and 20 with 5%."""
    generator, claim = np.random.default_rng(3), gaussian(1.0)
    times = [e_runs(generator, 1.5, claim, 4000).alarm_at or math.inf for _ in range(20)]
    assert 300 < np.median(times) < 1300
    sound = [e_runs(generator, 1.0, claim, 1500).largest for _ in range(50)]
    assert sum(value > 20 for value in sound) <= 7  # 2.5 at most in the mean; 8 or more have probability 0.4%
    assert max(sound) < 1000
