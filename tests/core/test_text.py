"""Numbers as words."""

import json
import math

import numpy as np
import pytest

from dpexp.core.text import csv_cell, down, fraction, standard_json, up


@pytest.mark.parametrize(
    ("value", "words"),
    [(1 / 3, "1/3"), (0.5, "1/2"), (2.0, "2"), (1e-5, "1e-05"), (-2 / 3, "-2/3"), (math.inf, "inf"), (math.nan, "nan")],
)
def test_swept_numbers_are_short_also_where_there_is_no_fraction(value, words):
    assert fraction(value) == words


def test_bounds_are_rounded_to_the_safe_side():
    rng = np.random.default_rng(0)
    for value in [*(10 ** rng.uniform(-12, 12, 500)), 0.1, 1.0, 0.3, 2.5, 1e-300, 1e300]:
        for digits in (1, 4, 5, 10):
            assert float(down(value, digits)) <= value <= float(up(value, digits))
            assert float(up(value, digits)) <= value * (1 + 10.0 ** (1 - digits) + 1e-15)
            assert float(down(value, digits)) >= value * (1 - 10.0 ** (1 - digits) - 1e-15)
    assert [up(v) for v in (0.1, 1, 1.000001, 0.999994, 0.0, math.inf)] == ["0.1", "1", "1.0001", "1", "0", "inf"]
    assert [down(v) for v in (0.1, 1.99999999, 123456.0)] == ["0.1", "1.9999", "1.2345e+05"]


def test_json_says_beside_a_null_which_number_it_was():
    rows = [[1e-5, np.float64(math.inf)], (1e-6, 2.0)]
    document = {
        "mu": math.nan,
        "eps": rows,
        2: {"low": -math.inf, "high": np.int64(3)},
        "words": ["inf"],
        "at": np.eye(1),
    }

    def refuse(constant):
        raise ValueError(constant)

    assert json.loads(standard_json(document), parse_constant=refuse) == {
        "mu": None, "mu_is": "undefined",
        "eps": [[1e-5, None], [1e-6, 2.0]], "eps_is": [[None, "infinity"], None],
        "2": {"low": None, "low_is": "-infinity", "high": 3}, "words": ["inf"], "at": [[1.0]],
    }  # fmt: skip


def test_a_text_that_a_spreadsheet_would_run_is_quoted():
    texts = ["=1+1", "@no", "+a", "-w", "-1.5", 2, "x"]
    assert [csv_cell(text) for text in texts] == ["'=1+1", "'@no", "'+a", "'-w", "-1.5", 2, "x"]
    assert csv_cell("=1+1", raw=True) == "=1+1"
