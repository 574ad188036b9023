"""Audits of configs: claims that stand, and faults that are found."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest

from dpexp.commands.audit import audit
from dpexp.config.experiment_file import read_experiment
from dpexp.engine.linear import linear_pass
from dpexp.inference import central_newton
from dpexp.reporting.audit.audit_cells import plan_of
from dpexp.reporting.audit.worlds import audit as audit_plan
from tests.conftest import call, share
from tests.reporting.test_audit_faults import users_exchanged

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
    found = {row["protects"]: row for row in audited(config, runs=6000).rows if row["statistic"] == "message"}
    strict, loose = found["a user with mu = 0.5"], found["a user with mu = 3"]
    assert (strict["claimed"], loose["claimed"]) == (0.5, 3)
    assert 0.25 < strict["lower_bound"] < 0.5
    assert 2.4 < loose["lower_bound"] < 3
    assert not strict["alarm"]
    assert not loose["alarm"]


def test_exchanged_budgets_are_found(config):
    """Fault 8: user i adds the noise of user j. The strict user's bound exceeds its claim, the other's does not."""
    with users_exchanged():
        result = audited(config, runs=1000)
    alarms = {row["protects"] for row in result.rows if row["alarm"]}
    assert alarms == {"a user with mu = 0.5"}
    assert result.exit_code == 1


def test_noise_of_one_pass_that_is_a_third_too_small_is_an_alarm(config):
    """Fault 1 for messages, in the engine's own table of noises."""
    sizes, made = linear_pass.NextSizes, linear_pass.NextSizes.__init__
    with patch.object(sizes, "__init__", lambda self, s, delta, *key: made(self, s, delta * 2 / 3, *key)):
        (row, *_) = audited(config, "privacy.mu=1", runs=2000).rows
    assert row["alarm"]
    assert row["lower_bound"] > row["claimed"] == 1


CENTRAL = """
experiment: audited
problem:   {name: huber-linear, d: 2}
algorithm: {name: central-newton}
privacy:   {mu: 2}
run:       {n: 100000, replicates: 8, seed: 1}
"""


def of_a_fit(seed, runs):
    """The audit of a central fit, whose estimate of 400 records is seen."""
    ((worlds,), _) = plan_of(read_experiment(CENTRAL, "audited.yaml"))
    return audit_plan(worlds, runs, 1e-3, seed, pilot=runs // 2)


@pytest.mark.parametrize("seed", share(range(5), 5))
def test_a_central_fit_is_not_refuted(seed):
    row = of_a_fit(seed, 150)
    assert row["claimed"] == 2
    assert 0 <= row["lower_bound"] < 2
    assert not row["alarm"]


def test_gradients_of_a_central_fit_without_noise_are_found(monkeypatch):
    sent = central_newton.Owner.sent
    no_noise = lambda self, mean, scale: sent(self, mean, scale * (mean.ndim > 1))  # noqa: E731
    monkeypatch.setattr(central_newton.Owner, "sent", no_noise)
    row = of_a_fit(1, 350)
    assert row["alarm"]
    assert row["lower_bound"] > row["claimed"]


def test_the_command_gives_one_document(config):
    for row in json.loads(call("audit", config, "--runs", 100, "--json").stdout):
        assert {"algorithm", "claimed", "lower_bound", "confidence", "method", "releases"} <= set(row)
        assert row["lower_bound"] <= row["claimed"]
        assert row["confidence"] == pytest.approx(0.999)
