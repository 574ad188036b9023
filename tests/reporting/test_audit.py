"""Audits of configs: claims that stand, and faults that are found."""

from __future__ import annotations

import json
from unittest.mock import patch

import numpy as np
import pytest

from dpexp.commands.audit import audit
from dpexp.engine.linear import linear_pass
from dpexp.problems.canaries import Canaries
from dpexp.reporting.audit import bracket as auditing
from tests.conftest import call
from tests.reporting.test_audit_faults import planned, users_exchanged


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
