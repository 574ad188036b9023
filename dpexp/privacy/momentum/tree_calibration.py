"""Standard deviations of the noise that Algorithm 1 of `momentum` needs, and the sensitivity of its square root."""

from __future__ import annotations

import math

import numpy as np

from dpexp.core.elementary import discounts


def printed_node_std(alpha: float, G: float, sigma: float, count: float) -> float:
    """Standard deviation of the noise of one node of Algorithm 1 as printed: 4 alpha G sigma sqrt(V).

    4 G is the sensitivity of a node as the paper bounds it: 2 G a step, times 2 for the sum of discounts of one record.
    """
    return 4 * alpha * G * sigma * math.sqrt(count)


def exact_node_std(alpha: float, G: float, mu: float, squared_sensitivity: float) -> float:
    """The smallest standard deviation that gives mu-GDP: 2 alpha G sqrt(S) / mu.

    S is the largest of `squared_sensitivities` (tree), `square_root_sensitivity_fixed` (square root), or the number of
    epochs (independent noise), in units of (2 G)^2. Raises ValueError unless mu > 0.
    """
    if not mu > 0:
        raise ValueError(f"mu={mu} must be positive")
    return 2 * alpha * G * math.sqrt(squared_sensitivity) / mu


def square_root_sensitivity_fixed(n: int, steps: int, alpha: float) -> float:
    """The largest |C u_i|^2 in one order repeated in every epoch, in units of (2 G)^2; u_i marks the steps of record i.

    C is the Toeplitz square root of the momentum, of which `dpexp.engine.finite_sum.noise_designs` makes noise: the run
    releases C (alpha g) + noise, so it is 2 alpha G sqrt(max) / std-GDP; since no entry of C is negative, equal
    differences are the worst ones. They are those of the first record, at steps 1, N + 1, ...: the others meet the same
    decreasing responses later, or fewer of them. O(T^2 / N) time.
    """
    # C u_i for the first record: the sum of the responses from each of its steps on
    response, held = _square_root(alpha, steps), np.zeros(steps)
    for start in range(0, steps, n):
        held[start:] += response[: steps - start]
    return float(np.square(held).sum())  # in numpy's own order; a product by BLAS has other bits on other machines


def _square_root(alpha: float, steps: int) -> np.ndarray:
    """c_k = (1 - alpha)^k binom(2 k, k) / 4^k, k = 0..steps - 1.

    The momentum sums (1 - alpha)^k x^k = 1 / (1 - (1 - alpha) x) over past steps, x a delay of one step. Its root is
    (1 - y)^(-1/2) = sum binom(2 k, k) / 4^k y^k, y = (1 - alpha) x, and each coefficient is (2 k - 1) / (2 k) times the
    one before.
    """
    k = np.arange(1, steps)
    return discounts(alpha, steps) * np.cumprod(np.concatenate([[1.0], (2 * k - 1) / (2 * k)]))[:steps]
