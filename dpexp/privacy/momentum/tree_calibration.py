"""How much noise the algorithms of `momentum` need: the printed multipliers beside sharper ones, and node noise.

sigma is a multiplier of the whole mechanism: 1 / sigma-GDP for Theorem 4 (one stream), sqrt(3) / sigma-GDP for
Theorem 8 (three streams of 1 / sigma each, whose squares add). Everything is one adaptive Gaussian mechanism, so the
exact conversion is that of Gaussian DP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpexp.core.elementary import discounts
from dpexp.core.stages import first_stage


@dataclass(frozen=True)
class Multipliers:
    """The multiplier sigma for (eps, delta) by three conversions, from the printed one to the smallest that holds."""

    eps: float
    delta: float
    printed: float
    best_order: float
    """Mironov (2017) at its best order"""
    exact: float
    """Gaussian DP: no smaller sigma gives (eps, delta)"""

    @property
    def saving(self) -> float:
        """How many times less noise the exact conversion needs than the printed one."""
        return self.printed / self.exact


@first_stage
def multipliers(eps: float, delta: float, theorem: Literal[4, 8] = 4) -> Multipliers:
    """The row of (eps, delta) for Theorem 4 or 8.

    Raises ValueError unless 0 < eps < inf and 0 < delta < 1.
    """
    from dpexp.privacy.accounting.gdp import mu_of
    from dpexp.theory.momentum.formulas import (
        theorem4_sigma,
        theorem4_sigma_best_order,
        theorem8_sigma,
        theorem8_sigma_best_order,
    )

    if not 0 < eps < math.inf or not 0 < delta < 1:
        raise ValueError(f"eps={eps}, delta={delta}: need 0 < eps < inf and 0 < delta < 1")
    streams = 1.0 if theorem == 4 else math.sqrt(3)
    one = 1 / mu_of(eps, delta)
    classic = theorem4_sigma_best_order(eps, delta)
    return Multipliers(
        eps,
        delta,
        theorem4_sigma(eps, delta) if theorem == 4 else theorem8_sigma(eps, delta),
        classic if theorem == 4 else theorem8_sigma_best_order(eps, delta),
        one * streams,
    )


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
