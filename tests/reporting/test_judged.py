"""The case that a verdict names does not depend on the last digits of a machine."""

import math
from pathlib import Path

import pytest

from dpexp.reporting.evidence import Evidence
from dpexp.reporting.row import above, case_of


def test_the_least_case_is_named():
    ratios = {"a": 1.5, "b": 1.2, "c": 1.7}
    assert case_of(ratios) == "b"
    assert case_of({"a": math.inf, "b": 2.0}) == "b"
    with pytest.raises(ValueError, match="empty"):
        case_of({})


@pytest.mark.parametrize("rounded", [(1 + 3e-15, 1 + 1e-15), (1 + 1e-15, 1 + 3e-15), (1.0, 1.0)])
def test_of_cases_that_tie_up_to_rounding_the_first_is_named(rounded):
    ratios = dict(zip(("one", "other"), rounded, strict=True)) | {"apart": 1 + 1e-8}
    assert case_of(ratios) == "one"
    assert above(lambda: ratios, "").check(Evidence(Path("results"))).measured.startswith("bound / exact: 1 (one) to")


def test_a_ratio_that_is_no_number_names_some_case():
    assert case_of({"a": math.nan, "b": math.nan}) == "a"
