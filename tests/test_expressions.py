"""`--only EXPR`."""

import math

import pytest

from dpexp.config.expressions import matches
from dpexp.core.errors import UsageError

CELL = {"alpha": 1 / 3, "mu": 2.0, "budget": "2", "problem": "huber-linear", "d": 5}


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("alpha == 1/3", True), ("alpha == 0.3333333333333333 and mu == 2", True), ("mu > 2", False), ("mu >= 2", True),
        ("0.3 < alpha <= 1/3", True), ("mu in [1, 2, inf]", True), ("not mu == inf", True), ("d not in (10, 20)", True),
        ("problem == 'huber-linear' or d == 99", True), ("-mu < -1", True), ("d * 2 == 10", True), ("mu != 2", False),
    ],
)  # fmt: skip
def test_expressions(expression, want):
    assert matches(expression, CELL) is want


def test_infinite_and_missing_budgets():
    assert matches("mu == inf", {"mu": math.inf})
    assert not matches("mu < 3", {"mu": math.nan})


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("alhpa == 1", "no column 'alhpa'"), ("mu ==", "not an expression"), ("__import__('os')", "is not supported"),
        ("problem < 3", "--only"), ("mu == 1/0", "division"), ("(lambda: 1)()", "is not supported"), ("mu.real == 2", "is not supported"),
        ("(" * 300 + "mu" + ")" * 300, "--only"), ("", "not an expression"), ("mu == 2; import os", "not an expression"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_explained(expression, message):
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        matches(expression, CELL)


def test_a_hint_is_given():
    with pytest.raises(UsageError) as caught:
        matches("alhpa == 1", CELL)
    assert "did you mean 'alpha'" in caught.value.hint
