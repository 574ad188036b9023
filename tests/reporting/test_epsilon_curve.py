"""Epsilon against a parameter: numbers of single statements, both sides, lists that are phases, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import call

SAMPLED = ("--mechanism", "sampled-gaussian", "noise_multiplier=1", "sampling_probability=0.01", "delta=1e-5")


def rows(*words):
    return json.loads(call("privacy", *words, "--json").stdout)["rows"]


def test_every_row_is_the_number_of_a_statement_and_no_guarantee_is_below_what_is_attained():
    found = rows(*SAMPLED, "steps=10,1000", "--over", "steps")
    for steps in (10, 1000):
        own = {r["analysis"]: r["eps"] for r in found if r["steps"] == steps}
        mechanism = MECHANISMS["sampled-gaussian"](noise_multiplier=1, sampling_probability=0.01, steps=steps)
        for analysis in mechanism.upper_bounds():
            assert own[analysis.name] == pytest.approx(analysis.eps(1e-5), rel=1e-12)
        assert own["exact-composition"] <= own["pld-composition"] <= own["exact-composition"] * 1.001


def test_a_list_is_phases_of_one_run_unless_it_is_swept():
    words = ("--mechanism", "sampled-gaussian", "noise_multiplier=1,2", "sampling_probability=0.1", "steps=5")
    one = json.loads(call("privacy", *words, "--json").stdout)
    assert "phases of one run" in one["remark"]
    assert {r["noise_multiplier"] for r in rows(*words, "--over", "noise_multiplier")} == {1, 2}
    assert {r["mu"] for r in rows("--mechanism", "local-gaussian", "mu=1,2")} == {1, 2}


def test_a_range_is_in_equal_ratios_and_whole_where_the_parameter_is():
    steps = list(dict.fromkeys(r["steps"] for r in rows(*SAMPLED, "steps=1..1000/4")))
    assert steps == [1, 10, 100, 1000]


def test_a_refused_analysis_is_a_row_and_the_figure_has_the_numbers_of_the_table(tmp_path):
    words = ["--mechanism", "noisy-sgd", "batch_size=10", "step_size=0.1", "noise_std=1", "lipschitz=1"]
    # the number of records has the name of a column of figures
    call("plot", *words, "n=50,100", "steps=5", "--format", "png", "--out", tmp_path)
    words += ["n=100", "steps=5,50"]
    found = rows(*words)
    assert any(r["role"] == "refused" and r["reason"] and r["eps"] is None and "eps_is" not in r for r in found)
    # without noise a guarantee is infinite, which is no refusal
    assert rows("--mechanism", "local-gaussian", "mu=1,inf")[-1]["eps_is"] == "infinity"
    document = json.loads(call("plot", *words, "--format", "png", "--out", tmp_path, "--json").stdout)
    assert document["curve"]["rows"] == found
    data = pd.read_csv(tmp_path / "epsilon_noisy_sgd_steps.csv")
    exact, side = pd.DataFrame(found), np.where(data.role == "attained", -1, 1)
    off = (side * (data.eps - exact.eps))[exact.eps.notna()]
    assert off.between(0, 1e-5 * exact.eps[exact.eps.notna()]).all()  # six digits: no guarantee is rounded down
