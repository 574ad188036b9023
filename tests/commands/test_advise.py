"""`dpexp advise`: the recommendation against brute force, the default and the words of the page."""

import json
import math

import numpy as np
import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.near_the_optimum import local
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.commands.advise_search import DEFAULT_ETA, Choice, _simulated, advise, shown
from dpexp.papers.ldp_sgd.predictions import predicted
from dpexp.privacy.budgets import ConstantBudget, UniformBudget
from dpexp.problems import PROBLEMS
from tests.conftest import call

LINEAR = PROBLEMS["huber-linear"](d=5)
USERS = 20_000
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def advice():
    return advise(LINEAR, ConstantBudget(mu=2.0), USERS, replicates=32)


def test_no_setting_of_a_wide_grid_is_clearly_better(advice):
    etas, alphas = np.geomspace(0.01, 8, 9), (0.0, 1 / 3, 0.5, 2 / 3, 0.9)
    settings = [(SCHEDULES["power"](eta=float(eta), alpha=a), ConstantBudget(mu=2.0)) for eta in etas for a in alphas]
    passed = ALGORITHMS["ldp-sgd"]().simulate(LINEAR, settings, np.array([USERS]), 99, list(range(24)))
    best = passed.values[:, :, 0, 0].mean(axis=-1).min()
    assert advice.best.simulated < 1.15 * best + advice.best.reach


def test_the_default_loses_and_privacy_costs(advice):
    assert advice.regret >= 0.97
    assert advice.cost_of_privacy > 2
    assert {c.eta for c in advice.defaults} == {DEFAULT_ETA}
    assert advice.regret == pytest.approx(math.sqrt(advice.default.carried / advice.best.carried))
    assert shown(4.0, "distance") == 2.0
    assert shown(4.0, "loss") == 4.0
    assert all(c.alpha != advice.best.alpha or c.estimator != advice.best.estimator for c in advice.candidates)


def test_the_prediction_is_that_of_the_recursion(advice):
    best = advice.best
    schedule = SCHEDULES["power"](eta=best.eta, alpha=best.alpha)
    curves = predicted(local(LINEAR, ConstantBudget(mu=2.0)), schedule, np.array([USERS]))
    value = getattr(curves, best.estimator)["param_distance_sq"][0]
    assert best.predicted == pytest.approx(value, rel=0.1)  # the start of the bias is treated apart
    assert best.simulated == pytest.approx(best.predicted, rel=0.5)


def test_budgets_with_one_mean_inverse_square_get_one_prediction():
    found = [
        advise(LINEAR, budget, 2000, replicates=8)
        for budget in (UniformBudget(uniform=(1.0, 4.0)), ConstantBudget(mu=2.0))
    ]
    grids = [{(c.eta, c.alpha, c.estimator): c.predicted for c in a.defaults} for a in found]
    assert grids[0] == pytest.approx(grids[1])


def test_an_extrapolated_path_is_offered_where_fresh_users_find_it_better_too():
    problem, budget = PROBLEMS["mallows-logistic"](d=5), ConstantBudget(mu=3.0)
    biased = advise(problem, budget, 30_000, replicates=160)
    assert biased.offered
    choice, beside = biased.extrapolated
    assert beside.ratio == pytest.approx(choice.simulated / biased.best.simulated)
    settings = [(SCHEDULES["power"](eta=c.eta, alpha=c.alpha), budget) for c in (choice, biased.best)]
    passed = ALGORITHMS["extrapolated-ldp-sgd"]().simulate(problem, settings, np.array([30_000]), 99, list(range(160)))
    assert passed.values[0, 2, 0, 0].mean() < passed.values[1, :2, 0, 0].mean(axis=-1).min()


def test_it_is_not_offered_to_everybody(advice):
    assert advice.extrapolated is not None
    assert not advice.offered  # the bias of Huber's average is small beside its noise


def test_a_longer_run_is_carried_from_the_trial(monkeypatch):
    monkeypatch.setattr("dpexp.commands.advise_search.SIMULATED", 2000)
    advice = advise(LINEAR, ConstantBudget(mu=4.0), 50_000, replicates=16)
    assert advice.trial == 2000
    assert advice.extrapolated is None
    best = advice.best
    assert best.carried == pytest.approx(best.simulated * best.predicted / best.predicted_trial)
    assert best.carried < best.simulated


def test_replicates_that_are_added_are_those_of_one_trial():
    groups = [([Choice("sgd", 0.1, 0.5, 1.0, 1.0)], ConstantBudget(mu=2.0))]

    def errors(*counts):
        known = {}
        for count in counts:
            ((choice,),) = _simulated(LINEAR, groups, 500, "distance", count, 3, 1, "", known)
        (found,) = known.values()
        return found, choice.simulated

    (one_by_one, mean), (at_once, same) = errors(8, 24), errors(24)
    assert one_by_one.shape[-1] == 24
    assert np.array_equal(one_by_one, at_once)
    assert mean == same
    assert errors(24, 8)[1] == errors(8)[1], "a smaller trial is not another one because a larger one is known"


def test_the_command_and_its_document():
    arguments = ["advise", "huber-linear", "-n", "3000", "-d", "2", "--mu", "{uniform: [1, 2]}", "--replicates", "8"]
    document = json.loads(call(*arguments, "--json").stdout)
    (advice,) = document["advice"]
    assert advice["n"] == 3000
    assert advice["problem"]["d"] == 2
    assert advice["budget"] == "Uniform(1, 2)"
    assert {"estimator", "eta", "alpha", "predicted", "simulated", "simulated_ci"} <= set(advice["recommended"])
    assert len(advice["defaults"]) == 8
    page = call(*arguments, "--metric", "loss").stdout
    assert "mu_i ~ Uniform(1, 2)" in page
    assert "Privacy costs a factor" in page
    assert "mean loss gap" in page


def test_a_config_gives_advice_for_each_of_its_budgets(config):
    document = json.loads(call("advise", config, "--replicates", "8", "--json").stdout)
    assert [a["budget"] for a in document["advice"]] == ["1", "Uniform(1, 2)", "non-private"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["insensitive-linear"], "flat at its optimum"),
        (["huber_linear"], "did you mean 'huber-linear'"),
        (["huber-linear", "--mu", "-1"], "privacy.mu"),
        (["huber-linear", "-n", "0"], "run.n"),
        (["huber-linear", "--metric", "error"], "distance or loss"),
        (["huber-linear", "--replicates", "1"], "at least 2"),
        (["configs/none.yaml"], "none.yaml"),
    ],
)
def test_wrong_arguments_are_told(arguments, message):
    assert message in call("advise", *arguments, code=2).stderr
