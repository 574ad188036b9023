"""`--only EXPR`."""

import math

import pytest

from dpexp.config.expressions import matches
from dpexp.core.errors import UsageError

CELL = {"alpha": 1 / 3, "mu": 2.0, "budget": "2", "problem": "huber-linear", "d": 5}


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("alpha == 1/3", True), ("'2' == mu", True), ("mu == '2'", True), ("'1' == mu", False), ("alpha == 0.3333333333333333 and mu == 2", True), ("mu > 2", False), ("mu >= 2", True),
        ("0.3 < alpha <= 1/3", True), ("mu in [1, 2, inf]", True), ("not mu == inf", True), ("d not in (10, 20)", True),
        ("problem == 'huber-linear' or d == 99", True), ("-mu < -1", True), ("d * 2 == 10", True), ("mu != 2", False),
    ],
)  # fmt: skip
def test_expressions(expression, want):
    assert matches(expression, CELL) is want


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("alhpa == 1", "no column 'alhpa'"), ("mu ==", "not an expression"), ("__import__('os')", "is not supported"),
        ("problem < 3", "--only"), ("mu == 1/0", "division"), ("(lambda: 1)()", "is not supported"), ("mu.real == 2", "is not supported"),
        ("(" * 300 + "mu" + ")" * 300, "--only"), ("", "not an expression"), ("mu == 2; import os", "not an expression"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_explained(expression, message):
    with pytest.raises(UsageError, match=message.replace("(", r"\(")) as caught:
        matches(expression, CELL)
    assert ("did you mean 'alpha'" in caught.value.hint) == ("alhpa" in expression)


# what a cell lacks, and what is printed
OTHER = {"mu": math.inf, "budget": "non-private", "algorithm": "adam"}
LAW = {"mu": math.nan, "budget": "U(1, 2)"}


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("alpha == 1/3", False), ("alpha != 1/3", False), ("not alpha == 1/3", False), ("not (alpha == 1/3 and mu == 2)", True),
        ("alpha == 1/3 or mu == inf", True), ("alpha * 2 == 1 or -alpha < 0", False), ("alpha in [1, 2]", False), ("mu in [alpha, inf]", False),
    ],
)  # fmt: skip
def test_a_cell_that_lacks_a_column_does_not_match_by_it(expression, want):
    """Another cell has alpha. The last: a list with something unknown in it is unknown."""
    assert matches(expression, OTHER, CELL) is want
    with pytest.raises(UsageError, match="no column 'alpha'"):
        matches(expression, OTHER)


@pytest.mark.parametrize(
    ("expression", "cell", "want"),
    [
        ("mu=non-private", OTHER, True), ("mu = non-private", CELL, False), ("mu == 'non-private'", OTHER, True), ("mu='2'", CELL, True),
        ("alpha='1/3'", CELL, True), ("alpha = 1/3 and mu = 2", CELL, True), ("budget == non-private", OTHER, True),
        ("mu == 'U(1, 2)'", LAW, True), ("mu == 'U(1, 3)'", LAW, False), ("problem == ''", CELL, False), ("mu == ''", CELL, False),
        ("mu == inf", {"mu": math.inf}, True), ("mu < 3", {"mu": math.nan}, False),
        ("mu <= 2 and d >= 5 and d != 6", CELL, True), ("budget == 'a=b'", CELL, False), ("open == true", {"open": True}, True),
    ],
)  # fmt: skip
def test_what_is_printed_can_be_typed_back(expression, cell, want):
    assert matches(expression, cell) is want
