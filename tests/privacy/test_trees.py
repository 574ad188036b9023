"""Trees of `momentum`: covers, counts, exact sensitivities, the streams of Algorithm 2 and what noise they need."""

import math

import numpy as np
import pytest

from dpexp.engine.finite_sum.noise_designs import square_root_noise
from dpexp.privacy.momentum import tree_streams as streams
from dpexp.privacy.momentum.left_nodes import chosen_sensitivities, left_sensitivities
from dpexp.privacy.momentum.trees import (
    fixed_order,
    printed_count,
    reshuffled_bound,
    reshuffled_order,
    square_root_sensitivity_fixed,
)
from tests.oracles import trees
from tests.oracles.trees import largest_count
from tools.momentum_iterates import cover


def test_covers_are_disjoint_minimal_and_made_of_nodes():
    known = set(trees.nodes(130))
    for last in range(1, 131):
        assert all(y == 1 or (y - 1) // (z - y + 1) % 2 == 0 for y, z in cover(1, last))
        for first in range(1, last + 1, 1 if last <= 40 else 13):
            nodes = cover(first, last)
            assert [t for y, z in nodes for t in range(y, z + 1)] == list(range(first, last + 1))
            assert known.issuperset(nodes)
            assert len(nodes) == trees.smallest_cover(first, last)
    assert cover(5, 4) == cover(1, 0) == []
    with pytest.raises(ValueError):
        cover(0, 3)


@pytest.mark.parametrize(
    ("n", "steps", "attained", "printed"),
    [(3, 9, 9, 9), (3, 10, 11, 9.67), (4, 16, 15, 15), (4, 18, 17, 16.5), (5, 23, 17, 16.8)],
)
def test_counts_against_brute_force(n, steps, attained, printed):
    assert trees.most_nodes(n, steps) == attained
    assert trees.most_nodes_in_one_order(n, steps) == attained
    assert printed_count(n, steps) == pytest.approx(printed, abs=5e-3)
    assert largest_count(n, steps) in (attained, attained + (n == 5))
    assert (printed_count(n, steps) < attained) == (steps % n != 0)


@pytest.mark.parametrize(("n", "steps"), [(5, 37), (3, 10), (7, 64), (8, 64), (20, 13), (1, 9)])
@pytest.mark.parametrize("alpha", [0.05, 0.2, 1.0])
def test_sensitivities_are_the_sums_over_nodes(n, steps, alpha):
    for items in (fixed_order(n, steps), reshuffled_order(np.random.default_rng(steps), n, steps)):
        for left_only in (True, False):
            fast = chosen_sensitivities(items, alpha, left_only, steps.bit_length())
            slow = [trees.squared_sensitivity(items, alpha, i, left_only) for i in range(len(fast))]
            np.testing.assert_allclose(fast, slow, rtol=1e-12)


def test_the_reshuffled_bound_holds_and_stays_below_four_times_the_count():
    rng = np.random.default_rng(1)
    for n in range(2, 12):
        for steps in (n, 2 * n + 1, 5 * n, 64):
            for alpha in (1 / n, min(1.0, 3 / n)):
                bound = reshuffled_bound(n, steps, alpha)
                assert bound < 4 * largest_count(n, steps)
                items = reshuffled_order(rng, n, steps)
                assert left_sensitivities(items, alpha).max() <= bound * (1 + 1e-12)
                every = reshuffled_bound(n, steps, alpha, left_only=False)
                sensitivities = chosen_sensitivities(items, alpha, False, steps.bit_length())
                assert max(bound, sensitivities.max()) <= every * (1 + 1e-12)


@pytest.mark.parametrize("n", [1, 3, 8, 13])
def test_streams_against_sums_over_nodes(n):
    steps, alpha = 60, 1 / (n + 1)
    fast = streams.stream_sensitivities(n, steps, alpha, used_only=False)
    used = streams.stream_sensitivities(n, steps, alpha)
    items = fixed_order(n, steps)
    keeps = [lambda y, z: z <= 2 * n, lambda y, z: z > 2 * n, lambda y, z: y > n, lambda y, z: True]
    for row, keep in enumerate(keeps):
        slow = [trees.squared_sensitivity(items, alpha, i, False, keep) for i in range(n)]
        np.testing.assert_allclose(fast[row], slow, rtol=1e-12)
    short = [trees.squared_sensitivity(items, alpha, i, False, lambda y, z: y > n and z - y < n) for i in range(n)]
    np.testing.assert_allclose(used[2], short, rtol=1e-12)
    np.testing.assert_allclose(used[3], left_sensitivities(items, alpha), rtol=1e-12)


def test_the_optimal_split_meets_its_budget_and_nothing_is_better():
    costs, coefficients = np.array([3.0, 0.2, 7.0, 1.0]), np.array([0.5, 4.0, 0.1, 2.0])
    best = streams.optimal_split(costs, coefficients)
    assert np.sum(costs / best**2) == pytest.approx(1, rel=1e-12)
    rng = np.random.default_rng(6)
    for _ in range(200):
        other = best * np.exp(0.3 * rng.standard_normal(4))
        other *= math.sqrt(np.sum(costs / other**2))
        assert coefficients @ other**2 >= coefficients @ best**2 * (1 - 1e-12)
    edges = streams.optimal_split(np.array([1.0, 0, 1, 1]), np.array([1.0, 1, 0, 1]))
    assert edges.tolist()[1:3] == [0, math.inf]


@pytest.mark.parametrize(("n", "steps", "alpha"), [(5, 37, 0.2), (7, 64, 0.05), (3, 20, 1.0), (20, 13, 0.1)])
def test_the_square_root_is_as_sensitive_as_its_largest_column(n, steps, alpha):
    root = square_root_noise(np.eye(steps), alpha)
    items = fixed_order(n, steps)
    marks = np.equal.outer(items, np.arange(items.max() + 1)).astype(float)
    slow = np.sum((root @ marks) ** 2, axis=0).max()
    assert square_root_sensitivity_fixed(n, steps, alpha) == pytest.approx(slow, rel=1e-12)
