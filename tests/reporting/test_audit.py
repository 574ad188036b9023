"""Audits: bounds that hold at their confidence, claims that stand, and faults that are found."""

from __future__ import annotations

import itertools
import json
import math
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from dpexp.accounting.curve import Curve
from dpexp.accounting.gaussian import eps_of
from dpexp.commands.audit import audit
from dpexp.engine.linear import linear_pass
from dpexp.privacy.audit.scores import allowed, bets_of, e_process, largest_rate, separation, trade_off_test
from dpexp.problems.canaries import Canaries
from dpexp.reporting.audit import bracket as auditing
from tests.campaigns.audit_faults import planned, users_exchanged
from tests.conftest import call

PLUGINS = Path(__file__).parents[1] / "data" / "plugins"

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


@pytest.mark.parametrize("canary", [None, 2])
@pytest.mark.parametrize("others", [None, 1])
def test_the_canary_is_record_0_and_no_other(canary, others):
    """A record that is not there has no features; one that is has their norm, and its class."""
    audited = Canaries(records=6, classes=3, width=4, length=0.8, slope_limit=1.0, canary=canary, others=others)
    norms = np.linalg.norm(audited.train.features, axis=1)
    there = [canary is not None] + 5 * [others is not None]
    np.testing.assert_allclose(norms, 0.8 * np.array(there), atol=1e-7)
    present = audited.train.labels[norms > 0].tolist()
    assert present == [kind for kind in (canary, *5 * (others,)) if kind is not None]


def test_the_e_process_finds_it_at_any_time_and_does_not_bet_against_the_truth():
    """Median 644 runs by the sheet; a sound one passes 1000 with probability at most 1e-3, and 20 with 5%."""
    generator, claim = np.random.default_rng(3), gaussian(1.0)
    times = [e_runs(generator, 1.5, claim, 4000).alarm_at or math.inf for _ in range(40)]
    assert 300 < np.median(times) < 1300
    sound = [e_runs(generator, 1.0, claim, 1500).largest for _ in range(100)]
    assert sum(value > 20 for value in sound) <= 11  # 5 at most in the mean; 12 or more have probability 0.4%
    assert max(sound) < 1000


CONFIG = """
experiment: audited
problem:   {name: huber-linear, d: 5, sigma: 2.0, sensitivity: exact}
algorithm: {name: ldp-sgd}
schedule:  {name: power, eta: 0.2, alpha: 1/2}
privacy:   {mu: {list: [0.5, 3]}}
run:       {n: 1000, replicates: 8, seed: 1}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "audited.yaml"
    path.write_text(CONFIG)
    return path


def audited(config, *sets, runs=4000, seed=0):
    return audit(config, set=sets, runs=runs, seed=seed)


@pytest.mark.slow
def test_a_user_audits_near_its_own_budget(config):
    found = {row.audited.protects: row for row in audited(config, runs=6000).rows if row.audited.statistic == "message"}
    strict, loose = found["a user with mu = 0.5"], found["a user with mu = 3"]
    assert (strict.claimed, loose.claimed) == (0.5, 3)
    assert 0.25 < strict.lower_bound < 0.5
    assert 2.4 < loose.lower_bound < 3
    assert not strict.alarm
    assert not loose.alarm


def test_exchanged_budgets_are_found(config):
    """Fault 8: user i adds the noise of user j. The strict user's bound exceeds its claim, the other's does not."""
    with users_exchanged():
        result = audited(config, runs=2000)
    alarms = {row.audited.protects for row in result.rows if row.alarm}
    assert alarms == {"a user with mu = 0.5"}
    assert result.exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["heavy-ball-ldp-sgd", "clipped-ldp-sgd", "ldp-sgd"])
def test_a_message_is_seen_whatever_the_server_does(config, algorithm):
    """The loss of a user of mu = 2 is nearly 2 under each server's rule."""
    (row, *_) = audited(config, f"algorithm.name={algorithm}", "privacy.mu=2", runs=2500).rows
    assert 1.4 < row.lower_bound < 2 == row.claimed


def users_with_less_noise():
    made = linear_pass._NextSizes.__init__
    return patch.object(
        linear_pass._NextSizes, "__init__", lambda self, s, delta, *key: made(self, s, delta * 2 / 3, *key)
    )


def test_noise_of_one_pass_that_is_a_third_too_small_is_an_alarm(config):
    """Fault 1 for messages, in the engine's own table of noises."""
    with users_with_less_noise():
        (row, *_) = audited(config, "privacy.mu=1", runs=3000).rows
    assert row.alarm
    assert row.lower_bound > row.claimed == 1


def test_the_command_prints_brackets_and_one_document(config):
    shown = call("audit", config, "--runs", 500).stdout
    assert "a user with mu = 3" in shown
    assert "No lower bound exceeds what is claimed" in shown
    for row in json.loads(call("audit", config, "--runs", 500, "--json").stdout):
        assert {"algorithm", "claimed", "lower_bound", "confidence", "method", "releases"} <= set(row)
        assert row["lower_bound"] <= row["claimed"]
        assert row["confidence"] == pytest.approx(0.999)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--runs", "3"), "--runs"),
        (("--confidence", "1"), "--confidence"),
        (("--set", "privacy.mu=inf"), "nothing to audit"),
        (("--set", "privacy.mu=-1"), "privacy.mu"),
    ],
)
def test_bad_input_is_said_and_costs_2(config, arguments, said):
    assert said in call("audit", config, *arguments, code=2).stderr


def test_a_budget_whose_inverse_rounds_is_audited():
    """1 / (1 / 0.97) is not 0.97: every user is of the class of its budget all the same."""
    assert 1 / (1 / 0.97) != 0.97
    text = (
        "experiment: odd\nproblem: {name: huber-linear, d: 5}\nalgorithm: {name: staged-newton}\n"
        "schedule: {name: prescribed}\nprivacy: {mu: 0.97}\nrun: {n: 100000, replicates: 8, seed: 1}\n"
    )
    assert all(len(one.observe(1, range(8))[0]) == 8 for one in planned(text))


@pytest.mark.slow
def test_a_central_fit_keeps_its_mu_and_one_with_a_twentieth_of_the_noise_does_not(monkeypatch):
    """The estimate of few records of which one is replaced."""
    monkeypatch.setattr(auditing, "PILOT", 150)
    text = (
        "experiment: central\nproblem: {name: huber-linear, d: 2}\nalgorithm: {name: central-newton}\n"
        "schedule: {name: prescribed}\nprivacy: {mu: 2}\nrun: {n: 100000, replicates: 8, seed: 1}\n"
    )
    (one,) = planned(text)
    for mu, broken in ((2.0, False), (40.0, True)):
        one.mu = mu
        row = auditing.audit(one, 250, 1e-3, 1.0, 1, (1e-5,))
        assert row.alarm == broken, row.lower_bound
