"""What the checks of claims call equal, reached and faster, on numbers whose answer is known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpexp.papers.ldp_sgd.claims import rate_claims
from dpexp.papers.ldp_sgd.claims.local_privacy import verdict_of
from dpexp.reporting.checks import Ratio
from dpexp.theory.slopes import rate, rate_tolerance

STEPS = np.unique(np.geomspace(1, 1e5, 61).astype(np.int64))
REPLICATES = 50


def run_of(exponents, spread=0.02, factor=1.0, seed=0):
    """A run whose two estimators' means are exact powers of the step, with independent lognormal replicates."""
    rng = np.random.default_rng(seed)
    values = {}
    for name, exponent in exponents.items():
        draws = np.exp(spread * rng.standard_normal((len(STEPS), REPLICATES)))
        draws /= draws.mean(axis=1, keepdims=True)
        values[name] = factor * STEPS[:, None] ** float(exponent) * draws
    return SimpleNamespace(steps=STEPS, name=f"{exponents}", values=lambda estimator, metric: values[estimator])


def test_a_curve_that_does_not_fall_reaches_no_rate():
    assert rate_tolerance(-1.0) == 0.15
    assert rate_tolerance(-0.1) == pytest.approx(0.05)
    assert rate(STEPS, run_of({"sgd": 0.0}).values("sgd", "")).compared(-0.1) == "slower"
    assert rate(STEPS, run_of({"sgd": -0.1}, 0.005).values("sgd", "")).compared(-0.1) == "reached"


def test_noise_power_must_be_the_claimed_one_with_its_interval():
    assert verdict_of(True, [Ratio("", 0.96, 0.85, 1.07)]) == "holds as a bound"
    assert verdict_of(False, [Ratio("", 0.96, 0.85, 1.07)]) == "false"
    assert verdict_of(True, [Ratio("", 0.96, 0.75, 1.17)]) == "not at this sample size"
    assert verdict_of(True, [Ratio("", 1.06, 0.88, 1.24)]) == "not at this sample size"
    assert verdict_of(True, [Ratio("", 1.0, 0.9, 1.1), Ratio("", 0.90, 0.85, 0.95)]) == "false"
    assert verdict_of(True, [Ratio("", 1.10, 1.05, 1.15)]) == "false"


class Given(list):
    """Runs that a claim uses, whatever the evidence."""

    experiments = ()

    def __call__(self, evidence):
        return self


def _compared(drawn, steady, faster=True):
    check = rate_claims.compared(Given(drawn), Given(steady), "", faster, "(0, 1)")
    return check.check(None).verdict


def test_faster_is_asked_of_what_is_drawn_and_of_what_has_settled():
    ahead, behind, same = (run_of({"sgd": -0.5, "asgd": slope}, seed=7) for slope in (-1.0, -0.2, -0.5))
    assert _compared([ahead], [ahead]) == "reproduced"
    assert _compared([behind], [behind]) == "false"
    assert _compared([ahead], [behind]) == _compared([behind], [ahead]) == "misleading"
    assert _compared([ahead, same], [ahead]) == "not at this sample size"
    assert _compared([behind], [behind], faster=False) == "reproduced"
    assert _compared([ahead], []) == "not at this sample size"
    bent = run_of({"sgd": -0.5, "asgd": -1.0})
    drifts = SimpleNamespace(
        steps=STEPS, name="bent", values=lambda e, m: bent.values(e, m) * np.exp(-(np.log(STEPS) ** 2) / 10)[:, None]
    )
    assert _compared([ahead], [drifts]) == "not at this sample size"
