"""Numbers with their uncertainty: which digits stand there."""

import math

import pytest

from dpexp.reporting.digits import uncertain, within


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (10, 7, 29, "10 [7, 29]"), (2.4, 1.9, 3.8, "2.4 [1.9, 3.8]"), (3.07, 2.99, 3.15, "3.07(8)"), (0.0021, 0.002, 0.0045, "0.0021 [0.002, 0.0045]"),
        (12345.6, 12345.1, 12348.6, "12346 [12345, 12349]"), (5, 6, 9, "5.0(1.5)"), (5, 5, 5, "5"), (1, -math.inf, math.inf, "1"), (math.inf, 1, 2, "inf"),
        (0.84946236559139776, 0.8494623655913977, 0.849462365591399, "0.849462"),
    ],
)  # fmt: skip
def test_an_interval_is_written_out_where_half_of_it_would_mislead(value, low, high, text):
    assert within(value, low, high) == text


def test_digits_that_nobody_reads_are_not_written():
    assert uncertain(0.84946236559139776, 6e-17) == "0.849462"
    assert uncertain(0.84946236559139776, 6e-6) == "0.849462(6)"
