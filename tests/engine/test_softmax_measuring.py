"""Loss and accuracy of softmax weights, beside a literal transcription in float64."""

import math

import numpy as np
import pytest

from dpexp.engine.softmax.measuring import RECORDS, add_product, tallies, tally


def literal(weights, features, labels):
    """Record by record: log of the sum of exp(score), less the score of the own class."""
    total, right = 0.0, 0
    for x, label in zip(features.astype(float), labels, strict=True):
        scores = [math.fsum(w * x) for w in weights.astype(float)]
        total += math.log(math.fsum(math.exp(s) for s in scores)) - scores[label]
        right += scores.index(max(scores)) == label
    return total, right


@pytest.mark.parametrize("n", [1, RECORDS - 1, RECORDS + 3])
def test_sums_over_records_are_the_literal_ones(n):
    rng = np.random.default_rng(n)
    weights, features = rng.normal(0, 2, (7, 33)).astype(np.float32), rng.normal(0, 0.5, (n, 33)).astype(np.float32)
    labels = rng.integers(0, 7, n)
    found, wanted = tally(weights, features, labels), literal(weights, features, labels)
    assert found.loss == pytest.approx(wanted[0], rel=1e-6)
    assert found.right == wanted[1]
    other = rng.normal(0, 2, (7, 33)).astype(np.float32)  # several are what each is alone, to the last bit
    assert tallies(np.stack([other, weights]), features, labels) == [tally(other, features, labels), found]


def test_large_scores_do_not_overflow_and_overflowed_ones_are_nan():
    features, labels = np.ones((3, 5), np.float32), np.arange(3)
    assert tally(np.diag(np.full(5, 1e30, np.float32)), features, labels).loss == pytest.approx(3 * math.log(5))
    assert math.isnan(tally(np.full((5, 5), 3e38, np.float32), features, labels).loss)


def test_the_first_of_equal_scores_is_the_answer():
    features = np.ones((4, 2), np.float32)
    assert tally(np.zeros((3, 2), np.float32), features, np.array([0, 1, 2, 0])).right == 2


def test_a_product_is_added_to_what_is_there():
    rng = np.random.default_rng(3)
    left, right, out = (rng.normal(size=shape).astype(np.float32) for shape in [(5, 40), (40, 9), (5, 9)])
    wanted = out.astype(float) + left.astype(float) @ right.astype(float)
    add_product(out, left, right)
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)
