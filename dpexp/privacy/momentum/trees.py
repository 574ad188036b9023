"""The binary tree over steps behind `momentum`: orders of records, bounds on sensitivities, and the noise of a node.

A node of level b is the interval [a 2^b + 1, (a + 1) 2^b] of steps, written (start, end), both counted from 1; `left`
nodes have even a. Node (y, z) holds sum_{t=y..z} (1 - alpha)^(z-t) grad f(w_t, x_{i(t)}), so a record i changes it by
at most 2 G times the sum of (1 - alpha)^(z-t) over the steps t that use i. `items` is the record of every step, an
integer array [T] with values 0..N-1; it must not depend on the data.

2 G is the distance of two gradients of norm at most G. A node's value depends on the data also through the iterates,
but these are functions of what was released before: given that, only the summands of record i differ. So all nodes with
independent noise are one adaptive Gaussian mechanism, and its squared sensitivity is the sum of the squares over nodes.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.finite_sum.discounts import discounts


def printed_count(n: int, steps: int) -> float:
    """V of Theorem 4 with R = floor(log2 T): (min(R, f) + 1) T / N + sum_{j=f+1..R} floor(T / 2^j), f = floor(log2 N).

    Too small for some T that N does not divide, such as (N, T) = (3, 10).
    """
    depth, half = steps.bit_length() - 1, n.bit_length() - 1
    return (min(depth, half) + 1) * steps / n + sum(steps >> j for j in range(half + 1, depth + 1))


def fixed_order(n: int, steps: int) -> np.ndarray:
    """`items` [T] of one order repeated in every epoch; which order makes no difference to a maximum over records."""
    return np.arange(steps) % n


def reshuffled_order(generator: np.random.Generator, n: int, steps: int) -> np.ndarray:
    """`items` [T] of a fresh permutation in every epoch, drawn before anything is computed from the data."""
    epochs = -(-steps // n)
    return np.concatenate([generator.permutation(n) for _ in range(epochs)])[:steps]


def reshuffled_bound(n: int, steps: int, alpha: float, *, left_only: bool = True) -> float:
    """Upper bound on the squared sensitivity over all orders of all epochs, in units of (2 G)^2.

    A node that holds j occurrences of a record sees them at distances 0, 1, N + 1, 2 N + 1, ... from its end at best,
    which weigh w_j. In a level of m nodes, K = ceil(T / N) occurrences contribute at most

    (a) K max_j w_j^2 / j, since nodes with j_1, j_2, .. occurrences contribute sum w_{j_i}^2 <= sum j_i max_j
    (w_j^2 / j), and the j_i sum to at most K;
    (b) m w_J^2, J the largest j that fits into the node, since w_j grows with j.
    """
    epochs, powers, total = -(-steps // n), discounts(alpha, steps + n), 0.0
    for level in range(steps.bit_length()):
        length, nodes = 1 << level, steps >> level
        # j >= 2 occurrences need the distance (j - 2) N + 1, which is at most length - 1
        occurrences = min(epochs, 1 if length == 1 else 2 + (length - 2) // n)
        weights = np.cumsum([1.0, *(powers[1 + i * n] for i in range(occurrences - 1))])
        # (a): w_j^2 / j is a node's share for each occurrence
        by_occurrence = epochs * float(np.max(weights**2 / np.arange(1, occurrences + 1)))
        # (b); of m nodes of a level, every other one, beginning with the first, is a left node
        total += min(by_occurrence, (nodes + 1 if left_only else 2 * nodes) // 2 * float(weights[-1]) ** 2)
    return total


def printed_node_std(alpha: float, G: float, sigma: float, count: float) -> float:
    """Standard deviation of the noise of one node of Algorithm 1 as printed: 4 alpha G sigma sqrt(V).

    4 G is the sensitivity of a node as the paper bounds it: 2 G a step, times 2 for the sum of discounts of one record.
    """
    return 4 * alpha * G * sigma * math.sqrt(count)


def exact_node_std(alpha: float, G: float, mu: float, squared_sensitivity: float) -> float:
    """The smallest standard deviation that gives mu-GDP: 2 alpha G sqrt(S) / mu.

    S is the largest of `left_sensitivities` (tree), `square_root_sensitivity_fixed` (square root), or the number of
    epochs (independent noise), in units of (2 G)^2. Raises ValueError unless mu > 0.
    """
    if not mu > 0:
        raise ValueError(f"mu={mu} must be positive")
    return 2 * alpha * G * math.sqrt(squared_sensitivity) / mu


def square_root_sensitivity_fixed(n: int, steps: int, alpha: float) -> float:
    """The largest |C u_i|^2 in one order repeated in every epoch, in units of (2 G)^2; u_i marks the steps of record i.

    C is the Toeplitz square root of the momentum, from which `dpexp.engine.finite_sum.noise_designs` makes noise: the
    run releases C (alpha g) + noise, so it is 2 alpha G sqrt(max) / std-GDP; since no entry of C is negative, equal
    differences are the worst ones. They are those of the first record, at steps 1, N + 1, ...: the others meet the same
    decreasing responses later, or fewer of them. O(T^2 / N) time.
    """
    # C u_i for the first record: the sum of the responses from each of its steps on
    response, column = _square_root(alpha, steps), np.zeros(steps)
    for start in range(0, steps, n):
        column[start:] += response[: steps - start]
    return float(np.square(column).sum())  # in numpy's own order; a product by BLAS has other bits on other machines


def _square_root(alpha: float, steps: int) -> np.ndarray:
    """c_k = (1 - alpha)^k binom(2 k, k) / 4^k, k = 0..steps - 1."""
    # the momentum sums (1 - alpha)^k x^k = 1 / (1 - (1 - alpha) x) over past steps, x a delay of one step; its root is
    # (1 - y)^(-1/2) = sum binom(2 k, k) / 4^k y^k, y = (1 - alpha) x
    k = np.arange(1, steps)
    # each coefficient is (2 k - 1) / (2 k) times the one before
    return discounts(alpha, steps) * np.cumprod(np.concatenate([[1.0], (2 * k - 1) / (2 * k)]))[:steps]
