"""Audits from scores: true claims are kept at their level, false ones are contradicted, and bounds are below the truth."""

import numpy as np
import pytest

from dpexp.core.errors import UsageError
from dpexp.privacy.audit.scores import audit_scores


def normal(mu, runs, seed):
    draws = np.random.default_rng(seed).normal(size=(2, runs))
    return draws[0], draws[1] + mu


def test_bounds_are_below_the_truth_and_false_claims_are_contradicted():
    found = audit_scores(*normal(2.0, 4000, 0), mu=1.0)
    assert found.contradicts
    assert 1.5 < found.mu < 2.0
    assert 0 < found.eps(1e-5) < 9.9973  # of mu = 2
    assert audit_scores(*normal(2.0, 4000, 1), eps=0.5, delta=1e-5).contradicts
    assert not audit_scores(*normal(2.0, 4000, 2)).contradicts  # nothing is claimed


def test_true_claims_are_contradicted_no_more_often_than_stated():
    """At a confidence of .9, of a hundred audits."""
    alarms = sum(audit_scores(*normal(1.0, 400, k), mu=1.0, confidence=0.9).contradicts for k in range(100))
    assert alarms <= 20  # binomial(100, .1) exceeds it once in a thousand


@pytest.mark.parametrize(
    ("scores", "given"),
    [
        ((np.zeros(10), np.zeros(100)), {}),
        ((np.full(99, np.nan), np.zeros(99)), {}),
        ((np.zeros(99), np.zeros(99)), {"mu": 1, "eps": 1}),
    ],
)
def test_what_is_no_audit_is_refused(scores, given):
    with pytest.raises(UsageError):
        audit_scores(*scores, **given)
