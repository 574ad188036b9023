"""Noise of private momentum: kernels equal the literal sums, variances are those of C C^T, and blocks change no bit."""

import numpy as np
import pytest

from dpexp.engine.finite_sum.noise_designs import (
    independent_noise,
    square_root_noise,
    tree_noise,
    tree_slots,
    tree_variance,
)
from dpexp.engine.finite_sum.noise_windows import empty_windows, nodes_ending, stream_variances, window_noise
from tests.oracles import trees
from tools.momentum_iterates import cover

ALPHAS = [0.01, 0.3, 1.0]
STDS = np.array([1.3, 0.7, 0.4, 0.2])


def run_tree(normals, alpha, std=1.0, block=None):
    steps, d = normals.shape
    slots, out = tree_slots(steps, d), np.empty((steps, d))
    for first in range(0, steps, block or steps):
        part = slice(first, first + (block or steps))
        tree_noise(normals[part], first + 1, alpha, std, slots, out[part])
    return out


def run_independent(normals, alpha, block=None):
    steps, d = normals.shape
    last, out = np.zeros(d), np.empty((steps, d))
    for first in range(0, steps, block or steps):
        part = slice(first, first + (block or steps))
        independent_noise(normals[part], alpha, last, out[part])
    return out


def run_windows(gradient, change, residual, n, alpha, gamma, stds=STDS, block=None):
    steps, d = residual.shape
    memory, out = empty_windows(n, steps, d), np.empty((steps, d))
    used = 0
    for first in range(0, steps, block or steps):
        part = slice(first, min(steps, first + (block or steps)))
        count = nodes_ending(part.start + 1, part.stop, n)
        nodes = slice(used, used + count)
        window_noise(
            gradient[nodes], change[nodes], residual[part], first + 1, n, alpha, gamma, stds, memory, out[part]
        )
        used += count
    assert used == len(gradient)
    return out


def node_values(normals, steps, n, std=lambda z: 1.0):
    """{(start, end): std(end) times its normal} in the order that `window_noise` reads them."""
    keys = [(t - 2**k + 1, t) for t in range(1, steps + 1) for k in range(n.bit_length()) if t % 2**k == 0]
    assert len(keys) == nodes_ending(1, steps, n)
    return {key: std(key[1]) * row for key, row in zip(keys, normals, strict=True)}


def literal_windows(gradient, change, residual, n, alpha, gamma, stds=STDS):
    steps = len(residual)
    left = {(t - (t & -t) + 1, t): stds[3] * residual[t - 1] for t in range(1, steps + 1)}
    return trees.equation3(
        node_values(gradient, steps, n, lambda z: stds[0] if z <= 2 * n else stds[1]),
        node_values(change, steps, n, lambda z: stds[2]),
        left, cover, n, alpha, gamma, steps,
    )  # fmt: skip


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("steps", [1, 2, 7, 64, 100, 333])
def test_tree_noise_is_the_sum_over_the_cover(steps, alpha):
    normals = np.random.default_rng(steps).standard_normal((steps, 3))
    zeta = {(t - (t & -t) + 1, t): 0.7 * normals[t - 1] for t in range(1, steps + 1)}
    expected = trees.tree_noise(zeta, cover, alpha, steps)
    np.testing.assert_allclose(run_tree(normals, alpha, 0.7), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(tree_variance(alpha, 64), np.sum(run_tree(np.eye(64), alpha) ** 2, axis=1), rtol=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_square_root_noise_is_its_double_sum_and_squares_to_the_momentum(alpha):
    normals = np.random.default_rng(0).standard_normal((150, 2))
    wanted = trees.square_root_noise(normals, alpha)
    np.testing.assert_allclose(square_root_noise(normals, alpha), wanted, rtol=0, atol=1e-12)
    root = square_root_noise(np.eye(64), alpha)
    lag = np.subtract.outer(np.arange(64), np.arange(64))
    momentum = np.where(lag >= 0, (1.0 - alpha) ** np.maximum(lag, 0), 0.0)
    np.testing.assert_allclose(root @ root, momentum, rtol=0, atol=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_independent_noise_is_a_momentum_of_white_noise(alpha):
    lag = np.subtract.outer(np.arange(64), np.arange(64))
    explicit = np.where(lag >= 0, (1.0 - alpha) ** np.maximum(lag, 0), 0.0)
    np.testing.assert_allclose(run_independent(np.eye(64), alpha), explicit, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "steps", "alpha", "gamma"),
    [(13, 100, 1 / 13, 0.3), (8, 64, 0.2, 0.5), (1, 20, 0.3, 0.1), (5, 64, 1.0, 0.25), (100, 64, 0.01, 0.5)],
)
def test_window_noise_is_equation_3_term_by_term(n, steps, alpha, gamma):
    rng = np.random.default_rng(3)
    nodes = nodes_ending(1, steps, n)
    normals = [rng.standard_normal((count, 3)) for count in (nodes, nodes, steps)]
    fast = run_windows(*normals, n, alpha, gamma)
    np.testing.assert_allclose(fast, literal_windows(*normals, n, alpha, gamma), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "gamma"), [(13, 0.3), (8, 0.5), (7, 1 - 1e-9), (1, 0.2), (64, 0.5)])
def test_variances_over_time_of_algorithm_2_for_unit_vectors(n, gamma):
    """Normals such that coordinate j is one in the j-th node and zero elsewhere."""
    steps, alpha, nodes = 64, 1 / (n + 1), nodes_ending(1, 64, n)
    units = np.split(np.eye(2 * nodes + steps), [nodes, 2 * nodes])
    variances = stream_variances(n, steps, alpha, gamma)
    for j in range(4):
        alone = literal_windows(*units, n, alpha, gamma, np.eye(4)[j])
        np.testing.assert_allclose(variances[j], np.sum(alone**2, axis=1), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_the_split_into_blocks_changes_no_bit(block):
    rng = np.random.default_rng(8)
    steps, n = 150, 13
    nodes = nodes_ending(1, steps, n)
    normals = [rng.standard_normal((count, 3)) for count in (nodes, nodes, steps)]
    whole = run_windows(*normals, n, 1 / n, 0.3)
    assert np.array_equal(run_windows(*normals, n, 1 / n, 0.3, block=block), whole)
    assert np.array_equal(run_tree(normals[2], 1 / n, block=block), run_tree(normals[2], 1 / n))
    assert np.array_equal(run_independent(normals[2], 0.1, block=block), run_independent(normals[2], 0.1))
