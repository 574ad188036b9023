"""`dpexp advise`: a prediction that its own trial refutes is neither printed nor carried further without a word."""

from dataclasses import replace

import pytest

from dpexp.commands import advise as command
from dpexp.commands.advise_search import Advice, Choice
from dpexp.core.standard_json import standard_json
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems import PROBLEMS

GOOD = Choice("asgd", 0.5, 0.5, predicted=0.0101, predicted_trial=0.0102, simulated=0.0100, reach=0.0004)
FAR = replace(GOOD, predicted=0.0003, predicted_trial=0.0003)


@pytest.mark.parametrize(
    ("predicted", "simulated", "reach", "refuted"),
    [
        (0.30, 9.0, 1.0, True),  # 30 times too small
        (9.0, 0.30, 0.1, True),  # 22 times too large
        (0.95, 2.0, 0.05, True),  # 2.05 below the lower end
        (0.98, 2.0, 0.05, False),  # 1.99 below it
        (4.05, 2.0, 0.05, False),  # 1.98 above the upper end
        (4.15, 2.0, 0.05, True),  # 2.02 above it
        (0.01, 2.0, 2.5, False),  # the trial says nothing of small errors
        (1.0, 1.0, 0.01, False),
    ],
)
def test_a_prediction_is_refuted_beyond_a_factor_two_of_its_interval(predicted, simulated, reach, refuted):
    choice = replace(GOOD, predicted_trial=predicted, simulated=simulated, reach=reach)
    assert choice.refuted is refuted


def test_before_a_trial_nothing_is_refuted():
    assert not Choice("sgd", 0.2, 0.5, predicted=1.0, predicted_trial=1.0).refuted


def advice(best, trial=3000, **others):
    chosen = {"public": GOOD, "defaults": (GOOD,), "candidates": (GOOD,)} | others
    return Advice(PROBLEMS["huber-linear"](d=2), ConstantBudget(mu=1.0), 3000, "distance", trial, 8, best, **chosen)


@pytest.mark.parametrize("row", ["best", "public", "defaults", "candidates"])
def test_a_refuted_prediction_is_not_printed(row):
    others = {} if row == "best" else {row: FAR if row == "public" else (FAR,)}
    found = advice(FAR if row == "best" else GOOD, **others)
    page, document = command._text(found), command._document(found)
    assert page.count("refuted") == 1
    assert "Refuted: the trial is far from what the linearised recursion predicts" in page
    assert "0.0173" not in page  # the root of 0.0003
    assert page.count("0.1   ") >= 1  # the simulated error stays
    flags = standard_json(document).count('"prediction_refuted": true')
    assert flags == (2 if row == "defaults" else 1)  # the best default stands in the list and by itself


def test_predictions_that_hold_are_printed():
    page = command._text(advice(GOOD))
    assert "efuted" not in page
    assert "0.1 " in page


def test_what_a_refuted_recursion_carries_further_is_called_a_guess():
    assert "carrying them further is a guess" in command._text(advice(FAR, trial=2000))
    assert "carrying them further is a guess" not in command._text(advice(FAR, trial=3000))
