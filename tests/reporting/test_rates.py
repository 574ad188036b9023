"""Rates: a false one is refuted by simulations alone, and one that only predictions exceed is doubtful."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import dpexp
from dpexp.commands.cli import app
from dpexp.core.errors import UsageError
from dpexp.reporting.rate_bounds import RateComparison, RateSetting

SMALL = {"families": ["normal"], "n": (20000, 20000), "eta": (0.5, 0.5), "alpha": (0.7, 0.7), "mu": (1, 2), "d": (2, 2)}
CODE = f"""
from dpexp.reporting.rate_bounds import RateSetting, predicted
ASSUMES = {SMALL!r}

def param_distance_sq(n, *, eta, alpha, mu, d):
    return FACTOR * predicted(RateSetting("normal", n, eta, alpha, mu, d), "sgd")
"""
S = RateSetting("normal", 1000, 0.2, 0.5, 1.0, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "verdict", "code"), [(0.5, "refuted", 1), (0.99, "doubtful", 0), (3, "not-refuted", 0)]
)
def test_half_of_the_error_is_refuted_and_what_only_predictions_exceed_is_doubtful(tmp_path, factor, verdict, code):
    file = tmp_path / "rate.py"
    file.write_text(CODE.replace("FACTOR", str(factor)))
    found = CliRunner().invoke(app, ["judge", str(file), "--comparisons", "4", "--json"])
    document = json.loads(found.stdout)
    assert (document["verdict"], found.exit_code) == (verdict, code)
    assert {"verdict", "comparisons", "worst", "looseness"} <= set(document)
    worst = document["worst"]
    if verdict != "refuted":
        return
    assert worst["simulated"]["mean"] > worst["bound"]
    assert worst["linearised"] == pytest.approx(worst["simulated"]["mean"], rel=0.3)
    again = CliRunner().invoke(app, ["judge", str(file), "--at", json.dumps(worst["parameters"]), "--json"])
    assert again.exit_code == 1
    assert json.loads(again.stdout)["worst"]["simulated"] == worst["simulated"]


def test_a_true_bound_is_rejected_no_more_often_than_stated():
    """Squared distances with a heavy tail whose mean is the bound: the p-value is at most 1% in 1% of samples."""
    draws = np.random.default_rng(0).lognormal(-0.5, 1.0, (2000, 400))
    rejected = sum(RateComparison(S, 1.0, 1.0, distances=tuple(row)).p_value <= 0.01 for row in draws)
    assert rejected <= 32  # 20 in the mean at most; a binomial exceeds 32 with probability 0.4%
    assert all(RateComparison(S, 1.0, 1.0, distances=tuple(1.5 * row)).p_value <= 0.01 for row in draws[:20])
    assert RateComparison(S, 1.0, 1.0, distances=(0.5, math.inf, math.nan)).p_value < 1e-9


@pytest.mark.parametrize(
    ("assumes", "fault"),
    [
        ({"alfa": (0, 1)}, "did you mean 'alpha'"),
        ({"mu": 2}, "ASSUMES.mu"),
        ({"d": (3, 80)}, "from 1 to 50"),
        ({"estimator": "adam"}, "asgd"),
        ({"families": []}, "ASSUMES.families"),
        (["n"], "ASSUMES"),
    ],
)
def test_faults_name_the_key(assumes, fault):
    def param_distance_sq(n, *, eta):
        return eta / n

    with pytest.raises(UsageError, match=fault):
        dpexp.judge(param_distance_sq, assumes)


def test_a_parameter_that_no_run_has_is_refused():
    def param_distance_sq(n, *, beta):
        return beta / n

    with pytest.raises(UsageError, match="takes 'beta'"):
        dpexp.judge(param_distance_sq)
