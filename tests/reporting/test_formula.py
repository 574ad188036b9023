"""The grammar of formulas in a paper's YAML: what it means, what it refuses, and that a declared claim is judged by it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpexp.core.errors import UsageError
from dpexp.papers import our_papers
from dpexp.reporting.declared_claim import Numbers, check_of, parse

NAMES = {"alpha": 1 / 3, "mu": math.inf, "estimator": "asgd"}
FUNCTIONS = {"least": min, "half": lambda value: value / 2}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 2", 5), ("-(1 + 2) * .5", -1.5), ("2 - 3 - 4", -5), ("8 / 2 / 2", 2), ("1e-5 * 1E5", 1),
        ("alpha == 1/3 and estimator == 'asgd'", True), ("alpha < 1/3 or alpha > 1/3", False), ("alpha <= 1/3", True),
        ("alpha != 0.33", True), ("mu > 1e300", True), ("least(1, half(alpha * 3), 2)", 0.5), ("(alpha < 1) and 2 > 1", True),
        ("1 < 2 or unknown", True), ("half(half(8))", 2),
    ],
)  # fmt: skip
def test_values(text, value):
    assert parse(text)(NAMES, FUNCTIONS) == pytest.approx(value)


def test_sums_and_products_are_those_of_python():
    random = np.random.default_rng(1)
    for _ in range(200):
        numbers, signs = random.integers(1, 9, 6), random.choice(["+", "-", "*", "/"], 5)
        text = "".join(f"{n} {s} " for n, s in zip(numbers, signs, strict=False)) + str(numbers[-1])
        assert parse(text)({}, {}) == pytest.approx(eval(text, {"__builtins__": {}}))


@pytest.mark.parametrize(
    "text", ["", "1 +", "a.b", "alpha[0]", "f(1", "1 ** 2", "lambda: 1", "__import__('os')", "1 2", "a = 1", "'open", "1 < 2 < 3"]
)  # fmt: skip
def test_what_is_not_in_the_grammar_is_refused(text):
    with pytest.raises(UsageError):
        parse(text)(NAMES, FUNCTIONS)


def test_a_declared_claim_names_what_is_wrong_with_it():
    (theorem,) = (one for one in our_papers()["ldp-sgd"].claims if one.id == "ldp-sgd/theorem-3")
    assert theorem.experiments[0] == "linear_d5"
    said = {"of": "linear_d5", "measured": "slope of loss_gap", "rule": "near", "estimator": "sgd", "printed": "1 +"}
    with pytest.raises(UsageError, match="column"):
        check_of("a/b", said, Numbers())
    with pytest.raises(UsageError, match="a/b: no claim is measured by 'slope of' and judged by 'below'"):
        check_of("a/b", said | {"printed": "1", "rule": "below"}, Numbers())


def test_a_declared_claim_about_no_run_is_undecided():
    run = SimpleNamespace(row={"alpha": 0.5}, alpha=0.5, budget="1")
    evidence = SimpleNamespace(runs=lambda experiment: [run])
    for rule in ({"measured": "slope of loss_gap", "rule": "near", "estimator": "sgd"},
                 {"measured": "final loss_gap", "rule": "below", "estimator": ["sgd", "asgd"]}):  # fmt: skip
        check = check_of("a/b", {"of": "x", "where": "alpha < 1/2", "printed": "-1", **rule}, Numbers())
        assert check.check(evidence).verdict == "not at this sample size"
