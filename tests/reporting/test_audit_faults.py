"""Faults in what an audit drives are found, sound mechanisms are left alone, and what is driven is what is run."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from dpexp.core.errors import UsageError
from dpexp.engine.softmax import steps as kernel
from dpexp.inference.staged_newton import Server
from dpexp.reporting.audit import bracket as auditing
from tests.campaigns.audit_faults import (
    BALL,
    FAULTS,
    FULL,
    MIXED,
    SAMPLED,
    TREE,
    audited,
    found,
    literal_steps,
    planned,
)
from tests.conftest import AT_LENGTH, share
from tests.oracles.watched_messages import OTHER_SIDE

QUICK = {
    1: 800, 2: 800, 3: 1000, 5: 500, 7: 2000, 11: 500, 15: 700, 16: 600, 17: 500, 18: 400, 19: 800, 20: 400,
    22: 2000, 23: 800, 24: 400, 25: 600, 26: 700,
}  # fmt: skip
"""runs in which a fault is found; the others, which need thousands, are tried by `make soak`, and 8 in `test_audit.py`"""


@pytest.fixture(autouse=True)
def few_pilots(monkeypatch):
    if not AT_LENGTH:
        monkeypatch.setattr(auditing, "PILOT", 300)


@pytest.mark.slow
@pytest.mark.parametrize("fault", share([f for f in FAULTS if AT_LENGTH or f.number in QUICK], 3), ids=lambda f: f.name)
def test_a_fault_is_found(fault):
    runs = fault.runs if AT_LENGTH else QUICK[fault.number]
    assert fault.statistic in found(audited(fault.config, runs, 1, fault.inject, fault.copy))


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    share([FULL, BALL, SAMPLED, TREE, MIXED], 2),
    ids=share(["full", "ball", "sampled", "tree", "messages"], 2),
)
def test_sound_mechanisms_are_left_alone(config):
    """And the bracket is not empty: something is seen to be given away."""
    rows = audited(config, 600, 2)
    assert found(rows) == []
    if config in (FULL, MIXED):  # the others give away little in so few runs
        assert max(row.lower_bound / row.claimed for row in rows) > 0.3


def test_the_literal_steps_without_a_fault_are_the_compiled_ones(monkeypatch):
    """Otherwise a fault could be found because of how it was injected."""
    for config in (FULL, BALL):
        one = planned(config)[0]
        compiled, _ = one.observe(1, range(6))
        with monkeypatch.context() as patched:
            patched.setattr(kernel, "steps", literal_steps())
            literal, _ = one.observe(1, range(6))
        np.testing.assert_allclose(literal, compiled, rtol=2e-4, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem", ["huber-linear, d: 2", "huber-linear, d: 2, scale: known", "mallows-logistic, d: 2"]
)
def test_the_records_of_watched_users_are_nearly_as_far_apart_as_can_be(problem):
    """And messages are what the numpy formulas say, plus noise of the stated size: their residuals are standard normal."""
    text = MIXED.replace("huber-linear, d: 2, sigma: 2.0", problem)
    one = planned(text)[0]
    watched, residuals = one.watched, []
    for first in range(0, 80, 8):
        for sent in watched.run(3, range(first, first + 8)):
            for lane in range(8):
                clean = [watched.clean(sent, lane, record)[0] for record in (0, 1)]
                residuals.append((sent.message[lane] - clean[int(sent.canary[lane])]) / sent.noise[lane])
                if sent.kind == OTHER_SIDE and watched.model.has_scale:
                    distance = np.linalg.norm(clean[1] - clean[0]) / sent.noise[lane]
                    assert 0.9 < distance / sent.mu[lane] <= 1
    every = np.concatenate(residuals)
    assert abs(every.mean()) < 4.5 / np.sqrt(len(every))
    assert abs(every.std() - 1) < 4.5 / np.sqrt(2 * len(every))  # a scale of 2/3 or 3/2 is forty times as far


def test_theta_must_move_by_the_message_that_is_counted():
    """A server that steps with what has no noise, and counts what has, is no release of one message."""
    true = Server.serve

    def serve(self, users, *rest):
        true(self, users, *rest)
        self.theta[0] += 1e-3

    one = planned(MIXED)[0]
    with patch.object(Server, "serve", serve), pytest.raises(UsageError, match="no one message"):
        one.observe(1, range(8))
