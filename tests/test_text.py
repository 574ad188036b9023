"""Numbers as words."""

import math

import pytest

from dpexp.text import exponent, fraction


@pytest.mark.parametrize(
    ("value", "words"),
    [(1 / 3, "1/3"), (0.5, "1/2"), (2.0, "2"), (1e-5, "1e-05"), (-2 / 3, "-2/3"), (math.inf, "inf"), (math.nan, "nan")],
)
def test_swept_numbers_are_short_also_where_there_is_no_fraction(value, words):
    assert fraction(value) == words
    assert exponent(value) == words
